"""What encoding returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from fewhot.codes.page import page, summary_line

Matrix = np.ndarray | sp.csr_array


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Codes:
    """Codes with their uncertainty and their bounds.

    Attributes
    ----------
    values
        The map code, (n, K): CSR with exact zeros for gated families, dense otherwise.
    variance
        Variance of each value; same pattern as ``values``.
    p_active
        Probability that a unit is on, CSR over p >= 0.01 with a pattern of its own; None without gates.
    bound
        Evidence lower bound of each row in nats, exact gates, (n,); NaN of a model that says nothing of rows.
    gap
        What refinement gained on each row in nats, on fresh noise, so that a gain near zero may come out a little
        below it; None when codes were not refined.
    """

    values: Matrix
    variance: Matrix
    p_active: sp.csr_array | None
    bound: np.ndarray
    gap: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.bound)

    def __repr__(self) -> str:
        return summary_line(self)

    def _repr_html_(self) -> str:
        return page(self)
