r"""Procedures for discrete codes that need no relaxation: gradients through the probability of what was drawn.

Draws are exact. The model learns from :math:`\log p(x|z)` as it is, the divergence is differentiated in closed form,
and the encoder learns from :math:`\mathbb{E}_q[f\,\nabla\log q(z|x)]` with :math:`f = \log p(x|z)` less something that
does not change the mean and lowers the variance.
"""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor

from fewhot.core.checks import truth, whole_number
from fewhot.core.records import Batch, Knobs, Noise, Params, Terms
from fewhot.core.registry import INFERENCES
from fewhot.inference.base import Inference
from fewhot.inference.phases import Model, Phase, with_draws


class ExactDraws(Inference):
    """What these procedures share: one phase, on exact draws."""

    n_draws: int = 1

    def phases(self, model: Model, stage: int = 0) -> list[Phase]:
        """Return the single phase."""

        def loss(batch: Batch, knobs: Knobs, noise: Noise, memo: Params) -> Terms:
            seen = model.observe(batch, noise)
            psi = model.psi(seen, noise)
            return self.terms(model, psi, seen, knobs._replace(gates="exact"), noise)

        parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        return [Phase(name="joint", parameters=parameters, loss=loss, noise=partial(with_draws, model, self.n_draws))]

    def terms(self, model: Model, psi: Params, seen: Batch, knobs: Knobs, noise: Noise) -> Terms:
        """Return the objective with the surrogate whose gradient is the estimate."""
        raise TypeError(f"{type(self).__name__} does not say its estimate; define terms(model, psi, seen, ...).")


@INFERENCES.register("score-function")
class ScoreFunction(ExactDraws):
    r""":math:`(f - b(x))\,\nabla\log q(z|x)`, where b is what the term "baseline" learns to expect of f.

    With ``expand`` the first-order expansion of f around the mean code is taken from f, too, and its gradient, which
    has a closed form, is given back: MuProp. Several draws of every row's code are averaged.

    References
    ----------
    Williams (1992); Mnih and Gregor (2014); Gu, Levine, Sutskever and Mnih (2016) for MuProp.
    """

    def __init__(self, expand: bool = False, n_draws: int = 1) -> None:
        self.expand = truth("expand", expand)
        self.n_draws = whole_number("n_draws", n_draws)

    def terms(self, model: Model, psi: Params, seen: Batch, knobs: Knobs, noise: Noise) -> Terms:
        """Return the objective with the surrogate."""
        result = model.run(psi, seen, knobs, noise)
        terms = model.terms(result, knobs)
        signal = terms.per_example["reconstruction"].detach()
        given_back = torch.zeros_like(signal)
        if self.expand:
            value, slope, mean = _around_mean(model, psi, seen, knobs)
            signal = signal - value - (slope * (result.draw.z - mean.detach())).sum(-1)
            given_back = (slope * mean).sum(-1)
        if "baseline" in terms.per_example:
            signal = signal - terms.per_example["baseline"].detach()
        surrogate = signal * model.latent.log_prob(result.q, result.draw) + given_back
        return terms._replace(loss=terms.loss - surrogate.mean())


@INFERENCES.register("leave-one-out")
class LeaveOneOut(ExactDraws):
    r"""S draws, each judged by the mean of the others: :math:`(f_s - \bar f_{-s})\,\nabla\log q(z_s|x)`.

    References
    ----------
    Kool, van Hoof and Welling (2019).
    """

    def __init__(self, n_draws: int = 4) -> None:
        self.n_draws = whole_number("n_draws", n_draws, least=2)

    def terms(self, model: Model, psi: Params, seen: Batch, knobs: Knobs, noise: Noise) -> Terms:
        """Return the objective with the surrogate."""
        result = model.run(psi, seen, knobs, noise)
        terms = model.terms(result, knobs)
        f = terms.per_example["reconstruction"].detach()  # (S, B)
        others = (f.sum(0) - f) / (self.n_draws - 1)
        surrogate = (f - others) * model.latent.log_prob(result.q, result.draw)
        return terms._replace(loss=terms.loss - surrogate.mean())


@INFERENCES.register("vimco")
class VIMCO(ExactDraws):
    r"""The importance-weighted bound of S draws, each judged by what the bound would be without it.

    .. math:: \hat{L} = \log\tfrac1S\sum_s w_s, \qquad
        \sum_s (\hat{L} - \hat{L}_{-s})\,\nabla\log q(z_s|x) + \nabla \hat{L}

    where :math:`\hat{L}_{-s}` has the geometric mean of the other weights in the place of :math:`w_s`. Only the trained
    objective is the tighter bound; reported ones are of single draws.

    References
    ----------
    Mnih and Rezende (2016).
    """

    def __init__(self, n_draws: int = 4) -> None:
        self.n_draws = whole_number("n_draws", n_draws, least=2)

    def terms(self, model: Model, psi: Params, seen: Batch, knobs: Knobs, noise: Noise) -> Terms:
        """Return the objective with the surrogate."""
        result = model.run(psi, seen, knobs, noise)
        terms = model.terms(result, knobs)
        log_w = model.log_weight(result)  # (S, B)
        bound = torch.logsumexp(log_w, dim=0) - math.log(self.n_draws)
        signal = bound.detach() - _without_each(log_w.detach())
        surrogate = (signal * model.latent.log_prob(result.q, result.draw)).sum(0) + bound
        trained_before = -terms.bound.mean()  # what the terms' loss has of the bound of single draws
        return terms._replace(loss=terms.loss - trained_before - surrogate.mean())


def _around_mean(model: Model, psi: Params, seen: Batch, knobs: Knobs) -> tuple[Tensor, Tensor, Tensor]:
    """Return the value and slope of the log likelihood at the mean code, and that code with its gradient."""
    mean = model.posterior(psi, knobs).mean

    def likelihood(z: Tensor) -> tuple[Tensor, Tensor]:
        value = model.decoder.likelihood(z, seen).log_prob(seen.x)
        return value.sum(), value

    slope, value = torch.func.grad(likelihood, has_aux=True)(mean.detach())
    return value.detach(), slope.detach(), mean


def _without_each(log_w: Tensor) -> Tensor:
    """Return, for each draw, the bound with the geometric mean of the other weights in its place, (S, B)."""
    n = len(log_w)
    geometric = (log_w.sum(0) - log_w) / (n - 1)  # (S, B)
    own = torch.eye(n, dtype=torch.bool, device=log_w.device)[..., None]
    replaced = torch.where(own, geometric[:, None], log_w[None])  # (S left out, S, B)
    return torch.logsumexp(replaced, dim=1) - math.log(n)
