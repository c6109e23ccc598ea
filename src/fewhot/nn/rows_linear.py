"""The first layer of an encoder: a linear map of dense or sparse rows."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fewhot.core.parts import Part
from fewhot.core.records import Ragged, Rows, as_numbers
from fewhot.core.registry import BODIES

LARGEST_DENSE = 2**27
"""Elements of the largest batch that is made dense on a GPU: 512 MiB."""
DENSE_COLUMNS_AN_ENTRY = 128
"""How many columns of a dense product a GPU goes through in the time of one entry of a padded sparse one."""


@BODIES.register("rows-linear")
class RowsLinear(Part):
    r""":math:`h = xW + b`; sparse rows touch only the rows of :math:`W` at their entries."""

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__()
        self.n_in = n_in
        self.n_out = n_out
        bound = 1 / math.sqrt(n_in)  # as torch.nn.Linear, whose weight is the transpose
        self.weight = nn.Parameter(torch.empty(n_in, n_out).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(n_out).uniform_(-bound, bound))

    def forward(self, x: Rows) -> Tensor:
        """Return (B, n_out)."""
        x = as_numbers(x)
        if isinstance(x, Ragged):
            return self.bias + _of_entries(x, self.weight)
        return torch.addmm(self.bias, x.x, self.weight)


def _of_entries(x: Ragged, weight: Tensor) -> Tensor:
    """Return the product of sparse rows and a matrix, (B, n_out), in the way that is cheapest where they are.

    A CPU goes through the entries that are there, whose number differs from batch to batch. Captured steps have one
    shape, padding included, and a row much longer than the others makes most of it padding: a dense batch is then
    the smaller matter for a GPU, unless the rows are very wide.
    """
    if x.values.device.type == "cpu":
        return _product_of_present(x, weight)
    if x.n_rows * x.n_columns <= LARGEST_DENSE and x.n_columns <= DENSE_COLUMNS_AN_ENTRY * x.values.shape[1]:
        return x.dense() @ weight
    return F.embedding_bag(x.indices, weight, per_sample_weights=x.values, mode="sum")


def _product_of_present(x: Ragged, weight: Tensor) -> Tensor:
    """Return the product of sparse rows and a matrix from the entries that are not 0."""
    present = x.values != 0
    ends = present.sum(-1).cumsum(0)
    offsets = F.pad(ends[:-1], (1, 0)) if len(ends) else ends
    return F.embedding_bag(x.indices[present], weight, offsets, per_sample_weights=x.values[present], mode="sum")
