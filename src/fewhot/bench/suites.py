"""The named suites. Listing them imports none."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from fewhot.core.errors import UnknownNameError


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """One set of measurements.

    Attributes
    ----------
    about
        What is compared with what.
    module
        Where ``run(device)`` is.
    minutes
        How long it takes on two cores, about.
    """

    about: str
    module: str
    minutes: float


SUITES = {
    "loop": Suite(
        about="steps a second of fit against the plainest hand-written training loops",
        module="fewhot.bench.loop",
        minutes=3,
    ),
}


def suite_named(name: str) -> Suite:
    """Return the suite called ``name``.

    >>> suite_named("loop").module
    'fewhot.bench.loop'
    """
    if name not in SUITES:
        near = difflib.get_close_matches(name, SUITES, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UnknownNameError(f"No benchmark suite is called {name!r}.{hint} Known: {', '.join(sorted(SUITES))}.")
    return SUITES[name]
