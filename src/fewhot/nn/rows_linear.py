"""The first layer of an encoder: a linear map of dense or sparse rows."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fewhot.core.parts import Part
from fewhot.core.records import Ragged, Rows
from fewhot.core.registry import BODIES


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
        if isinstance(x, Ragged):
            weighted = F.embedding_bag(x.indices, self.weight, per_sample_weights=x.values, mode="sum")
            return weighted + self.bias
        return torch.addmm(self.bias, x.x, self.weight)
