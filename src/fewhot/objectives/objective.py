"""An objective is a list of terms, added up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add

import torch
from torch import Tensor, nn

from fewhot.core.parts import Part
from fewhot.core.records import ColumnMoments, Knobs, Noise, Params, Pass, Terms
from fewhot.core.registry import STRUCTURES


class Term(Part):
    """One summand. Per-example values are means over nothing: reduction to a batch mean happens once, in the loss."""

    settled_at: int = 0
    """The step from which this term's controller state stays."""
    whole_batch: bool = False
    """Whether the value is about the batch as a sample, so that a row seen twice is not the row seen once."""
    constraint: bool = False
    """Whether the value holds something at a number instead of being wanted for its own sake; its bound is then 0."""
    l0: float | None = None
    """The mean number of active units that this term holds, if it is about that."""
    weighted: bool = True
    """Whether training is after something else here than the term's part of the bound."""

    def fit(self, moments: ColumnMoments) -> None:
        """Keep what is needed of the training rows; most terms need nothing."""

    def noise(self, n_rows: int, generator: torch.Generator) -> Noise:
        """Return the random numbers this term needs, by names of its own; most need none."""
        return {}

    def forward(self, result: Pass, divergence: Params, knobs: Knobs) -> Terms:
        """Return this term's contribution; ``divergence`` holds the named parts of KL(q || p), each (..., B)."""
        raise TypeError(f"{type(self).__name__} does not say its value; define forward(result, divergence, knobs).")

    def admits(self, evaluation: Mapping[str, float]) -> bool:
        """Return whether weights with this evaluation on held-out rows keep the constraint; most terms have none."""
        return True

    def update(self, signals: Params, step: Tensor) -> None:
        """Move this term's controller state in place, from the signals of the pass; most terms have none.

        The state is in buffers that are saved: what a step with a value that is not finite did to them is undone.
        """


@STRUCTURES.register("objective")
class Objective(Part):
    r""":math:`\mathcal{L} = \sum_i w_i T_i`: terms of the bound, penalties and constraints, each by its name."""

    def __init__(self, terms: Sequence[Term]) -> None:
        super().__init__()
        self.terms = nn.ModuleList(terms)

    @property
    def controlled(self) -> bool:
        """Whether some term has a controller."""
        return any(isinstance(term, Term) and type(term).update is not Term.update for term in self.terms)

    @property
    def settled_at(self) -> int:
        """The step from which no controller moves."""
        return max((term.settled_at for term in self.terms if isinstance(term, Term)), default=0)

    def fit(self, moments: ColumnMoments) -> None:
        """Fit every term on the training rows."""
        for term in self.terms:
            assert isinstance(term, Term)
            term.fit(moments)

    def admits(self, evaluation: Mapping[str, float]) -> bool:
        """Return whether weights with this evaluation on held-out rows keep every constraint."""
        return all(term.admits(evaluation) for term in self.terms if isinstance(term, Term))

    @property
    def l0(self) -> float | None:
        """The mean number of active units at which some term holds the gates; None where none does."""
        return next((term.l0 for term in self.terms if isinstance(term, Term) and term.l0 is not None), None)

    @property
    def weighted(self) -> bool:
        """Whether training is after something else than the bound, controllers apart."""
        return any(term.weighted for term in self.terms if isinstance(term, Term))

    def beyond_bound(self, result: Pass, divergence: Params, knobs: Knobs) -> Tensor:
        """Return what weights other than 1, penalties and discrepancies add to the mean bound of a pass."""
        terms = [term(result, divergence, knobs) for term in self.terms if isinstance(term, Term) and term.weighted]
        return -torch.stack([term.loss + term.bound.mean() for term in terms]).sum()

    def of_rows(self, result: Pass, divergence: Params, knobs: Knobs) -> Tensor:
        """Return the mean over rows of what training is after in each row: no constraint, nothing about the batch."""
        kept = [t for t in self.terms if isinstance(t, Term) and not (t.whole_batch or t.constraint)]
        return -torch.stack([term(result, divergence, knobs).loss for term in kept]).sum()

    def noise(self, n_rows: int, generator: torch.Generator) -> Noise:
        """Return the random numbers that the terms need, besides those of the draw."""
        return {k: v for term in self.terms if isinstance(term, Term) for k, v in term.noise(n_rows, generator).items()}

    def forward(self, result: Pass, divergence: Params, knobs: Knobs) -> Terms:
        """Return all terms of a pass."""
        wanted = [term(result, divergence, knobs) for term in self.terms if not term.constraint]
        held = [term(result, divergence, knobs) for term in self.terms if term.constraint]
        total = reduce(add, wanted or held[:1])
        return reduce(Terms.under, held if wanted else held[1:], total)

    def update(self, signals: Params, step: Tensor) -> None:
        """Let every controller see what this step measured."""
        for term in self.terms:
            assert isinstance(term, Term)
            term.update(signals, step)
