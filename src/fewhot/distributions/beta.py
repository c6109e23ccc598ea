"""Beta laws with their noise in the open, drawn on the scale of log odds."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.distributions import Normal
from torch.nn import functional as F

_NEWTON_STEPS = 12
_LARGEST_STEP = 2.0
_EDGE = 1e-7


def log_odds_draw(a: Tensor, b: Tensor, first: Tensor, second: Tensor) -> Tensor:
    r"""Return :math:`\log\frac{v}{1-v}` of :math:`v \sim \mathrm{Beta}(a, b)`, with gradients to a and b.

    ``first`` and ``second`` are uniform numbers of the shape of the draw. Two Gamma draws make a Beta draw,
    :math:`v = G_a / (G_a + G_b)`, and their logs make its log odds: v itself would round to 0 or 1, where nothing has a
    gradient.
    """
    return log_gamma_draw(a, first) - log_gamma_draw(b, second)


def log_odds_log_prob(odds: Tensor, a: Tensor, b: Tensor) -> Tensor:
    r"""Log density of the log odds of :math:`v \sim \mathrm{Beta}(a, b)`: :math:`\log v^a (1-v)^b - \ln B(a, b)`."""
    return a * F.logsigmoid(odds) + b * F.logsigmoid(-odds) - _log_beta(a, b)


def log_gamma_draw(a: Tensor, uniform: Tensor) -> Tensor:
    r"""Return :math:`\log G` of :math:`G \sim \mathrm{Gamma}(a, 1)`: the quantile of a uniform number.

    The value is found by Newton steps on :math:`F(g; a) = u` in :math:`\log g`, in double precision; the gradient is
    the implicit one, :math:`\partial g/\partial a = -\partial_a F / f`. Good to ten digits for a from 0.5 up; below,
    to two digits in the far tails.
    """
    whole = np.broadcast_shapes(a.shape, uniform.shape)
    with torch.no_grad():
        shape = a.expand(whole).double()
        u = uniform.expand(whole).double().clamp(_EDGE, 1 - _EDGE)
        log_g = _start(shape, u)
        constant = torch.lgamma(shape)
        for _ in range(_NEWTON_STEPS):
            g = log_g.exp()
            slope = (shape * log_g - g - constant).exp()  # of F along log g
            step = (torch.igamma(shape, g) - u) / slope.clamp(min=1e-300)
            log_g = log_g - step.clamp(-_LARGEST_STEP, _LARGEST_STEP)
        g = log_g.exp()
        rate = torch._standard_gamma_grad(shape, g) / g  # pyright: ignore[reportPrivateUsage, reportPrivateImportUsage]
    return log_g.to(a.dtype) + rate.to(a.dtype) * (a - a.detach())


def _start(a: Tensor, u: Tensor) -> Tensor:
    """Return a first guess of the log quantile: the lower tail's power law, or Wilson and Hilferty's cube."""
    tail = (u.log() + torch.lgamma(a + 1)) / a
    z = Normal(u.new_zeros(()), u.new_ones(()), validate_args=False).icdf(u)
    cube = 1 - 1 / (9 * a) + z / (3 * a.sqrt())
    middle = a.log() + 3 * cube.clamp(min=1e-3).log()
    return torch.where((cube < 0.1) | (a < 0.5), torch.minimum(tail, a.clamp(min=1.0).log() + 1.0), middle)


def beta_kl(a: Tensor, b: Tensor, a0: Tensor, b0: Tensor) -> Tensor:
    r"""Divergence of two Beta laws, elementwise.

    .. math:: \ln\frac{B(a_0,b_0)}{B(a,b)} + (a-a_0)\,\psi(a) + (b-b_0)\,\psi(b) + (a_0-a+b_0-b)\,\psi(a+b)

    >>> import math
    >>> one, other = torch.tensor([2.0, 3.0]), torch.tensor([4.0, 1.0])
    >>> round(float(beta_kl(one[0], one[1], other[0], other[1])), 6) == round(1 + math.log(3), 6)
    True
    """
    digamma = torch.digamma
    return (
        (_log_beta(a0, b0) - _log_beta(a, b))
        + (a - a0) * digamma(a)
        + (b - b0) * digamma(b)
        + (a0 - a + b0 - b) * digamma(a + b)
    )


def _log_beta(a: Tensor, b: Tensor) -> Tensor:
    return torch.lgamma(a) + torch.lgamma(b) - torch.lgamma(a + b)
