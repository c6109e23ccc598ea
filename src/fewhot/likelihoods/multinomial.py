"""Multinomial likelihood: how a row's total spreads over the columns."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from fewhot.core.checks import truth
from fewhot.core.records import ColumnMoments, DataSpec, Ragged, Rows, as_numbers
from fewhot.core.registry import LIKELIHOODS
from fewhot.likelihoods.counts import CountLikelihood
from fewhot.likelihoods.rows import columns_at


@LIKELIHOODS.register("multinomial")
class MultinomialLikelihood(CountLikelihood):
    r"""The decoder emits a score a column; the row's total is taken as given.

    .. math:: \log p(x \mid z) = \sum_v x_v \log \mathrm{softmax}(f(z))_v

    The base measure :math:`\log\big((\sum_v x_v)! / \prod_v x_v!\big)` is dropped: it does not depend on the model,
    so differences between models of the same rows are exact, but exp of this number is no probability of counts.

    Parameters
    ----------
    n_columns
        Width D of the rows.
    fractional
        Whether rows may hold fractions, as weights of what users like do, and not counts alone.

    Attributes
    ----------
    total
        Buffer (): mean row total of the training rows; 1 until `fit`.
    """

    total: Tensor

    def __init__(self, n_columns: int, fractional: bool = False) -> None:
        super().__init__(n_columns)
        self.fractional = truth("fractional", fractional)
        self.register_buffer("total", torch.ones(()))

    def check(self, spec: DataSpec) -> None:
        """Refuse negative values, and fractions unless they are weights."""
        super().check(replace(spec, integral=True) if self.fractional and spec.minimum >= 0 else spec)

    def rows(self, out: Tensor) -> MultinomialRows:
        """Return p(x | z) from scores (..., B, D)."""
        return MultinomialRows(out.log_softmax(-1), self.total)

    def fit(self, moments: ColumnMoments) -> None:
        """Keep the mean row total."""
        self.total.fill_(moments.row_total)

    def describe(self, spec: DataSpec) -> str:
        """Name the family and what it leaves out."""
        return "multinomial counts given the row total, base measure dropped"


@dataclass(frozen=True, slots=True)
class MultinomialRows:
    """p(x | z, total) over whole rows.

    Parameters
    ----------
    log_probs
        Log proportions (..., B, D).
    total
        Row total () assumed by `mean` and `sample`; `log_prob` uses each row's own.
    """

    log_probs: Tensor
    total: Tensor

    def log_prob(self, x: Rows) -> Tensor:
        """Return the log probability of each row without its base measure, (..., B); empty rows give 0."""
        x = as_numbers(x)
        if isinstance(x, Ragged):
            return (x.values.float() * columns_at(self.log_probs, x.indices)).sum(-1)
        return (x.x.float() * self.log_probs).sum(-1)

    @property
    def mean(self) -> Tensor:
        """Expected rows, (..., B, D)."""
        return self.total * self.log_probs.exp()

    @torch.no_grad()
    def sample(self, generator: torch.Generator | None = None) -> Tensor:
        """Drawn rows (..., B, D), each of the whole number of counts nearest to ``total``; above 0, of at least one."""
        total = self.total.item()  # a host read: draws of counts are made outside captured steps
        if total == 0:
            return torch.zeros_like(self.log_probs)
        n_counts = max(1, round(total))
        probs = self.log_probs.exp().flatten(0, -2)
        columns = torch.multinomial(probs, n_counts, replacement=True, generator=generator)  # (rows, N)
        counts = torch.zeros_like(probs).scatter_add(1, columns, torch.ones_like(columns, dtype=probs.dtype))
        return counts.view_as(self.log_probs)
