"""A network whose outputs see only what comes before them."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Autoregression(nn.Module):
    r"""Output j is a function of inputs 1, ..., j - 1: (..., n) -> ``n_outputs`` times (..., n), zero to begin with.

    Hidden unit k may see the first :math:`m_k` inputs, and output j may see it where :math:`m_k < j`; the other weights
    are masked, so one pass gives all outputs. The :math:`m_k` are spread evenly over 1, ..., n - 1.

    References
    ----------
    Germain, Gregor, Murray and Larochelle (2015), MADE: masked autoencoder for distribution estimation.
    """

    before_hidden: Tensor
    before_output: Tensor

    def __init__(self, n: int, n_hidden: int, n_outputs: int = 1) -> None:
        super().__init__()
        reach = 1 + torch.arange(n_hidden) * (n - 1) // n_hidden
        place = torch.arange(1, n + 1)
        self.register_buffer("before_hidden", place[None] <= reach[:, None], persistent=False)
        self.register_buffer("before_output", reach[None] < place.repeat(n_outputs)[:, None], persistent=False)
        self.n_outputs = n_outputs
        self.first = nn.Linear(n, n_hidden)
        self.last = nn.Linear(n_hidden, n_outputs * n, bias=False)
        nn.init.zeros_(self.last.weight)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """Apply both layers."""
        hidden = F.relu(F.linear(x, self.first.weight * self.before_hidden, self.first.bias))
        return F.linear(hidden, self.last.weight * self.before_output).chunk(self.n_outputs, dim=-1)
