"""Models by the names typed on the command line, and the arguments their constructors take."""

from __future__ import annotations

import inspect
import typing
from typing import Any

from fewhot.cli.values import nearest
from fewhot.core.errors import UnknownNameError

ELSEWHERE = {
    "callbacks": "it holds Python objects, which a command line cannot write",
    "verbose": "progress is shown unless --quiet is given",
    "random_state": "it is called seed here",
}
"""Constructor arguments with another way in, and which."""


def estimators() -> dict[str, Any]:
    """Return the estimators of rows without labels, by their names in lower case."""
    import fewhot.estimators  # noqa: F401  (fills the registry)
    from fewhot.core.registry import ESTIMATORS

    classes: dict[str, Any] = dict(ESTIMATORS)
    return {name.lower(): cls for name, cls in classes.items() if not cls.labelled}


def model_named(name: str) -> tuple[str, Any]:
    """Return the plain name and the class of a model; case, hyphens and underscores do not matter.

    >>> model_named("VSC")[0]
    'vsc'
    """
    known = estimators()
    plain = name.lower().replace("-", "").replace("_", "")
    if plain not in known:
        raise UnknownNameError(
            f"No model is called {name!r}.{nearest(plain, known)} Known: {', '.join(sorted(known))}."
        )
    return plain, known[plain]


def argument_hints(cls: Any) -> dict[str, Any]:
    """Return the constructor's arguments that can be written as text, with their types."""
    hints = typing.get_type_hints(cls.__init__)
    return {name: hints.get(name, Any) for name in inspect.signature(cls).parameters if name not in ELSEWHERE}
