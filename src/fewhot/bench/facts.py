"""Where and with what a number was made."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Any


@lru_cache(maxsize=1)
def machine() -> dict[str, Any]:
    """Return the hardware and the versions of this process."""
    import numpy
    import sklearn
    import torch

    from fewhot.core.version import __version__

    on_gpu = torch.cuda.is_available()
    hardware = torch.cuda.get_device_name() if on_gpu else f"{platform.machine()} CPU, {os.cpu_count()} cores"
    return {
        "hardware": hardware,
        "versions": {
            "fewhot": __version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": numpy.__version__,
            "scikit-learn": sklearn.__version__,
        },
    }


def commit_of(given: str | None) -> str:
    """Return the commit that was passed in, or that of the source tree this package is imported from."""
    root = Path(__file__).resolve().parents[3]
    if given is not None or not (root / ".git").exists():
        return given or "unknown"
    return _git_describe(root)


@lru_cache(maxsize=1)
def _git_describe(root: Path) -> str:
    try:
        asked = ["git", "-C", str(root), "describe", "--always", "--dirty", "--exclude=*"]
        return subprocess.run(asked, capture_output=True, text=True, check=True, timeout=20).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"
