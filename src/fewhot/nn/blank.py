"""A body that reads nothing."""

from __future__ import annotations

from torch import Tensor

from fewhot.core.parts import Part
from fewhot.core.records import Ragged, Rows, as_numbers
from fewhot.core.registry import BODIES


@BODIES.register("blank")
class Blank(Part):
    """Zeros for every row, (B, n_out): in the place of an encoder where there is none."""

    def __init__(self, n_out: int) -> None:
        super().__init__()
        self.n_out = n_out

    def forward(self, x: Rows) -> Tensor:
        """Return zeros."""
        x = as_numbers(x)
        values = x.values if isinstance(x, Ragged) else x.x
        return values.new_zeros(x.n_rows, self.n_out)
