"""Running a suite and keeping what it measured, with the command, the commit and the hardware beside it."""

from __future__ import annotations

import platform
from importlib import import_module
from pathlib import Path
from typing import Any

from fewhot.bench.suites import suite_named
from fewhot.core.files import write_json

RESULTS = Path("results") / "bench"


def run_suite(name: str, *, device: str = "auto", commit: str = "unknown", out: Path = RESULTS) -> dict[str, Any]:
    """Run a suite, write ``out/NAME-DEVICE.json`` and return what is in it.

    Parameters
    ----------
    name
        One of `SUITES`.
    device
        "cpu", "cuda", or "auto".
    commit
        The commit that is measured, for the record.
    out
        The folder of the results.
    """
    suite = suite_named(name)
    import torch

    from fewhot.core.devices import resolve_device

    chosen = resolve_device(device).type
    hardware = torch.cuda.get_device_name() if chosen == "cuda" else platform.machine()
    measured = import_module(suite.module).run(chosen)
    result = {
        "command": f"python -m fewhot.bench {name} --device {chosen}",
        "commit": commit,
        "hardware": f"{hardware}, {torch.get_num_threads()} threads",
        "torch": torch.__version__,
        **measured,
    }
    write_json(out / f"{name}-{chosen}.json", result)
    return result
