"""Total correlation: how far the units of the aggregate posterior are from independent."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from fewhot.core.checks import one_of, real_number, whole_number
from fewhot.core.records import Knobs, Params, Pass, Terms
from fewhot.core.registry import TERMS
from fewhot.distributions import Gaussian
from fewhot.objectives.objective import Term

SAMPLINGS = ("stratified", "weighted")


@TERMS.register("total-correlation")
class TotalCorrelation(Term):
    r"""A weight on the total correlation of :math:`q(z) = \frac{1}{N}\sum_n q(z|x_n)`, beyond the 1 it has in the KL.

    .. math:: \mathrm{KL} = \underbrace{\mathbb{E}\log\tfrac{q(z|x)}{q(z)}}_{\mathrm{MI}}
        + \underbrace{\mathbb{E}\log\tfrac{q(z)}{\prod_j q(z_j)}}_{\mathrm{TC}}
        + \underbrace{\mathbb{E}\log\tfrac{\prod_j q(z_j)}{p(z)}}_{\mathrm{DWKL}}, \qquad
        \text{loss} = w\,\mathrm{TC}

    With the whole KL in closed form beside it and :math:`w = \beta - 1`, the sum is :math:`\mathrm{MI} +
    \beta\,\mathrm{TC} + \mathrm{DWKL}`; the two other parts need no estimate.

    Parameters
    ----------
    n_rows
        Number N of training rows.
    weight
        The weight w.
    sampling
        How a batch stands for all rows: ``"stratified"`` weights are unbiased for :math:`q(z)`; ``"weighted"`` ones
        add a constant of order :math:`(K-1) \log N`.

    References
    ----------
    Chen et al. (2018), Isolating Sources of Disentanglement in VAEs.
    """

    whole_batch = True

    def __init__(self, n_rows: int, weight: float = 5.0, sampling: str = "stratified") -> None:
        super().__init__()
        self.n_rows = whole_number("n_rows", n_rows)
        self.weight = real_number("weight", weight, low=-1)
        self.sampling = one_of("sampling", sampling, SAMPLINGS)

    def forward(self, result: Pass, divergence: Params, knobs: Knobs) -> Terms:
        """Return the estimate from this batch; 0 for a single row."""
        assert isinstance(result.q, Gaussian)
        log_joint, log_marginals = self.log_aggregate(result.draw.one_a_row, result.q)
        total = (log_joint - log_marginals.sum(-1)).mean()
        return Terms(total.new_zeros(()), self.weight * total, per_batch={"total_correlation": total})

    def log_aggregate(self, z: Tensor, q: Gaussian) -> tuple[Tensor, Tensor]:
        """Return estimates of log q(z), (B,), and of each unit's log q(z_j), (B, K), at the draws z (B, K)."""
        peak = -q.scale.log() - 0.5 * math.log(2 * math.pi)
        density = peak - ((z[:, None] - q.loc) * (math.sqrt(0.5) / q.scale)).square()  # (B, B, K): row i under row j
        weights = self.log_weights(len(z), z)  # (B, B)
        joint = torch.logsumexp(weights + density.sum(-1), dim=1)
        return joint, torch.logsumexp(weights[..., None] + density, dim=1)

    def log_weights(self, n: int, like: Tensor) -> Tensor:
        """Return the log weight of batch row j in the aggregate at a draw of row i, (n, n).

        Stratified: a draw's own row counts 1/N, as it does among all rows; the n - 1 others stand for the rest.
        """
        if self.sampling == "weighted" or n == 1:
            return like.new_full((n, n), -math.log(n * self.n_rows) if self.sampling == "weighted" else 0.0)
        others = n - 1
        rows = torch.arange(n, device=like.device)
        weights = like.new_full((n, n), 1 / others)
        correction = (self.n_rows - others) / (self.n_rows * others)
        following = (rows + 1) % n
        weights = torch.where(rows[None] == following[:, None], max(correction, 1e-12), weights)
        return torch.where(rows[None] == rows[:, None], 1 / self.n_rows, weights).log()
