"""Two bodies that read the same rows."""

from __future__ import annotations

import torch
from torch import Tensor

from fewhot.core.parts import Part
from fewhot.core.records import Rows
from fewhot.core.registry import BODIES


@BODIES.register("twin")
class Twin(Part):
    """Two networks on the same rows, their outputs side by side: (B, n_in) -> (B, first.n_out + second.n_out)."""

    def __init__(self, first: Part, second: Part) -> None:
        super().__init__()
        self.first = first
        self.second = second

    @property
    def n_out(self) -> int:
        """Width of both outputs together."""
        return self.first.n_out + self.second.n_out  # pyright: ignore[reportReturnType, reportOperatorIssue]

    def forward(self, x: Rows) -> Tensor:
        """Return the features of each row."""
        return torch.cat([self.first(x), self.second(x)], dim=-1)
