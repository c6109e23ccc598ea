"""The suites are named, measured in one run and kept as JSON with what made them."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from fewhot.bench import SUITES, loop, run_suite, suite_named
from fewhot.bench.__main__ import main
from fewhot.core.errors import InvalidParameterError, UnknownNameError


@pytest.mark.parametrize("name", SUITES)
def test_every_suite_can_be_run_on_a_device(name: str) -> None:
    assert callable(import_module(SUITES[name].module).run)


def test_a_name_typed_wrong_is_answered_with_the_right_one() -> None:
    with pytest.raises(UnknownNameError, match=r"^No benchmark suite is called 'lop'\. Did you mean 'loop'\?"):
        suite_named("lop")


def test_a_result_names_what_made_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "run", lambda device: {"what": "nothing", "ratio": 2.0})
    result = run_suite("loop", device="cpu", commit="abc", out=tmp_path)
    assert result["command"] == "python -m fewhot.bench loop --device cpu"
    assert result["commit"] == "abc"
    assert "threads" in result["hardware"]
    assert json.loads((tmp_path / "loop-cpu.json").read_text()) == result


def test_a_device_that_is_missing_is_refused_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    with pytest.raises(InvalidParameterError, match="does not offer it here"):
        run_suite("loop", device="cuda", out=tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_loop_suite_compares_slices_side_by_side() -> None:
    result = loop.cpu_suite(n_rows=200, n_steps=8)
    assert result["slices"] == 3
    assert result["ratio"] > 0
    assert list(result) == ["what", "slices", "fewhot", "plain", "ratio", "quartiles", "bar"]


def test_the_program_prints_json_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(loop, "run", lambda device: {"ratio": 2.0})
    assert main(["loop", "--device", "cpu", "--out", str(tmp_path)]) == 0
    assert json.loads(capsys.readouterr().out)["ratio"] == 2.0


def test_the_program_answers_a_wrong_name_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lop"]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert "Did you mean 'loop'?" in captured.err
    assert not captured.out


def test_no_plotting_or_command_line_library_is_needed() -> None:
    code = (
        "import sys\n"
        "sys.modules |= dict.fromkeys(['typer', 'click', 'matplotlib', 'yaml', 'pandas', 'polars', 'anndata'])\n"
        "import fewhot.bench.loop, fewhot.bench.__main__"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_listing_the_suites_imports_no_torch() -> None:
    code = "import sys; from fewhot.bench.__main__ import main; main([]); sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert all(name in done.stdout for name in SUITES)
