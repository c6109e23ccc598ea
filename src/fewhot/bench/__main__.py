"""``python -m fewhot.bench [NAME]``: run a suite where only the core dependencies are installed."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from fewhot.bench.running import RESULTS, run_suite
from fewhot.bench.suites import SUITES
from fewhot.core.errors import FewhotError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suite that was named, or list them all; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m fewhot.bench", description="Speed ratios within one run, as JSON.")
    parser.add_argument("name", nargs="?", help=f"the suite: {', '.join(SUITES)}; none lists them")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--commit", default="unknown", help="the commit that is measured, for the record")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the folder of the results")
    given = parser.parse_args(arguments)
    if given.name is None:
        sys.stdout.writelines(f"{name:8} {suite.about}\n" for name, suite in SUITES.items())
        return 0
    try:
        result = run_suite(given.name, device=given.device, commit=given.commit, out=given.out)
    except FewhotError as error:
        sys.stderr.write(f"fewhot: {error}\n")
        return 2
    sys.stdout.write(json.dumps(result, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
