"""Reference pages made from the registries: one a model, one over all parts, one of the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fewhot.core.records import DataSpec
from fewhot.core.registry import ESTIMATORS, Registry
from fewhot.estimators.base import LatentEstimator

FOLDER = "generated"


def write_pages(reference: Path) -> None:
    """Write every generated page under ``reference``."""
    folder = reference / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name in ESTIMATORS:
        _write(folder / f"{name.lower()}.md", model_page(name))
    _write(folder / "parts.md", parts_page())


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
            f"   :exclude-members: {', '.join(name for name in dir(cls) if name.endswith('_request'))}",
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


def _parts_of(cls: type[LatentEstimator]) -> list[tuple[str, str, str]]:
    spec = DataSpec(n_columns=784, n_rows=60_000)
    return _walk("model", cls(n_components=64)._build(spec, 20_000).to_config())


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
