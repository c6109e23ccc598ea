"""Log-probabilities of words among all words of a vocabulary, without all scores in memory at once."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

MOST_SCORES = 2**28
"""How many scores are in memory at once: 1 GiB of them."""
ALIGNED = 8
"""On a GPU the number of words is rounded up to a multiple of this: tensor cores read nothing else at full speed."""


def word_log_probs(states: Tensor, weight: Tensor, bias: Tensor, words: Tensor) -> Tensor:
    r"""Return :math:`\log\mathrm{softmax}(Wh + b)_w` for each state h and its word w, (N,), in float32.

    Where the scores of all words would be too many, they are made for some states at a time, and made again for the
    gradient: the numbers are the same, and memory does not grow with the number of states.

    Parameters
    ----------
    states
        (N, H).
    weight, bias
        (V, H) and (V,).
    words
        Which of the V words, (N,).
    """
    if states.is_cuda:
        weight, bias = _aligned(weight, bias)
    n_at_once = max(1, MOST_SCORES // len(weight))
    if len(states) <= n_at_once:
        return _log_probs(states, weight, bias, words)
    parts = zip(states.split(n_at_once), words.split(n_at_once), strict=True)
    again = torch.is_grad_enabled()
    return torch.cat(
        [
            checkpoint(_log_probs, some, weight, bias, chosen, use_reentrant=False, preserve_rng_state=False)
            if again
            else _log_probs(some, weight, bias, chosen)
            for some, chosen in parts
        ]
    )


def _aligned(weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """Add words that are never said, until their number is a multiple of `ALIGNED`."""
    n_added = -len(weight) % ALIGNED
    return F.pad(weight, (0, 0, 0, n_added)), F.pad(bias, (0, n_added), value=-math.inf)


def _log_probs(states: Tensor, weight: Tensor, bias: Tensor, words: Tensor) -> Tensor:
    return -F.cross_entropy(F.linear(states, weight, bias).float(), words, reduction="none")
