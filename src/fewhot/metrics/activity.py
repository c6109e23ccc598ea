"""How the units of a code are used: four definitions that hold everywhere in the library."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fewhot.metrics.matrices import as_matrix

USED_SHARE = 0.005
ALWAYS_ON_SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """The use of a code's units.

    Attributes
    ----------
    active
        Mean number of non-zero units a row.
    used
        Units that are active in at least 0.5 % of the rows.
    dead
        Units that are active in no row.
    always_on
        Units that are active in more than half of the rows.
    effective
        exp of the entropy of the units' shares of all activations; 0 for a code without any.
    empty_rows
        Share of rows without an active unit.
    """

    active: float
    used: int
    dead: int
    always_on: int
    effective: float
    empty_rows: float

    def to_dict(self) -> dict[str, float]:
        """Return the numbers by name."""
        return asdict(self)


def activity(codes: Any) -> Activity:
    r"""Count how the units of a code are used.

    With :math:`r_j` the share of rows in which unit j is not zero and :math:`s_j = r_j / \sum_i r_i`:

    .. math:: \text{active} = \sum_j r_j, \qquad \text{effective} = \exp\Big(-\sum_j s_j \log s_j\Big)

    Parameters
    ----------
    codes
        Codes as `transform` or `codes` returns them, (n, K): an array or a sparse matrix. Non-zero means active.

    Examples
    --------
    >>> activity(np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])).effective
    2.0
    """
    hot = as_matrix(codes, "codes") != 0
    n_rows = hot.shape[0]
    empty_rows = float((np.asarray(hot.sum(axis=1)).ravel() == 0).mean())
    return activity_of_shares(np.asarray(hot.sum(axis=0)).ravel() / n_rows, empty_rows)


def activity_of_shares(share: np.ndarray, empty_rows: float) -> Activity:
    """Count the units' use from the share of rows in which each is active, (K,)."""
    total = share.sum()
    portions = share[share > 0] / total if total else np.ones(0)
    return Activity(
        active=float(total),
        used=int((share >= USED_SHARE).sum()),
        dead=int((share == 0).sum()),
        always_on=int((share > ALWAYS_ON_SHARE).sum()),
        effective=float(np.exp(-(portions * np.log(portions)).sum())) if total else 0.0,
        empty_rows=empty_rows,
    )
