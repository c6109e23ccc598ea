"""What was fitted on what: model, settings, data, seed and versions."""

from __future__ import annotations

import inspect
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import scipy.sparse as sp

from fewhot.core.records import UNLABELED
from fewhot.report.markup import facts_table, section, text

_LIBRARIES = ("fewhot", "torch", "numpy", "scipy", "scikit-learn")
_UNINTERESTING = frozenset(["callbacks", "verbose"])


def fitted_section(estimator: Any, data: Any, summary: Any, facts: dict[str, Any]) -> str:
    """Return the section that says what was fitted."""
    rows = [
        *_model(estimator, summary),
        *_data(data, estimator),
        *((str(name), str(value)) for name, value in facts.items()),
    ]
    rows.append(("Versions", _versions()))
    return section("fitted", "What was fitted on what", facts_table(rows, "The fit in short."), _settings(estimator))


def model_in_words(estimator: Any) -> str:
    """Return the first sentence of the estimator's documentation."""
    return (inspect.getdoc(type(estimator)) or "").partition("\n")[0]


def _model(estimator: Any, summary: Any) -> list[tuple[str, str]]:
    facts = getattr(summary, "facts", {})
    rows = [("Model", f"{type(estimator).__name__}. {model_in_words(estimator)}")]
    units = f"{estimator.module_.latent.n_latent}"
    asked = facts.get("asked")
    rows.append(("Units", units if asked is None else f"{units}, of which {asked:g} active a row were asked for"))
    likelihood = facts.get("likelihood_says") or getattr(estimator, "likelihood_", "")
    spec = getattr(estimator, "data_spec_", None)
    kind = "rows" if spec is None or spec.kind != "text" else "texts"
    on = "" if spec is None else f" on {spec.n_rows:,} {kind}, those held out included"
    rows.append(("Likelihood", str(likelihood)))
    if hasattr(estimator, "recipe_"):
        rows.append(
            ("Recipe", f"{estimator.recipe_}, {'by what the rows are' if estimator.recipe is None else 'named'}")
        )
    rows.append(("Training", f"{estimator.n_iter_:,} steps{on}"))
    rows.append(("Seed", str(getattr(estimator, "seed_", "not kept"))))
    return rows


def _data(data: Any, estimator: Any) -> list[tuple[str, str]]:
    n, p = (*data.X.shape, 0)[:2]
    name = data.name if data.split is None else f"{data.name}, split {data.split}"
    what = f"{n:,} texts" if data.holds_texts else f"{n:,} rows of {p:,} columns"
    rows = [("Rows looked at", f"{name}: {what}")]
    if data.holds_texts:
        rows.append(("Kind", _reading(estimator.vocabulary_)))
    elif data.image_shape is not None:
        rows.append(("Kind", "pictures of " + " × ".join(map(str, data.image_shape))))
    elif sp.issparse(data.X):
        rows.append(("Kind", f"sparse rows, {data.X.nnz / max(n * p, 1):.2%} of the entries not zero"))
    else:
        rows.append(("Kind", "columns with names" if data.feature_names else "columns without names"))
    if data.y is not None:
        rows.append(("Labels", f"{len(np.unique(data.y[data.y != UNLABELED]))} classes, never shown to the model"))
    if data.licence:
        rows.append(("Licence", data.licence))
    if data.digest:
        rows.append(("Content digest", f"SHA-256 {data.digest}"))
    return rows


def _reading(vocabulary: Any) -> str:
    most = "" if vocabulary.max_length is None else f", at most {vocabulary.max_length:,} words of each"
    return f"texts, cut by “{vocabulary.tokeniser}”{most}; {len(vocabulary.known):,} words are known"


def _versions() -> str:
    found = [f"Python {platform.python_version()}"]
    for library in _LIBRARIES:
        try:
            found.append(f"{library} {version(library)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def _settings(estimator: Any) -> str:
    """Return every constructor argument, those that were chosen first."""
    defaults = {
        name: parameter.default for name, parameter in inspect.signature(type(estimator).__init__).parameters.items()
    }
    settings = {name: v for name, v in estimator.get_params(deep=False).items() if name not in _UNINTERESTING}
    chosen = {name for name, value in settings.items() if repr(value) != repr(defaults.get(name))}
    settings |= {name: value for name, value in getattr(estimator, "settings_", {}).items() if name not in chosen}
    lines = "".join(
        f'<tr{" class=chosen" if name in chosen else ""}><th scope="row">{text(name)}</th>'
        f"<td>{text(repr(settings[name]))}</td></tr>"
        for name in sorted(settings, key=lambda name: (name not in chosen, name))
    )
    caption = "Bold: given at construction. The rest are defaults; None and 'auto' were chosen for the data."
    return (
        f"<details><summary>All settings</summary>"
        f'<table class="facts"><caption>{text(caption)}</caption><tbody>{lines}</tbody></table></details>'
    )
