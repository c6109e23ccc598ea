"""Reference pages made from the library itself: models, parts, commands, thresholds, reproductions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args, get_type_hints

import typer

from fewhot.cli.app import app
from fewhot.core.records import DataSpec
from fewhot.core.registry import ESTIMATORS, Registry
from fewhot.estimators.base import LatentEstimator
from fewhot.estimators.sdlgm_supervised import SupervisedSDLGM
from fewhot.metrics import RULES
from fewhot_papers.reproduction import entries, list_table

FOLDER = "generated"
RESULTS = Path(__file__).parents[1] / "papers" / "results"


def write_pages(reference: Path) -> None:
    """Write every generated page under ``reference``."""
    folder = reference / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {f"{name.lower()}.md" for name in ESTIMATORS} | {"parts.md"}
    for stale in (path for path in folder.glob("*.md") if path.name not in wanted):
        stale.unlink()
    for name in ESTIMATORS:
        _write(folder / f"{name.lower()}.md", model_page(name))
    _write(folder / "parts.md", parts_page())
    _write(folder / "commands.inc", commands())
    _write(folder / "rules.inc", rules())
    _write(folder / "entries.inc", reproductions())
    _write(folder / "verdicts.inc", verdicts())


def model_page(name: str) -> str:
    """Return the page of one estimator: its documentation, its recipes, and the parts it is made of."""
    cls: type[LatentEstimator] = ESTIMATORS[name]
    return "\n".join(
        [
            f"# {name}",
            "",
            "```{eval-rst}",
            f".. autoclass:: fewhot.{name}",
            "   :members:",
            "   :inherited-members: BaseEstimator, TransformerMixin, ClassNamePrefixFeaturesOutMixin",
            f"   :exclude-members: {', '.join(_of_sklearn(cls))}",
            "```",
            "",
            "## Made of",
            "",
            "What the default builds for rows in [0, 1]; every part can be exchanged for another of its kind.",
            "",
            _table(("slot", "part", "settings"), _parts_of(cls)),
            "",
            "## Recipes",
            "",
            _table(("recipe", "setting", "value"), _recipes_of(cls)),
            "",
        ]
    )


def parts_page() -> str:
    """Return the page that lists every registered part."""
    rows = [
        (kind, f"`{name}`", _first_line(entry))
        for kind, entries in sorted(Registry.kinds.items())
        for name, entry in entries.items()
    ]
    return "# Parts\n\nEvery part that is found by a name.\n\n" + _table(("kind", "name", "what it is"), rows) + "\n"


def commands() -> str:
    """Return every command with its arguments and options; a page includes it."""
    group: Any = typer.main.get_command(app)
    with group.make_context("fewhot", ["--version"], resilient_parsing=True) as context:
        return "\n".join(_command(name, group.get_command(context, name)) for name in group.list_commands(context))


def rules() -> str:
    """Return the thresholds of every verdict; a page includes it."""
    rows = [
        (f"`{name}`", rule.what.rstrip(","), *(_threshold(rule, limit) for limit in (rule.good, rule.fair)))
        for name, rule in RULES.items()
    ]
    return _table(("number", "what is judged", "good", "fair"), rows) + "\n"


def reproductions() -> str:
    """Return every reproduction with the published claim, the rule, the verdict and its figures; a page includes it."""
    lines = {line["id"]: line for line in list_table(RESULTS)}
    return "\n".join(_entry(name, entry, lines[name]) for name, entry in entries().items())


def verdicts() -> str:
    """Return one line an entry; a page includes it."""
    rows = [
        (f"[`{line['id']}`](#{line['id']})", line["title"], f"**{line['verdict'] or 'not run'}**")
        for line in list_table(RESULTS)
    ]
    return _table(("entry", "what it is", "verdict"), rows) + "\n"


def _entry(name: str, entry: Any, line: Mapping[str, str]) -> str:
    verdict = f"**{line['verdict']}**. {line['why']}" if line["verdict"] else "not run"
    told = {"Source": entry.source, "Published": entry.published, "Rule": entry.rule, "Verdict": verdict}
    lines = [f"- *{head}.* {_cell(text)}" for head, text in told.items()]
    pictures = [
        f"![{path.stem}](../../papers/results/{name}/{path.name})" for path in sorted((RESULTS / name).glob("*.png"))
    ]
    return "\n".join([f"### {name}", "", f"{_cell(entry.title)}.", "", *lines, "", *pictures, ""])


_VALUES: Mapping[type, str] = {int: "INTEGER", float: "NUMBER", str: "TEXT", Path: "PATH"}


def _command(name: str, command: Any) -> str:
    hints = get_type_hints(command.callback)
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and p.help and "--help" not in p.opts]
    usage = " ".join([f"fewhot {name}", *map(_usage, arguments), "[OPTIONS]"])
    lines = [f"## fewhot {name}", "", command.help, "", "```text", usage, "```", ""]
    if arguments:
        rows = [(f"`{_metavar(p)}`", _described(p)) for p in arguments]
        lines += [_table(("argument", "what it is"), rows), ""]
    panels = dict.fromkeys(p.rich_help_panel or "" for p in options)
    for panel in panels:
        rows = [(_spelling(p, hints), _described(p)) for p in options if (p.rich_help_panel or "") == panel]
        lines += [_table((panel.lower() or "option", "what it does"), rows), ""]
    examples = re.findall(r"\[bold\](.*?)\[/bold\]", command.epilog or "")
    return "\n".join([*lines, *(["```text", *examples, "```", ""] if examples else [])])


def _usage(argument: Any) -> str:
    return _metavar(argument) if argument.required else f"[{_metavar(argument)}]"


def _metavar(argument: Any) -> str:
    return (argument.metavar or argument.name).upper()


def _spelling(option: Any, hints: Mapping[str, Any]) -> str:
    names = ", ".join(f"`{name}`" for name in option.opts)
    if option.is_flag:
        return names
    hint = hints[option.name]
    kinds = [kind for kind in (hint, *get_args(hint)) if kind in _VALUES]
    value = option.metavar or (_VALUES[kinds[0]] if kinds else "TEXT")
    return f"{names} {value}"


def _described(parameter: Any) -> str:
    default = parameter.default
    shown = isinstance(default, str | int | float | Path) and not isinstance(default, bool)
    needed = " Required." if parameter.required else ""
    return _cell(parameter.help) + needed + (f" Default: `{default}`." if shown else "")


def _threshold(rule: Any, limit: float) -> str:
    return f"{'≥' if rule.higher else '≤'} {limit:g}"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("$", "\\$")


def _of_sklearn(cls: type) -> list[str]:
    """Return methods whose documentation is scikit-learn's own, and links there."""
    return [name for name in dir(cls) if name.endswith("_request") or name in ("get_metadata_routing", "set_output")]


def _parts_of(cls: type[LatentEstimator]) -> list[tuple[str, str, str]]:
    spec = DataSpec(n_columns=784, n_rows=60_000, integral=True)
    estimator = cls(n_components=64)
    if isinstance(estimator, SupervisedSDLGM):
        estimator.n_labels_, estimator.n_slots_ = 10, 5
    return _walk("model", estimator._build(spec, 20_000).to_config())


def _walk(slot: str, config: Any) -> list[tuple[str, str, str]]:
    """Return one row for every part of a configuration, outer parts first."""
    if isinstance(config, list):
        return [row for item in config for row in _walk(slot, item)]
    if not isinstance(config, dict):
        return []
    arguments = config.get("args", config)
    nested = {name: value for name, value in arguments.items() if _holds_parts(value)}
    inner = [row for name, value in nested.items() for row in _walk(name, value)]
    if "part" not in config:
        return inner
    settings = ", ".join(f"{name}={value!r}" for name, value in arguments.items() if name not in nested)
    return [(slot, f"`{config['part']}`", f"`{settings}`" if settings else ""), *inner]


def _holds_parts(value: Any) -> bool:
    if isinstance(value, list):
        return any(_holds_parts(item) for item in value)
    return isinstance(value, dict) and ("part" in value or any(_holds_parts(item) for item in value.values()))


def _recipes_of(cls: type[LatentEstimator]) -> list[tuple[str, str, str]]:
    rows = []
    for name, recipe in cls.recipes.items():
        for field in recipe.__dataclass_fields__:
            value = getattr(recipe, field)
            if value not in ("", ()):
                rows.append((f"`{name}`", field.replace("_", " "), f"{value}"))
    return rows


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, tuple("---" for _ in head), *rows)]
    return "\n".join(lines)


def _first_line(part: Any) -> str:
    text = " ".join((part.__doc__ or "").strip().split("\n\n")[0].split())
    return text.replace(":math:", "").replace("|", "\\|")


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
