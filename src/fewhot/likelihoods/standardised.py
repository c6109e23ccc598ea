"""What real-valued likelihoods share: the decoder works in standardised columns, the density is of the raw data."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from fewhot.core.checks import one_of
from fewhot.core.records import ColumnMoments
from fewhot.likelihoods.base import Likelihood


class StandardisedLikelihood(Likelihood):
    r"""A location family whose units are those of each column.

    .. math:: x_d = \ell_d + s_d\,\varepsilon_d, \qquad \varepsilon \sim p(\varepsilon \mid f(z))

    with :math:`\ell` the mean and :math:`s` the standard deviation of each training column, or one for all columns.
    The location of a column that is constant in training, but for rounding errors, is :math:`\ell_d` whatever the code.

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
    varies
        Buffer (D,): 0 for constant columns, 1 for all others.
    """

    loc: Tensor
    scale: Tensor
    varies: Tensor

    def __init__(self, n_columns: int, *, standardise: bool | str = True) -> None:
        super().__init__(n_columns)
        self.standardise = one_of("standardise", standardise, (True, False, "together"))
        self.register_buffer("loc", torch.zeros(self.n_columns))
        self.register_buffer("scale", torch.ones(self.n_columns))
        self.register_buffer("varies", torch.ones(self.n_columns))

    def fit(self, moments: ColumnMoments) -> None:
        """Keep the mean and standard deviation of every column."""
        if self.standardise:
            self.loc.copy_(moments.mean)
            one = torch.full_like(self.scale, moments.typical_std)
            self.scale.copy_(one if self.standardise == "together" else moments.std)
            self.varies.copy_(moments.varies)

    def raw(self, standardised: Tensor) -> Tensor:
        """Return values (..., B, D) in the units of the data."""
        return self.loc + self.scale * self.varies * standardised

    def output_bias(self, moments: ColumnMoments) -> Tensor:
        """Return the column means, which are 0 when standardised."""
        return torch.zeros_like(moments.mean) if self.standardise else moments.mean.float()

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any) -> None:
        state_dict.setdefault(f"{prefix}varies", torch.ones_like(self.varies))  # 0.1 did not keep it
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
