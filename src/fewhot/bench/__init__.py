"""Speed against peers, as ratios within one run.

Each suite is a module with ``run(device) -> dict``; `SUITES` names them. ``python -m fewhot.bench loop`` runs one
with nothing but the library's core dependencies.
"""

from fewhot.bench.running import run_suite
from fewhot.bench.suites import SUITES, Suite, suite_named

__all__ = ["SUITES", "Suite", "run_suite", "suite_named"]
