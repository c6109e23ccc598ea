"""Feature transforms: what the encoder reads; the likelihood never sees them."""

from __future__ import annotations

import torch
from torch import Tensor

from fewhot.core.checks import one_of, real_number, truth
from fewhot.core.errors import InvalidInputError
from fewhot.core.parts import Part
from fewhot.core.records import ColumnMoments, DataSpec, Dense, Ragged, Rows, as_numbers
from fewhot.core.registry import FEATURES


class Features(Part):
    """Rows in, rows out, with state fitted on the training rows only."""

    def fit(self, moments: ColumnMoments) -> None:
        """Keep what is needed of the training rows."""

    def check(self, spec: DataSpec) -> None:
        """Refuse rows that have no features."""

    def forward(self, x: Rows) -> Rows:
        """Return the transformed rows."""
        return x


@FEATURES.register("identity")
class Identity(Features):
    """The rows as they are."""


@FEATURES.register("log1p")
class Log1p(Features):
    r""":math:`\log(1+x)`, for counts; zeros stay zeros, so sparse rows stay sparse."""

    def check(self, spec: DataSpec) -> None:
        """Refuse negative values."""
        _require_counts(spec, "log(1 + x)")

    def forward(self, x: Rows) -> Rows:
        """Return the compressed counts."""
        x = as_numbers(x)
        return x._replace(values=x.values.log1p()) if isinstance(x, Ragged) else Dense(x.x.log1p())


@FEATURES.register("standardise")
class Standardise(Features):
    """Columns with mean 0 and deviation 1; with ``centre=False``, for sparse rows, zeros stay zeros.

    With ``together`` all columns are divided by one number, the root mean square of their deviations. The same rows
    give the same features whether they come dense or sparse. What lies farther out than ``limit`` deviations grows with
    its logarithm from there on, so that single values of columns with long tails do not decide a row.
    """

    loc: Tensor
    scale: Tensor

    def __init__(self, n_columns: int, centre: bool = True, together: bool = False, limit: float | None = None) -> None:
        super().__init__()
        self.n_columns = n_columns
        self.limit = None if limit is None else real_number("limit", limit, low=0, open_low=True)
        self.centre = one_of("centre", centre, (True, False))
        self.together = one_of("together", together, (True, False))
        self.register_buffer("loc", torch.zeros(n_columns))
        self.register_buffer("scale", torch.ones(n_columns))

    def fit(self, moments: ColumnMoments) -> None:
        """Keep the mean and deviation of each column."""
        self.loc.copy_(moments.mean)
        self.scale.copy_(torch.full_like(self.scale, moments.typical_std) if self.together else moments.std)

    def forward(self, x: Rows) -> Rows:
        """Return the scaled rows."""
        x = as_numbers(x)
        if isinstance(x, Ragged) and not self.centre:
            return x._replace(values=self._limited(x.values / self.scale[x.indices]))
        rows = x.dense() - self.loc if self.centre else x.dense()
        return Dense(self._limited(rows / self.scale))

    def _limited(self, z: Tensor) -> Tensor:
        if self.limit is None:
            return z
        beyond = (z.abs() - self.limit).clamp(min=0)
        return z.clamp(-self.limit, self.limit) + z.sign() * beyond.log1p()


@FEATURES.register("proportions")
class Proportions(Features):
    r""":math:`x / \sum_v x_v`: what share of a row's total each column has; an empty row stays empty."""

    def check(self, spec: DataSpec) -> None:
        """Refuse negative values."""
        _require_counts(spec, "shares of a row's total")

    def forward(self, x: Rows) -> Rows:
        """Return the shares."""
        x = as_numbers(x)
        return _divided(x, _values(x).sum(-1, keepdim=True))


@FEATURES.register("unit-length")
class UnitLength(Features):
    r""":math:`x / \lVert x \rVert_2`; an empty row stays empty."""

    def forward(self, x: Rows) -> Rows:
        """Return rows of length 1."""
        x = as_numbers(x)
        return _divided(x, torch.linalg.vector_norm(_values(x), dim=-1, keepdim=True))


@FEATURES.register("tf-idf")
class TfIdf(UnitLength):
    r"""Counts weighted by how rare their columns are, then rows of length 1.

    .. math:: \tilde x_v = x_v \log(D / d_v) \qquad\text{or, smooth,}\qquad
        \tilde x_v = x_v \Big(1 + \log\frac{1 + D}{1 + d_v}\Big)

    with :math:`d_v` of the :math:`D` training rows not 0 in column v. The first is that of Krishnan et al. (2018), the
    second that of their code and of scikit-learn; columns are weighted by it, too, where every row has all of them. A
    column that no training row has, such as that of unknown words, tells nothing and weighs nothing.

    Parameters
    ----------
    n_columns
        Width of the rows.
    smooth
        Which of the two.
    """

    idf: Tensor

    def __init__(self, n_columns: int, smooth: bool = False) -> None:
        super().__init__()
        self.n_columns = n_columns
        self.smooth = truth("smooth", smooth)
        self.register_buffer("idf", torch.ones(n_columns))

    def fit(self, moments: ColumnMoments) -> None:
        """Weigh the columns by the training rows."""
        n_with = moments.present.double() * moments.n_rows
        smooth = 1 + torch.log((1 + moments.n_rows) / (1 + n_with))
        plain = torch.log(moments.n_rows / n_with.clamp(min=1))
        is_seen = n_with > 0
        takes_smooth = self.smooth or not bool((plain[is_seen] > 0).any())
        self.idf.copy_(torch.where(is_seen, smooth if takes_smooth else plain, 0.0))

    def forward(self, x: Rows) -> Rows:
        """Return weighted rows of length 1."""
        x = as_numbers(x)
        if isinstance(x, Ragged):
            return super().forward(x._replace(values=x.values * self.idf[x.indices]))
        return super().forward(Dense(x.x * self.idf))


def _require_counts(spec: DataSpec, read: str) -> None:
    if spec.minimum < 0:
        raise InvalidInputError(
            f"The data hold negative values (minimum {spec.minimum:g}), and the encoder reads {read}; give rows from 0 "
            f"up."
        )


def _values(x: Dense | Ragged) -> Tensor:
    return x.values if isinstance(x, Ragged) else x.x


def _divided(x: Dense | Ragged, by: Tensor) -> Rows:
    values = _values(x) / torch.where(by == 0, 1.0, by)
    return x._replace(values=values) if isinstance(x, Ragged) else Dense(values)
