"""Running commands in this process, and the smallest fit that goes through everything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from fewhot.cli.app import app

SMALL = ["--model", "vsc", "--n-components", "8", "--l0", "4", "--hidden", "16", "--max-steps", "30", "--device", "cpu"]


def invoke(*words: str | Path) -> Result:
    """Run ``fewhot`` with these words."""
    return CliRunner().invoke(app, [str(word) for word in words])


def done(*words: str | Path) -> Result:
    """Run a command that must succeed."""
    result = invoke(*words)
    assert result.exit_code == 0, result.output
    return result


def refused(*words: str | Path, code: int = 2) -> str:
    """Run a command that must be refused in one line on stderr, and return the line."""
    result = invoke(*words)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("fewhot: ")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr
    return result.stderr.removeprefix("fewhot: ").strip()


def parsed(result: Result) -> Any:
    """Return the JSON that is alone on stdout."""
    return json.loads(result.stdout)
