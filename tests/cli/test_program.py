"""The program as a whole: help, version, codes, speed of its start, and the commands without a run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer

from fewhot import __version__
from fewhot.bench import loop
from fewhot.cli import app as app_module
from fewhot.cli import demo as demo_module
from fewhot.cli import program
from fewhot.cli.app import app
from fewhot.cli.exits import in_flags, verdict_on
from fewhot.core.errors import DivergedError, DownloadError

from .commands import done, invoke, parsed, refused

COMMANDS = ["demo", "fit", "encode", "evaluate", "recommend", "sample", "report", "bench", "data"]


def test_every_command_is_there_and_no_other() -> None:
    assert [command.callback.__name__ for command in app.registered_commands if command.callback] == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_by_an_example(command: str) -> None:
    shown = done(command, "--help").stdout
    assert f"fewhot {command}" in shown.partition("Example")[2]


def test_without_words_the_program_shows_its_help() -> None:
    assert all(command in done().stdout for command in COMMANDS)


def test_warnings_name_flags(capsys: pytest.CaptureFixture[str]) -> None:
    app_module._one_line_warning(UserWarning("Letters are lost; read texts\nwith tokeniser='spaces'."))
    assert capsys.readouterr().err == "fewhot: warning: Letters are lost; read texts with --tokeniser spaces.\n"


def test_an_alarm_says_how_codes_stay_in_use() -> None:
    assert in_flags("Keep codes in use by against_collapse=.") == (
        'Keep codes in use by --set "against_collapse={...}".'
    )


def test_the_version_is_printed() -> None:
    assert done("--version").stdout == f"fewhot {__version__}\n"


def test_a_command_typed_wrong_is_answered_with_the_right_one() -> None:
    assert "Did you mean 'evaluate'?" in refused("evalute", "x")


def test_the_help_needs_no_torch_and_comes_at_once() -> None:
    code = (
        "import sys\n"
        "sys.argv = ['fewhot', '--help']\n"
        "from fewhot.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "heavy = {'torch', 'numpy', 'sklearn', 'matplotlib', 'pandas', 'yaml'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    before = os.times()
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    after = os.times()
    assert finished.returncode == 0, finished.stderr
    spent = after.children_user - before.children_user + after.children_system - before.children_system
    assert spent < 0.6  # processor time, for the machine may be busy


def test_debug_shows_where_an_error_comes_from() -> None:
    for words in (["--debug", "fit", "digits"], ["fit", "digits", "--debug"]):
        result = invoke(*words)
        assert type(result.exception).__name__ == "InvalidParameterError"


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("fewhot.cli.runs.load_run", "fewhot: Interrupted.\n"),
        ("typer.core.TyperGroup.make_context", "fewhot: Interrupted before it began; nothing was written.\n"),
    ],
)
def test_an_interrupted_command_says_so(where: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(where, interrupt)
    result = invoke("sample", "runs/x")
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", said)


def test_a_process_ends_with_the_code_and_one_line() -> None:
    command = [sys.executable, "-m", "fewhot", "data", "get", "digit"]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert finished.stderr.startswith("fewhot: No dataset is called 'digit'. Did you mean 'digits'?")
    assert finished.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (DivergedError("It diverged."), 1),
        (DownloadError("It could not be fetched."), 1),
        (OSError(28, "No space left on device", "codes.npz"), 1),
        (MemoryError(), 1),
        (RuntimeError("two\nlines"), 1),
    ],
)
def test_a_failure_that_is_not_the_users_has_its_own_code(error: Exception, code: int) -> None:
    line, found = verdict_on(error)
    assert found == code
    assert "\n" not in line
    assert line.endswith((".", "!"))


# ------------------------------------------------------------------------------------------------------------- demo

QUICK = ["--max-steps", "20", "--device", "cpu", "--quiet"]


def test_the_demo_runs_twice_and_replaces_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first = done("demo", *QUICK)
    assert "what it means" in first.stdout
    assert "Report: runs/demo/report.html" in first.stdout
    assert (tmp_path / "runs" / "demo" / "report.html").stat().st_size > 10_000
    weights = (tmp_path / "runs" / "demo" / "model.safetensors").read_bytes()
    second = done("demo", *QUICK)
    assert "holds an earlier demo, which is replaced" in second.stderr
    assert (tmp_path / "runs" / "demo" / "model.safetensors").read_bytes() == weights
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["demo"]


def test_a_demo_that_cannot_run_leaves_the_earlier_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done("demo", *QUICK)
    weights = (tmp_path / "runs" / "demo" / "model.safetensors").read_bytes()
    assert "max_steps is -1" in refused("demo", "--max-steps", "-1")
    assert (tmp_path / "runs" / "demo" / "model.safetensors").read_bytes() == weights


@pytest.mark.parametrize("content", [{"thesis.tex": "precious"}, {"fit.yaml": "data: digits\nmodel: vsc\nseed: 0\n"}])
def test_the_demo_goes_beside_what_it_did_not_make(tmp_path: Path, content: dict[str, str]) -> None:
    out = tmp_path / "demo"
    out.mkdir()
    for name, text in content.items():
        (out / name).write_text(text)
    config: Any = SimpleNamespace(to_mapping=lambda: {"data": "digits", "model": "vsc", "l0": 4.0})
    assert demo_module._folder(out, config) == tmp_path / "demo-2"
    assert {path.name: path.read_text() for path in out.iterdir()} == content


# ------------------------------------------------------------------------------------ data, bench, other packages


def test_the_datasets_are_listed() -> None:
    assert "digits" in done("data").stdout
    told = {line["name"]: line for line in parsed(done("data", "list", "--json"))}
    assert told["digits"]["on_disk"] is True
    assert told["mnist"]["shapes"]["train"] == [60000, 784]


def test_an_embedded_dataset_is_there() -> None:
    assert "needs no files" in done("data", "get", "digits").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["get"], "given no dataset"),
        (["get", "fashon_mnist"], "Did you mean 'fashion_mnist'?"),
        (["fetch", "mnist"], "it takes 'list' or 'get NAME'"),
        (["get", "mnist", "--data-dir", "nowhere"], "nowhere"),
    ],
)
def test_what_is_no_dataset_is_refused(words: list[str], said: str) -> None:
    assert said in refused("data", *words)


def test_the_suites_are_listed() -> None:
    assert "loop" in done("bench").stdout
    assert [line["name"] for line in parsed(done("bench", "list", "--json"))] == ["loop"]


def test_a_suite_is_run_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "run", lambda device: {"what": "nothing", "ratio": 2.0, "bar": 1})
    told = parsed(done("bench", "loop", "--device", "cpu", "--out", tmp_path, "--json"))
    assert json.loads((tmp_path / "loop-cpu.json").read_text()) == told
    assert "nothing: 2.00" in done("bench", "loop", "--device", "cpu", "--out", tmp_path).stdout


def test_an_unknown_suite_is_refused() -> None:
    assert "Did you mean 'loop'?" in refused("bench", "lop")


class Point:
    """An entry point of a package that is not there."""

    dist = None

    def __init__(self, name: str, load: Any) -> None:
        self.name, self.load = name, load


@pytest.fixture
def group(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a way to say which commands other packages add; those that were loaded are forgotten."""
    from typer.main import get_command

    def of(**loads: Any) -> Any:
        monkeypatch.setattr(program, "plugins", lambda group: {name: Point(name, load) for name, load in loads.items()})
        return get_command(app)

    return of


def ended(group: Any, *words: str) -> int:
    with pytest.raises(SystemExit) as end:
        group.main(list(words), prog_name="fewhot")
    return int(end.value.code or 0)


def test_a_command_of_another_package_runs_and_is_in_the_help(group: Any, capsys: pytest.CaptureFixture[str]) -> None:
    added = typer.Typer()

    @added.command()
    def greet(name: str) -> None:
        """Greet somebody."""
        typer.echo(f"Hello {name}")

    found = group(greet=lambda: added)
    assert ended(found, "greet", "Ada") == 0
    assert capsys.readouterr().out == "Hello Ada\n"
    assert ended(found) == 0
    assert "Greet somebody." in capsys.readouterr().out


def test_a_command_of_a_package_that_is_missing_says_how_to_get_it(
    group: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (["reproduce"], ["reproduce", "list"], ["reproduce", "--help"]):
        assert ended(group(), *words) == 2
        assert capsys.readouterr().err == (
            "fewhot: fewhot reproduce needs the package fewhot-papers, which is not installed; install it by: "
            "pip install fewhot-papers.\n"
        )
    assert ended(group()) == 0
    assert "reproduce" not in capsys.readouterr().out


def test_a_package_that_is_broken_stops_no_other_command(group: Any, capsys: pytest.CaptureFixture[str]) -> None:
    def load() -> None:
        raise ImportError("no module named lost")

    assert ended(group(greet=load), "data", "get", "digits") == 0
    capsys.readouterr()
    assert ended(group(greet=load), "greet") == 1
    assert "'greet' of a package cannot be loaded (ImportError: no module named lost)" in capsys.readouterr().err
