"""What estimators with gates share: how many units are on, and the last turn of the dial."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sklearn.exceptions import ConvergenceWarning

from fewhot.core.checks import real_number, whole_number
from fewhot.core.errors import InvalidParameterError
from fewhot.core.records import DataSpec
from fewhot.core.warning import warn_caller
from fewhot.data import Dataset
from fewhot.estimators.base import LatentEstimator
from fewhot.models.gating import LONGEST_DENSE_START
from fewhot.objectives.dial import ALLOWED_MISS
from fewhot.training.gate_shift import shift_gates

DEFAULT_DENSITY = 0.05
LEAST_DEFAULT_UNITS = 4
DENSE_START_OF_TEXTS = 0.3
"""Share of the steps in which gates are open where rows are texts: of few words each, closed ones would stay shut."""


class GatedEstimator(LatentEstimator):
    """An estimator whose units are on or off, by a fixed prior or by the dial."""

    fixed_priors: tuple[str, ...] = ("alpha",)
    """Arguments that fix the prior; at most one of them, ``density`` and ``l0`` may be given."""

    alpha: float | None
    density: float | None
    l0: float | None
    max_active: int | None
    max_share: float | None
    dense_start: float | None
    gate_shift_: float

    def _asked(self) -> float | None:
        """Return the mean number of active units asked for; None where the prior is fixed."""
        if any(getattr(self, name) is not None for name in self.fixed_priors):
            return None
        if self.l0 is not None:
            return self.l0
        if self.density is not None:
            return self.density * self.n_components
        return min(self.n_components, max(LEAST_DEFAULT_UNITS, DEFAULT_DENSITY * self.n_components))

    def _chosen_dense_start(self, spec: DataSpec) -> float:
        """Return in which share of the steps gates are open, by the argument, or by what the rows are."""
        if self.dense_start is not None:
            return self.dense_start
        has_dial = self._asked() is not None and self.recipe is None
        return DENSE_START_OF_TEXTS if has_dial and spec.kind == "text" else 0.0

    def _finish(self, rows: Sequence[Dataset]) -> None:
        asked = self._asked()
        if asked is None:
            return
        self.gate_shift_, active, largest_share = shift_gates(self.module_, rows, asked, self.seed_)
        if abs(active - asked) > ALLOWED_MISS * asked:
            warn_caller(
                f"{asked:g} active units a row were asked for, and {active:.3g} are on after {self.n_iter_} steps; "
                f"give the dial more steps to settle (max_steps=).",
                ConvergenceWarning,
            )
        if self.max_share is not None and largest_share > _allowed(self.max_share, sum(part.n_rows for part in rows)):
            warn_caller(
                f"No unit was to serve more than {self.max_share:.0%} of the rows, and one serves {largest_share:.0%} "
                f"after {self.n_iter_} steps; give the dial more steps to settle (max_steps=), or a larger max_share.",
                ConvergenceWarning,
            )

    def _given(self) -> list[str]:
        """Return which of the ways to say how sparse were taken."""
        return [name for name in (*self.fixed_priors, "density", "l0") if getattr(self, name) is not None]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        given, ways = self._given(), [*self.fixed_priors, "density", "l0"]
        if len(given) > 1:
            raise InvalidParameterError(
                f"{' and '.join(given)} were given; give at most one of {', '.join(ways[:-1])} and {ways[-1]}."
            )
        if self.alpha is not None:
            real_number("alpha", self.alpha, low=1e-6, high=1 - 1e-6)
        if self.density is not None:
            real_number("density", self.density, low=0, high=1, open_low=True)
        if self.l0 is not None:
            real_number("l0", self.l0, low=0, high=self.n_components, open_low=True)
        if self.max_active is not None:
            whole_number("max_active", self.max_active)
        if self.max_share is not None:
            real_number("max_share", self.max_share, low=0, high=1, open_low=True)
            asked = self._asked()
            if asked is None:
                raise InvalidParameterError("max_share bounds what one unit serves under the dial; give density or l0.")
            if self.max_share * self.n_components < asked:
                raise InvalidParameterError(
                    f"max_share is {self.max_share:g}, so {self.n_components} units can have at most "
                    f"{self.max_share * self.n_components:.3g} on in the mean row, and {asked:g} are asked for; give a "
                    f"larger share or more units."
                )
        if self.dense_start is not None:
            real_number("dense_start", self.dense_start, low=0, high=LONGEST_DENSE_START)
        if self.dense_start and self.recipe is not None:
            raise InvalidParameterError(
                f"recipe={self.recipe!r} trains as published, and dense_start was given; leave one of them out."
            )


def _allowed(share: float, n_rows: int) -> float:
    """Return the share from which the busiest unit is said to serve too much: two standard errors are chance."""
    return (1 + ALLOWED_MISS) * share + 2 * math.sqrt(share * (1 - share) / n_rows)
