"""What every latent family promises."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.distributions import Distribution, kl_divergence

from fewhot.core.parts import Part
from fewhot.core.records import Draw, Knobs, Noise, Params


class CodeSummary(NamedTuple):
    """A posterior as codes: values and variances of the units when on, and the logit of being on (gated families).

    Families whose units do not decide one by one say more: by how much each unit is in the map code, which has those
    of positive ``margins``, and the expected code.
    """

    values: Tensor  # (B, K)
    variance: Tensor  # (B, K)
    logits: Tensor | None = None  # (B, K)
    margins: Tensor | None = None  # (B, K)
    expected: Tensor | None = None  # (B, K)

    @property
    def active(self) -> Tensor:
        """Which units the map code keeps: on-probability above one half; all of them without gates."""
        margins = self.logits if self.margins is None else self.margins
        return torch.ones_like(self.values, dtype=torch.bool) if margins is None else margins > 0

    @property
    def mean(self) -> Tensor:
        """The expected code: dense."""
        if self.expected is not None:
            return self.expected
        return self.values if self.logits is None else self.logits.sigmoid() * self.values


class Latent(Part):
    """A family of posteriors q(z | psi).

    A subclass defines `psi`, `posterior`, `noise`, `draw` and `summary`. `divergence` uses the closed form where
    torch's registry has one and a one-draw estimate where it has none, so a family works before its algebra is done.
    """

    n_latent: int
    gated: bool = False
    refinable: tuple[str, ...] = ()
    """The entries of psi that refinement may move; the others are held fixed."""

    def psi(self, h: Tensor) -> Params:
        """Return the local parameters of each row from its features (B, H)."""
        raise TypeError(f"{type(self).__name__} does not say its local parameters; define psi(h).")

    def posterior(self, psi: Params, knobs: Knobs) -> Distribution:
        """Return q(z | psi), batch shape (B, K)."""
        raise TypeError(f"{type(self).__name__} does not say its posterior; define posterior(psi, knobs).")

    def noise(self, n_rows: int, generator: torch.Generator) -> Noise:
        """Return the random numbers one draw needs; ``n_rows=1`` gives noise that all rows share."""
        raise TypeError(f"{type(self).__name__} does not say its noise; define noise(n_rows, generator).")

    def bank(self, n: int, generator: torch.Generator) -> list[Noise]:
        """Return ``n`` draws' noise that all rows share, for evaluation; a family that can stratify it does."""
        return [self.noise(1, generator) for _ in range(n)]

    def training_bank(self, n: int, generator: torch.Generator) -> list[Noise]:
        """Return ``n`` draws' noise that all rows share, of which draws as in training can be made, too."""
        return self.bank(n, generator)

    def draw(self, q: Distribution, noise: Noise) -> Draw:
        """Return one draw, reparametrised; noise of shape (S, 1, K) or (S, B, K) gives S draws at once."""
        raise TypeError(f"{type(self).__name__} does not say how to draw; define draw(q, noise).")

    def summary(self, psi: Params) -> CodeSummary:
        """Return the posterior as codes."""
        raise TypeError(f"{type(self).__name__} does not say its codes; define summary(psi).")

    def shift_gates(self, shift: float) -> None:
        """Add ``shift`` to the logit of every gate."""
        raise TypeError(f"{type(self).__name__} does not say how to shift its gates; define shift_gates(shift).")

    def divergence(self, q: Distribution, p: Distribution, draw: Draw) -> Params:
        """Return the named parts of KL(q || p), each (..., B)."""
        try:
            return {"kl": kl_divergence(q, p).sum(-1)}
        except NotImplementedError:
            return {"kl": self.log_ratio(q, p, draw)}

    def log_prob(self, q: Distribution, draw: Draw) -> Tensor:
        """Return log q(z) of what was drawn, (..., B)."""
        log_q = q.log_prob(draw.z)
        return log_q if q.event_shape else log_q.sum(-1)

    def log_ratio(self, q: Distribution, p: Distribution, draw: Draw) -> Tensor:
        """Return log q(z) - log p(z) of a draw, (..., B); a prior's law is of single units or of whole codes."""
        log_p = p.log_prob(draw.z)
        if p.event_shape or q.event_shape:
            return self.log_prob(q, draw) - (log_p if p.event_shape else log_p.sum(-1))
        return (q.log_prob(draw.z) - log_p).sum(-1)
