"""What real-valued likelihoods share: the decoder works in standardised columns, the density is of the raw data."""

from __future__ import annotations

import torch
from torch import Tensor

from fewhot.core.checks import one_of
from fewhot.core.records import ColumnMoments
from fewhot.likelihoods.base import Likelihood


class StandardisedLikelihood(Likelihood):
    r"""A location family whose units are those of each column.

    .. math:: x_d = \ell_d + s_d\,\varepsilon_d, \qquad \varepsilon \sim p(\varepsilon \mid f(z))

    with :math:`\ell` the mean and :math:`s` the standard deviation of each training column, or one for all columns.

    Parameters
    ----------
    n_columns
        Width D of the rows.
    standardise
        Whether `fit` keeps the moments of the columns; otherwise the units are those of the data. With "together" all
        columns have one unit, the root mean square of their deviations, as pixels of an image should.

    Attributes
    ----------
    loc, scale
        Buffers (D,): 0 and 1 until `fit`.
    """

    loc: Tensor
    scale: Tensor

    def __init__(self, n_columns: int, *, standardise: bool | str = True) -> None:
        super().__init__(n_columns)
        self.standardise = one_of("standardise", standardise, (True, False, "together"))
        self.register_buffer("loc", torch.zeros(self.n_columns))
        self.register_buffer("scale", torch.ones(self.n_columns))

    def fit(self, moments: ColumnMoments) -> None:
        """Keep the mean and standard deviation of every column."""
        if self.standardise:
            self.loc.copy_(moments.mean)
            one = torch.full_like(self.scale, moments.typical_std)
            self.scale.copy_(one if self.standardise == "together" else moments.std)

    def raw(self, standardised: Tensor) -> Tensor:
        """Return values (..., B, D) in the units of the data."""
        return self.loc + self.scale * standardised

    def output_bias(self, moments: ColumnMoments) -> Tensor:
        """Return the column means, which are 0 when standardised."""
        return torch.zeros_like(moments.mean) if self.standardise else moments.mean.float()
