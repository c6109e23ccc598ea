r"""Selection rules: from a score for each pseudo-input to weights that add up to one.

All work on log weights (..., U), finite for all scores. The published rule is :math:`u` normalised to sum 1, then
:math:`w_u = \sigma(a(u_u - b))` with a = 60 and b = 1/2. As printed it divides 0 by 0 where no score is positive, and
with U = 20 nearly equal scores every weight is about 1e-12, so that the divergence vanishes and nothing is learned:
hence the small constant, and weights that are normalised once more, in log space.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

SLOPE, THRESHOLD = 60.0, 0.5
_SMALLEST_SCORE = 1e-6


def softmax_rule(scores: Tensor) -> Tensor:
    r"""Return :math:`\log\mathrm{softmax}_u \log\sigma(a(u_u - b))` with :math:`u = \mathrm{softmax}(v)`."""
    return _sharpened(scores.softmax(-1))


def relu_rule(scores: Tensor) -> Tensor:
    r"""Return the same with :math:`u \propto \mathrm{ReLU}(v)`, as printed, equal where no score is positive."""
    positive = F.relu(scores) + _SMALLEST_SCORE
    return _sharpened(positive / positive.sum(-1, keepdim=True))


def sigmoid_rule(scores: Tensor) -> Tensor:
    r"""Return the log of :math:`w \propto \sigma(v)`, the rule of the authors' code: no sharpening."""
    return torch.log_softmax(F.logsigmoid(scores), dim=-1)


RULES: dict[str, Callable[[Tensor], Tensor]] = {"softmax": softmax_rule, "relu": relu_rule, "sigmoid": sigmoid_rule}


def one_hot(log_weights: Tensor) -> Tensor:
    """Return log weights that are all on the largest: 0 there, and as low as floats go elsewhere."""
    chosen = F.one_hot(log_weights.argmax(-1), log_weights.shape[-1]) > 0
    return torch.where(chosen, 0.0, torch.finfo(log_weights.dtype).min)


def _sharpened(u: Tensor) -> Tensor:
    return torch.log_softmax(F.logsigmoid(SLOPE * (u - THRESHOLD)), dim=-1)
