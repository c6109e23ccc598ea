"""Rows whose columns are independent: one torch distribution a column, dense and ragged batches alike."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.distributions import Distribution

from fewhot.core.records import Params, Ragged, Rows, as_numbers

Build = Callable[[Params], Distribution]
Draw = Callable[[Params, torch.Generator | None], Tensor]


class ElementwiseRows:
    r"""p(x | z) as a product over columns.

    A ragged row stores its non-zero entries only; with :math:`\mathcal{N}` the columns it stores,

    .. math:: \log p(x) = \sum_d \log p_d(0) + \sum_{d \in \mathcal{N}} \big[\log p_d(x_d) - \log p_d(0)\big]

    so padding, being zero, adds exactly nothing.

    Parameters
    ----------
    params
        Parameters of the columns by name, broadcastable to (..., B, D).
    build
        From parameters to a torch distribution, unvalidated, with one element a column.
    draw
        From parameters and a generator to a draw of the same shape.
    """

    def __init__(self, params: Params, build: Build, draw: Draw) -> None:
        self.params = dict(zip(params, torch.broadcast_tensors(*params.values()), strict=True))
        self.build = build
        self.draw = draw

    def log_prob(self, x: Rows) -> Tensor:
        """Return the log density of each row, (..., B)."""
        x = as_numbers(x)
        if isinstance(x, Ragged):
            return self._log_prob_ragged(x)
        return self.build(self.params).log_prob(x.x.float()).sum(-1)

    def _log_prob_ragged(self, x: Ragged) -> Tensor:
        values = x.values.float()
        zero = values.new_zeros(())
        at_zero = self.build(self.params).log_prob(zero).sum(-1)  # (..., B)
        stored = self.build({name: columns_at(p, x.indices) for name, p in self.params.items()})
        gain = stored.log_prob(values) - stored.log_prob(zero)  # (..., B, M)
        gain = torch.where(values != 0, gain, zero)  # a compiler may round the two terms differently
        return at_zero + gain.sum(-1)

    @property
    def mean(self) -> Tensor:
        """Expected rows, (..., B, D)."""
        return self.build(self.params).mean

    @torch.no_grad()
    def sample(self, generator: torch.Generator | None = None) -> Tensor:
        """Drawn rows, (..., B, D)."""
        return self.draw(self.params, generator)


def columns_at(table: Tensor, indices: Tensor) -> Tensor:
    """Return the entries of ``table`` (..., B, D) at the columns ``indices`` (B, M) of each row: (..., B, M).

    >>> columns_at(torch.tensor([[10.0, 11.0, 12.0]]), torch.tensor([[2, 0]])).tolist()
    [[12.0, 10.0]]
    """
    lead = torch.broadcast_shapes(table.shape[:-1], indices.shape[:-1])
    return table.expand(*lead, table.shape[-1]).gather(-1, indices.expand(*lead, indices.shape[-1]))
