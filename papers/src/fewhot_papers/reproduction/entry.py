"""What a reproduction is made of: cells to compute, checks to pass, and the entry that holds them together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fewhot_papers.reproduction.measurements import Measurements

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One independent piece of work: a fit and its measurements.

    Attributes
    ----------
    kind
        The name of the cell function that does it.
    settings
        All that the function is told: JSON values; ``seed`` among them where there is one.
    data
        The dataset whose digest belongs to the cell's identity; None for cells without data.
    cost
        Work in arbitrary units, to balance shards and to guess the time left.
    name
        What progress calls it; its settings if empty.
    """

    kind: str
    settings: Mapping[str, Any]
    data: str | None = None
    cost: float = 1.0
    name: str = ""

    @property
    def label(self) -> str:
        """The cell in one line."""
        if self.name:
            return self.name
        shown = (f"{name}={value}" for name, value in self.settings.items() if isinstance(value, int | float | str))
        return ", ".join(shown)


@dataclass(frozen=True, slots=True)
class Check:
    """One statement of a rule, whether it holds, and the numbers that say so."""

    statement: str
    holds: bool
    numbers: str


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read a published claim.

    ``change`` says how it departs from the paper, None if it does not; ``only`` names what it confines the claim to.
    """

    change: str | None
    checks: Sequence[Check]
    only: str = ""

    @property
    def holds(self) -> bool:
        """Whether every check does; a reading without checks holds nothing."""
        return bool(self.checks) and all(check.holds for check in self.checks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A published figure or table, and how it is run and judged here.

    Attributes
    ----------
    id, title, source
        What it is, and where it was published.
    data
        The datasets it needs.
    protocol
        What is fitted and measured, in words.
    published
        The value or claim, with its place in the paper.
    rule
        The rule that decides, in words; ``judge`` is the same rule in code.
    open_choices
        Values the paper does not fix, and what was taken.
    changes
        What departs from the paper, and why.
    cells
        The cells of the full (False) or the quick (True) run.
    follow_up
        From the measurements of all ``cells`` to further cells, such as more seeds of what was chosen on one seed.
    judge
        From complete measurements to readings, the most faithful first: the first that holds gives the verdict.
    draw
        From measurements to named matplotlib figures.
    missing
        What is missing where the entry cannot be run at all.
    """

    id: str
    title: str
    source: str
    data: tuple[str, ...]
    protocol: str
    published: str
    rule: str
    open_choices: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    cells: Callable[[bool], Sequence[Cell]] = field(default=lambda quick: ())
    follow_up: Callable[[bool, Measurements], Sequence[Cell]] | None = None
    judge: Callable[[Measurements], Sequence[Reading]] = field(default=lambda measured: ())
    draw: Callable[[Measurements], Mapping[str, Figure]] = field(default=lambda measured: {})
    missing: str | None = None
