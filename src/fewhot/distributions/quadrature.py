"""Two rules of numerical integration, for the moments that have no closed form."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

LOGISTIC_RANGE = 40.0
LOGISTIC_POINTS = 1601
LEGENDRE_POINTS = 64

_NODES, _WEIGHTS = (rule.tolist() for rule in np.polynomial.legendre.leggauss(LEGENDRE_POINTS))


def logistic_expectation(function: Callable[[Tensor], Tensor], like: Tensor) -> Tensor:
    r"""Average a function of a standard logistic variable, by the trapezoid rule on its last axis.

    .. math:: \mathbb{E}[f(L)] = \int f(l)\,\sigma(l)\,\sigma(-l)\,\mathrm{d}l

    The integrand is smooth and its tails vanish, so the error falls exponentially with the number of points: a
    function with a kink of width :math:`\tau` is exact to double precision for :math:`\tau \ge 0.1`, to 1e-8 at
    0.05. ``like`` gives the precision and the device of the points, which are passed as one vector.

    >>> round(logistic_expectation(torch.square, torch.zeros(())).item(), 4)  # pi^2 / 3
    3.2899
    """
    points = torch.linspace(-LOGISTIC_RANGE, LOGISTIC_RANGE, LOGISTIC_POINTS, dtype=like.dtype, device=like.device)
    density = torch.exp(logsigmoid(points) + logsigmoid(-points))
    step = 2 * LOGISTIC_RANGE / (LOGISTIC_POINTS - 1)
    return step * (density * function(points)).sum(-1)


def softplus_tail(x: Tensor) -> Tensor:
    r"""Integral of the part of softplus that is not its ramp, for ``x`` of at least zero.

    .. math:: F(x) = \int_0^x \log(1 + e^{-t})\,\mathrm{d}t, \qquad F(\infty) = \pi^2/12

    By the Gauss-Legendre rule on :math:`[0, \min(x, 40)]`, one node at a time to keep memory small.
    """
    end = x.clamp(max=LOGISTIC_RANGE)
    total = torch.zeros_like(x)
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        total = total + 0.5 * weight * torch.log1p(torch.exp(-0.5 * (node + 1) * end))
    return end * total
