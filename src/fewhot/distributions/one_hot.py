"""A choice of one among several: drawn exactly, or in a way that has a gradient.

Uniform numbers make the choice. One number a choice picks a class by its cumulative probability; one a class turns
into Gumbel noise, whose largest sum with the log-probabilities is the class.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Generator, Tensor
from torch.distributions import (
    Distribution,
    constraints,
    register_kl,  # pyright: ignore[reportUnknownVariableType]
)

from fewhot.distributions.gates import UNIFORM_MARGIN, ExactGate
from fewhot.distributions.noise import ONE_DRAW, Shape, common_shape, fit_noise, float32_or_wider

_JUST_LIKELIER = 1e-6  # what the first of classes that are all alike has over the others
Choice = Callable[[Tensor, Tensor], Tensor]
"""From log-probabilities (..., C) and uniform numbers (..., W) to a draw (..., C) that has a gradient."""


class OneHot(Distribution):
    r"""One of C classes, as a vector with a single one.

    .. math:: P(z = e_c) = \pi_c = \mathrm{softmax}(v)_c

    Parameters
    ----------
    logits
        Unnormalised log-probabilities :math:`v`, (..., C).
    choice
        How `rsample` draws; see `fewhot.distributions.choices`. None draws exactly, without gradient.
    noise_width
        How many uniform numbers a draw uses: 1, or what ``choice`` asks for.
    validate_args
        As in torch: whether to check arguments and values.

    Examples
    --------
    >>> OneHot(torch.tensor([0.0, 1.0, 0.0])).sample(noise=torch.tensor([0.5]))
    tensor([0., 1., 0.])
    """

    arg_constraints: ClassVar = {"logits": constraints.real_vector}  # type: ignore[override]
    support = constraints.one_hot  # type: ignore[override]

    def __init__(
        self, logits: Tensor, choice: Choice | None = None, noise_width: int = 1, validate_args: bool | None = None
    ) -> None:
        self.logits = torch.log_softmax(float32_or_wider(logits), dim=-1)
        self.choice = choice
        self.noise_width = noise_width
        super().__init__(self.logits.shape[:-1], self.logits.shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> OneHot:
        """Return the same law with its batch broadcast to ``batch_shape``."""
        logits = self.logits.expand(*batch_shape, -1)
        return OneHot(logits, self.choice, self.noise_width, validate_args=False)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Whether a draw carries a gradient."""
        return self.choice is not None

    @property
    def probs(self) -> Tensor:
        """Probability of each class."""
        return self.logits.exp()

    @property
    def mean(self) -> Tensor:
        """Expected vector: the probabilities."""
        return self.probs

    @property
    def variance(self) -> Tensor:
        """Variance of each entry."""
        return self.probs * (1 - self.probs)

    def entropy(self) -> Tensor:
        """Entropy in nats."""
        return -(self.probs * self.logits).sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        """Log-probability of a one-hot vector."""
        if self._validate_args:
            self._validate_sample(value)
        return (value * self.logits).sum(-1)

    def noise_like(self, sample_shape: Shape = ONE_DRAW, generator: Generator | None = None) -> Tensor:
        """Draw the uniform numbers that a draw would use, (..., W)."""
        shape = torch.Size(sample_shape) + self.batch_shape + (self.noise_width,)
        return torch.rand(shape, dtype=self.logits.dtype, device=self.logits.device, generator=generator)

    def sample(self, sample_shape: Shape = ONE_DRAW, noise: Tensor | None = None) -> Tensor:
        """Draw exactly, without gradient."""
        return one_hot(chosen(self._expanded(sample_shape), self._noise(sample_shape, noise)), self.logits)

    def rsample(self, sample_shape: Shape = ONE_DRAW, noise: Tensor | None = None) -> Tensor:
        """Draw as in training; ``choice`` says what gradient the draw carries."""
        if self.choice is None:
            return self.sample(sample_shape, noise)
        return self.choice(self._expanded(sample_shape), self._noise(sample_shape, noise))

    def _expanded(self, sample_shape: Shape) -> Tensor:
        return self.logits.expand(torch.Size(sample_shape) + self.logits.shape)

    def _noise(self, sample_shape: Shape, noise: Tensor | None) -> Tensor:
        noise = self.noise_like(sample_shape) if noise is None else noise
        return fit_noise(noise, torch.Size(sample_shape) + self.batch_shape + noise.shape[-1:])


class OneHotGroups(Distribution):
    """Several choices among C classes, as one vector: N one-hot vectors side by side.

    Parameters
    ----------
    logits
        Unnormalised log-probabilities, (..., N C).
    n_classes
        The number C.
    choice
        As in `OneHot`; `draw` takes the noise for it.
    validate_args
        As in torch: whether to check arguments and values.
    """

    arg_constraints: ClassVar = {"logits": constraints.real_vector}  # type: ignore[override]
    support = constraints.independent(constraints.boolean, 1)  # type: ignore[override]

    def __init__(
        self, logits: Tensor, n_classes: int, choice: Choice | None = None, validate_args: bool | None = None
    ) -> None:
        self.n_classes = n_classes
        self.choice = choice
        self.logits = logits
        self.log_probs = OneHot(logits.reshape(*logits.shape[:-1], -1, n_classes), validate_args=False).logits
        super().__init__(logits.shape[:-1], logits.shape[-1:], validate_args=validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Whether a draw carries a gradient."""
        return self.choice is not None

    @property
    def mean(self) -> Tensor:
        """Probability of each class."""
        return self.log_probs.exp().flatten(-2)

    @property
    def variance(self) -> Tensor:
        """Variance of each entry."""
        return self.mean * (1 - self.mean)

    @property
    def margins(self) -> Tensor:
        """By how much each class is likelier than the likeliest other one of its choice."""
        top = self.log_probs.topk(2, dim=-1).values
        first, second = top[..., :1], top[..., 1:]
        likeliest = one_hot(self.log_probs.argmax(-1), self.log_probs) > 0
        return torch.where(likeliest, first - second + _JUST_LIKELIER, self.log_probs - first).flatten(-2)

    def log_prob(self, value: Tensor) -> Tensor:
        """Log-probability of one-hot vectors side by side."""
        return (value.reshape(*value.shape[:-1], -1, self.n_classes) * self.log_probs).sum((-2, -1))

    def draw(self, noise: Tensor) -> Tensor:
        """Draw from uniform numbers (..., N W); with the gradients of ``choice``."""
        noise = noise.reshape(*noise.shape[:-1], self.log_probs.shape[-2], -1)
        shape = common_shape(noise.shape[:-1], self.log_probs.shape[:-1])
        log_probs, noise = self.log_probs.expand(*shape, -1), noise.expand(*shape, -1)
        z = one_hot(chosen(log_probs, noise), log_probs) if self.choice is None else self.choice(log_probs, noise)
        return z.flatten(-2)


class CoinFlips(ExactGate):
    """Units that are on or off, each a choice between two: drawn exactly, or with the gradients of ``choice``.

    Parameters
    ----------
    logits
        The logit of the on-probability, (..., K).
    choice
        As in `OneHot`, of the two classes on and off.
    validate_args
        As in torch: whether to check arguments and values.
    """

    def __init__(self, logits: Tensor, choice: Choice | None = None, validate_args: bool | None = None) -> None:
        self.choice = choice
        super().__init__(logits, validate_args)

    def draw(self, noise: Tensor) -> Tensor:
        """Draw from uniform numbers (..., K W); with the gradients of ``choice``."""
        noise = noise.reshape(*noise.shape[:-1], self.logits.shape[-1], -1)
        log_probs = torch.stack([self.log_on, self.log_off], dim=-1)
        shape = common_shape(noise.shape[:-1], log_probs.shape[:-1])
        log_probs, noise = log_probs.expand(*shape, -1), noise.expand(*shape, -1)
        if self.choice is None:
            return (chosen(log_probs, noise) == 0).to(log_probs.dtype)
        return self.choice(log_probs, noise)[..., 0]


def chosen(log_probs: Tensor, noise: Tensor) -> Tensor:
    """Return the classes that uniform numbers choose, (...); the noise has one number a choice, or one a class."""
    if noise.shape[-1] == log_probs.shape[-1]:
        return (log_probs + gumbel(noise.to(log_probs.dtype))).argmax(-1)
    return chosen_by(log_probs.detach().exp(), noise[..., :1]).squeeze(-1)


def chosen_by(probs: Tensor, uniform: Tensor) -> Tensor:
    """Return the classes that uniform numbers choose by one law, (..., L), for any number L of them."""
    cumulative = probs.cumsum(-1)
    reached = (uniform.to(cumulative.dtype) * cumulative[..., -1:]).contiguous()
    return torch.searchsorted(cumulative.contiguous(), reached).clamp(max=probs.shape[-1] - 1)


def gumbel(noise: Tensor) -> Tensor:
    """Return Gumbel noise from uniform numbers, finite."""
    return -torch.log(-torch.log(noise.clamp(UNIFORM_MARGIN, 1 - UNIFORM_MARGIN)))


def one_hot(index: Tensor, like: Tensor) -> Tensor:
    """Return classes as vectors with a single one, of the width and type of ``like``."""
    return like.new_zeros(*index.shape, like.shape[-1]).scatter_(-1, index[..., None], 1.0)


def categorical_kl(q_log_probs: Tensor, p_log_probs: Tensor) -> Tensor:
    r"""Return :math:`C(\pi\,\|\,\kappa) = \sum_c \pi_c \log(\pi_c/\kappa_c)` of normalised log-probabilities, (...)."""
    return (q_log_probs.exp() * (q_log_probs - p_log_probs)).sum(-1)


@register_kl(OneHotGroups, OneHotGroups)
def _kl_one_hot_groups(q: OneHotGroups, p: OneHotGroups) -> Tensor:
    return categorical_kl(q.log_probs, p.log_probs).sum(-1)


@register_kl(OneHot, OneHot)
def _kl_one_hot(q: OneHot, p: OneHot) -> Tensor:
    return categorical_kl(q.logits, p.logits)
