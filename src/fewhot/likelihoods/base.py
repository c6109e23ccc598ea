"""The contract of a likelihood: what it reads, what it refuses, what it keeps from the training rows."""

from __future__ import annotations

import torch
from torch import Tensor

from fewhot.core.checks import whole_number
from fewhot.core.errors import InvalidInputError
from fewhot.core.parts import Part
from fewhot.core.records import ColumnMoments, DataSpec, ObservedRows


class Likelihood(Part):
    r"""Turns the output of a decoder into a distribution over rows.

    .. math:: p(x \mid z) = \prod_d p\big(x_d \mid f(z)\big)

    A family defines `rows` and `describe`; it overrides the rest where it has something to say.

    Parameters
    ----------
    n_columns
        Width D of the rows.
    """

    def __init__(self, n_columns: int) -> None:
        super().__init__()
        self.n_columns = whole_number("n_columns", n_columns)

    @property
    def n_outputs(self) -> int:
        """Width of the decoder output that `forward` consumes."""
        return self.n_columns

    def forward(self, out: Tensor) -> ObservedRows:
        """Return p(x | z) for decoder output (..., B, n_outputs), computed in float32 whatever its precision."""
        return self.rows(out.float())

    def rows(self, out: Tensor) -> ObservedRows:
        """Return p(x | z) for a float32 decoder output (..., B, n_outputs)."""
        raise TypeError(f"{type(self).__name__} does not say its distribution; define rows(out).")

    def check(self, spec: DataSpec) -> None:
        """Raise `InvalidInputError`, in one sentence, for data outside the support."""
        if spec.n_columns != self.n_columns:
            raise InvalidInputError(
                f"The data have {spec.n_columns} columns but the likelihood was built for {self.n_columns}; "
                f"build it with n_columns={spec.n_columns}."
            )

    def fit(self, moments: ColumnMoments) -> None:
        """Keep what the family needs from the training rows, in buffers; most need nothing."""

    def output_bias(self, moments: ColumnMoments) -> Tensor:
        """Return an initial bias (n_outputs,) for the decoder's last layer: there, the mean row is the column means."""
        return torch.zeros(self.n_outputs, device=moments.mean.device)

    def describe(self, spec: DataSpec) -> str:
        """Return half a sentence for reports: the family and what its numbers can be compared with."""
        raise TypeError(f"{type(self).__name__} does not describe itself; define describe(spec).")
