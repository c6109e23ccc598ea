"""The divergence from a mixture of pseudo-inputs, bounded in three ways."""

from __future__ import annotations

import torch
from torch import Tensor

from fewhot.core.checks import one_of, real_number
from fewhot.core.clipping import clip_keeping_gradient
from fewhot.core.records import ColumnMoments, Knobs, Params, Pass, Rows, Terms
from fewhot.core.registry import TERMS
from fewhot.distributions import SpikeSlab, SpikeSlabMixture, bernoulli_kl, choice_kl
from fewhot.features.transforms import Features
from fewhot.nn import RowsLinear
from fewhot.objectives.objective import Term
from fewhot.objectives.selection import RULES, one_hot

BOUNDS = ("mixture", "corrected", "paper")
_RATES = (1e-6, 1 - 1e-6)


@TERMS.register("pseudo-input-kl")
class PseudoInputKL(Term):
    r"""What a code costs under a mixture of pseudo-inputs, and how dense their codes may be.

    .. math:: \sum_u w_u\,\mathrm{KL}(q\,\|\,p_u) \;+\; \mathrm{KL}(w\,\|\,\mathrm{uniform})
        \;+\; K\,B(\bar\gamma\,\|\,\alpha), \qquad \bar\gamma = \tfrac{1}{K}\sum_{u,j} w_u \gamma_{uj}

    - ``"mixture"`` takes the weights that make the first two terms smallest: see `mixture_kl_bound`. It has no
      selection network, and is what every bound reports, whatever was trained.
    - ``"corrected"`` takes the weights of a selection network that reads the row: a bound too, and never a tighter one.
    - ``"paper"`` leaves the second term out, as published: no bound, by at most :math:`\log U`.

    The third term, with :math:`\gamma_{uj}` the on-rates of the mixture, is no part of any bound. Where gates are
    exact, a selection network chooses exactly: all weight on the largest.

    Parameters
    ----------
    features
        What the selection network reads of a row.
    n_columns, n_pseudo_inputs
        Width of the rows, number of components.
    bound
        Which of the three is trained.
    selection
        How scores become weights: "softmax", "relu" (as printed, made safe) or "sigmoid" (the authors' code).
    alpha
        The mean on-rate of the pseudo-inputs' codes; None leaves the third term out.

    References
    ----------
    Tonolini, Jensen and Murray-Smith (2019), Variational sparse coding, supplement.
    """

    def __init__(
        self,
        features: Features,
        n_columns: int,
        n_pseudo_inputs: int,
        bound: str = "corrected",
        selection: str = "softmax",
        alpha: float | None = None,
    ) -> None:
        super().__init__()
        self.features = features
        self.n_columns = n_columns
        self.n_pseudo_inputs = n_pseudo_inputs
        self.bound = one_of("bound", bound, BOUNDS)
        self.selection = one_of("selection", selection, tuple(RULES))
        self.alpha = None if alpha is None else real_number("alpha", alpha, low=1e-6, high=1 - 1e-6)
        self.weighted = bound != "mixture" or alpha is not None
        self.scores = None if bound == "mixture" else RowsLinear(n_columns, n_pseudo_inputs)

    def fit(self, moments: ColumnMoments) -> None:
        """Fit what the selection network reads."""
        self.features.fit(moments)

    def forward(self, result: Pass, divergence: Params, knobs: Knobs) -> Terms:
        """Return the trained bound as the loss, and all three by name."""
        assert isinstance(result.q, SpikeSlab)
        assert isinstance(result.p, SpikeSlabMixture)
        total = torch.stack(tuple(divergence.values())).sum(0)  # (B,)
        kl = torch.stack(result.p.component_kl(result.q)).sum(0)  # (B, U)
        log_weights = self.log_weights(result.batch.x, kl, exact=knobs.gates == "exact")  # (B, U)
        weights = log_weights.exp()
        paper = (weights * kl).sum(-1)
        corrected = paper + choice_kl(log_weights)
        trained = {"mixture": total, "corrected": corrected, "paper": paper}[self.bound]
        loss = knobs.get("kl_weight", 1.0) * trained.mean()
        terms = Terms(-total, loss, {**divergence, "kl_corrected": corrected, "kl_paper": paper})
        return terms if self.alpha is None else terms + self._sparsity(result.p, weights, self.alpha)

    def log_weights(self, x: Rows, kl: Tensor, *, exact: bool) -> Tensor:
        """Return the log weights of the selection network, or the best ones, (B, U)."""
        if self.scores is None:
            return torch.log_softmax(-kl, dim=-1)
        log_weights = RULES[self.selection](self.scores(self.features(x)).float())
        return one_hot(log_weights) if exact else log_weights

    def _sparsity(self, p: SpikeSlabMixture, weights: Tensor, alpha: float) -> Terms:
        """Return the cost of aggregate rates away from ``alpha``: each row's is that of what it selects."""
        rates = p.components.probs  # (U, K)
        rate = (weights * rates.mean(-1)).sum(-1)  # (B,)
        wanted = torch.logit(torch.full_like(rate, alpha))
        cost = rates.shape[-1] * bernoulli_kl(torch.logit(clip_keeping_gradient(rate, *_RATES)), wanted)
        return Terms(cost.new_zeros(()), cost.mean(), {"prior_sparsity": cost})
