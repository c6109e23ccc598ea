"""Gates: on or off with a given probability, drawn exactly or through a relaxation that has a gradient.

Every gate turns the same uniform number into the same decision, on when :math:`u > 1 - p`; they differ in the
value and the gradient that `Gate.rsample` gives.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, ClassVar, Literal

import torch
from torch import Generator, Tensor
from torch.distributions import (
    Distribution,
    constraints,
    register_kl,  # pyright: ignore[reportUnknownVariableType]
)
from torch.nn.functional import logsigmoid

from fewhot.core.checks import one_of
from fewhot.core.errors import InvalidParameterError
from fewhot.distributions.noise import ONE_DRAW, Shape, fit_noise, float32_or_wider
from fewhot.distributions.quadrature import logistic_expectation, softplus_tail

Estimator = Literal["soft", "straight-through"]

ESTIMATORS: tuple[Estimator, ...] = ("soft", "straight-through")
UNIFORM_MARGIN = torch.finfo(torch.float32).eps
LARGEST_LOGIT = 1e4


class Gate(Distribution):
    r"""What all gates share: the law of the decision, Bernoulli, and the noise that makes it.

    .. math:: P(s = 1) = p = \sigma(\ell), \qquad s = \mathbf{1}[\operatorname{logit} u + \ell > 0],\quad u \sim U(0, 1)

    Parameters
    ----------
    logits
        The logit :math:`\ell` of the on-probability; infinite values are allowed and mean always on, always off.
    validate_args
        As in torch: whether to check arguments and values.
    """

    arg_constraints: ClassVar = {"logits": constraints.real}  # type: ignore[override]

    def __init__(self, logits: Tensor, validate_args: bool | None = None) -> None:
        self.logits = float32_or_wider(logits)
        super().__init__(self.logits.shape, validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        """Return the same gate with its batch broadcast to ``batch_shape``."""
        new = copy(self) if _instance is None else _instance
        new.logits = self.logits.expand(batch_shape)
        new._batch_shape = torch.Size(batch_shape)
        return new

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:  # type: ignore[override]
        """Return the values a draw can take."""
        return constraints.boolean

    @property
    def probs(self) -> Tensor:
        """The on-probability."""
        return self.logits.sigmoid()

    @property
    def log_on(self) -> Tensor:
        """Log-probability of being on."""
        return logsigmoid(self.logits)

    @property
    def log_off(self) -> Tensor:
        """Log-probability of being off."""
        return logsigmoid(-self.logits)

    def noise_like(self, sample_shape: Shape = ONE_DRAW, generator: Generator | None = None) -> Tensor:
        """Draw the uniform numbers that a draw would use, kept away from 0 and 1 so that their logits are finite."""
        shape = self._extended_shape(sample_shape)
        uniform = torch.rand(shape, dtype=self.logits.dtype, device=self.logits.device, generator=generator)
        return _inside(uniform)

    def on(self, noise: Tensor) -> Tensor:
        """Decide from uniform numbers: True where on."""
        return _logit(_inside(noise)) + self.logits > 0

    def sample(self, sample_shape: Shape = ONE_DRAW, noise: Tensor | None = None) -> Tensor:
        """Draw exact decisions, 0.0 or 1.0, without gradient: whatever the relaxation."""
        return self.on(self._noise(sample_shape, noise)).to(self.logits.dtype)

    def rsample(self, sample_shape: Shape = ONE_DRAW, noise: Tensor | None = None) -> Tensor:
        """Draw the values used in training; each gate says what gradient they carry."""
        raise TypeError(f"{type(self).__name__} does not say how it is drawn in training; define rsample.")

    def log_prob(self, value: Tensor) -> Tensor:
        """Log-probability of a decision."""
        if self._validate_args:
            self._validate_sample(value)
        return _product(value, self.log_on) + _product(1 - value, self.log_off)

    @property
    def mean(self) -> Tensor:
        """Expected value."""
        return self.probs

    @property
    def variance(self) -> Tensor:
        """Variance."""
        return self.probs * (-self.logits).sigmoid()

    def entropy(self) -> Tensor:
        """Entropy, in nats."""
        return -_product(self.probs, self.log_on) - _product((-self.logits).sigmoid(), self.log_off)

    def _noise(self, sample_shape: Shape, noise: Tensor | None) -> Tensor:
        if noise is None:
            return self.noise_like(sample_shape)
        return fit_noise(noise, self._extended_shape(sample_shape)).to(self.logits.dtype)


class ExactGate(Gate):
    """A gate drawn as it is: ``rsample`` gives exact decisions, through which no gradient passes to ``logits``.

    Hence ``has_rsample`` is False; ``rsample`` exists so that exact and relaxed gates are called alike.

    >>> ExactGate(torch.tensor([-1.0, 1.0])).rsample(noise=torch.tensor(0.5))
    tensor([0., 1.])
    """

    has_rsample = False

    def rsample(self, sample_shape: Shape = ONE_DRAW, noise: Tensor | None = None) -> Tensor:
        """Draw exact decisions; the same as `sample`."""
        return self.sample(sample_shape, noise)


class RelaxedGate(Gate):
    r"""A gate with a soft stand-in in (0, 1) that follows its decision, and has a gradient.

    With the estimator ``"soft"`` a draw is the stand-in, and the law (``log_prob``, moments, entropy) is the
    stand-in's. With ``"straight-through"`` a draw is the exact decision carrying the gradient of the stand-in, and
    the law is the Bernoulli. ``sample`` is exact in both.
    """

    has_rsample = True

    def __init__(self, logits: Tensor, estimator: Estimator, validate_args: bool | None = None) -> None:
        self.estimator = one_of("estimator", estimator, ESTIMATORS)
        super().__init__(logits, validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:  # type: ignore[override]
        """Return the values a draw can take."""
        return constraints.unit_interval if self.estimator == "soft" else constraints.boolean

    def soft(self, noise: Tensor) -> Tensor:
        """Return the stand-in for uniform numbers."""
        raise TypeError(f"{type(self).__name__} does not say its relaxation; define soft(noise).")

    def rsample(self, sample_shape: Shape = ONE_DRAW, noise: Tensor | None = None) -> Tensor:
        """Draw the stand-in, or the decision with the gradient of the stand-in."""
        noise = self._noise(sample_shape, noise)
        soft = self.soft(noise)
        if self.estimator == "soft":
            return soft
        # soft - soft is exactly 0: the value is exactly 0 or 1, however soft was rounded.
        return self.on(noise).to(soft.dtype) + (soft - soft.detach())

    def log_prob(self, value: Tensor) -> Tensor:
        """Log-density of the stand-in, finite at 0 and 1; or log-probability of a decision."""
        if self._validate_args:
            self._validate_sample(value)
        if self.estimator == "straight-through":
            return self._decision.log_prob(value)
        limits = torch.finfo(value.dtype)
        return self._soft_log_prob(value.clamp(limits.tiny, 1 - limits.eps))

    @property
    def mean(self) -> Tensor:
        """Expected value."""
        return self._soft_mean() if self.estimator == "soft" else self._decision.mean

    @property
    def variance(self) -> Tensor:
        """Variance."""
        return self._soft_variance() if self.estimator == "soft" else self._decision.variance

    def entropy(self) -> Tensor:
        """Entropy in nats: differential for the stand-in, discrete for the decision."""
        return self._soft_entropy() if self.estimator == "soft" else self._decision.entropy()

    @property
    def _decision(self) -> ExactGate:
        return ExactGate(self.logits, validate_args=False)

    def _soft_log_prob(self, value: Tensor) -> Tensor:
        raise TypeError(f"{type(self).__name__} does not say the density of its relaxation.")

    def _soft_mean(self) -> Tensor:
        raise TypeError(f"{type(self).__name__} does not say the mean of its relaxation.")

    def _soft_variance(self) -> Tensor:
        raise TypeError(f"{type(self).__name__} does not say the variance of its relaxation.")

    def _soft_entropy(self) -> Tensor:
        raise TypeError(f"{type(self).__name__} does not say the entropy of its relaxation.")


class BinaryConcreteGate(RelaxedGate):
    r"""The Binary Concrete relaxation; a lower temperature :math:`\tau` is harder.

    .. math:: S = \sigma\big((\ell + L)/\tau\big), \qquad L = \log u - \log(1-u), \qquad P(S > 1/2) = \sigma(\ell)

    Its density is evaluated on the logit :math:`y` of the value,
    :math:`\log p(S) = \log\tau + \log\sigma(\tau y - \ell) + \log\sigma(\ell - \tau y) - \log S - \log(1-S)`.
    Moments and entropy are quadratures, accurate for :math:`\tau \ge 0.05`.

    Parameters
    ----------
    logits
        The logit of the on-probability.
    temperature
        A positive number or 0-d tensor.
    estimator
        ``"straight-through"`` or ``"soft"``; see `RelaxedGate`.
    validate_args
        As in torch: whether to check arguments and values.

    References
    ----------
    Maddison, Mnih and Teh (2017), The Concrete distribution.
    """

    arg_constraints: ClassVar = {"logits": constraints.real, "temperature": constraints.positive}  # type: ignore[override]

    def __init__(
        self,
        logits: Tensor,
        temperature: float | Tensor,
        estimator: Estimator = "straight-through",
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = _scalar("temperature", temperature, logits)
        super().__init__(logits, estimator, validate_args)

    def soft(self, noise: Tensor) -> Tensor:
        """Return the stand-in for uniform numbers."""
        return ((self._finite_logits + _logit(_inside(noise))) / self.temperature).sigmoid()

    @property
    def _finite_logits(self) -> Tensor:
        # An infinite logit would meet a zero slope in the gradient of the temperature: inf * 0.
        return self.logits.clamp(-LARGEST_LOGIT, LARGEST_LOGIT)

    def _soft_log_prob(self, value: Tensor) -> Tensor:
        shifted = self.temperature * _logit(value) - self._finite_logits
        return self.temperature.log() + logsigmoid(shifted) + logsigmoid(-shifted) - value.log() - (-value).log1p()

    def _soft_mean(self) -> Tensor:
        return self._expectation(torch.sigmoid)

    def _soft_variance(self) -> Tensor:
        mean = self._soft_mean().unsqueeze(-1)
        return self._expectation(lambda y: (y.sigmoid() - mean).square())

    def _soft_entropy(self) -> Tensor:
        # The entropy of a standard logistic variable is 2; the rest is the change of variable.
        return 2 - self.temperature.log() + self._expectation(lambda y: logsigmoid(y) + logsigmoid(-y))

    def _expectation(self, function: Callable[[Tensor], Tensor]) -> Tensor:
        logits = self._finite_logits.unsqueeze(-1)
        return logistic_expectation(lambda noise: function((logits + noise) / self.temperature), logits)


class SharpSigmoidGate(RelaxedGate):
    r"""The sharp sigmoid of variational sparse coding; a larger sharpness :math:`c` is harder.

    .. math:: S = \sigma\big(c\,(u - 1 + p)\big), \qquad P(S > 1/2) = p, \qquad
              \mathbb{E}[S] = \frac{\mathrm{softplus}(cp) - \mathrm{softplus}(c(p-1))}{c}

    The stand-in leaks: at :math:`p = 0` its mean is :math:`\ln 2 / c`, not 0. On its range the logit of the value
    is uniform, so :math:`\log p(S) = -\log c - \log S - \log(1-S)`.

    Parameters
    ----------
    logits
        The logit of the on-probability.
    sharpness
        A positive number or 0-d tensor.
    estimator
        ``"soft"`` or ``"straight-through"``; see `RelaxedGate`.
    validate_args
        As in torch: whether to check arguments and values.

    References
    ----------
    Tonolini, Jensen and Murray-Smith (2019), Variational sparse coding.
    """

    arg_constraints: ClassVar = {"logits": constraints.real, "sharpness": constraints.positive}  # type: ignore[override]

    def __init__(
        self,
        logits: Tensor,
        sharpness: float | Tensor,
        estimator: Estimator = "soft",
        validate_args: bool | None = None,
    ) -> None:
        self.sharpness = _scalar("sharpness", sharpness, logits)
        super().__init__(logits, estimator, validate_args)

    def soft(self, noise: Tensor) -> Tensor:
        """Return the stand-in for uniform numbers."""
        return (self.sharpness * (_inside(noise) - (-self.logits).sigmoid())).sigmoid()

    @property
    def _highest(self) -> Tensor:
        return self.sharpness * self.probs  # the logit of the stand-in at u = 1

    @property
    def _lowest(self) -> Tensor:
        return -self.sharpness * (-self.logits).sigmoid()  # and at u = 0

    def _soft_log_prob(self, value: Tensor) -> Tensor:
        y = _logit(value)
        rounding = 2 * torch.finfo(value.dtype).eps * (1 / (1 - value) + self.sharpness)  # of y, near its ends
        possible = (y >= self._lowest - rounding) & (y <= self._highest + rounding)
        density = -self.sharpness.log() - value.log() - (-value).log1p()
        return torch.where(possible, density, -torch.inf)

    def _soft_mean(self) -> Tensor:
        return (logsigmoid(-self._lowest) - logsigmoid(-self._highest)) / self.sharpness

    def _soft_variance(self) -> Tensor:
        mean = self._soft_mean()
        second = mean - (self._highest.sigmoid() - self._lowest.sigmoid()) / self.sharpness
        return (second - mean.square()).clamp(min=0)

    def _soft_entropy(self) -> Tensor:
        ramps = 0.5 * (self._highest.square() + self._lowest.square())
        tails = 2 * (softplus_tail(self._highest) + softplus_tail(-self._lowest))
        return self.sharpness.log() - (ramps + tails) / self.sharpness


def _inside(uniform: Tensor) -> Tensor:
    return uniform.clamp(UNIFORM_MARGIN, 1 - UNIFORM_MARGIN)


def _logit(value: Tensor) -> Tensor:
    return value.log() - (-value).log1p()


def _product(weight: Tensor, log_value: Tensor) -> Tensor:
    """Return the product, with 0 times minus infinity taken as 0 in value and in gradient."""
    return weight * log_value.masked_fill((weight == 0) & log_value.isinf(), 0.0)


def _scalar(name: str, value: float | Tensor, like: Tensor) -> Tensor:
    if not isinstance(value, Tensor):
        return torch.full((), value, dtype=float32_or_wider(like).dtype, device=like.device)
    if value.dim() > 0:
        raise InvalidParameterError(f"{name} has shape {tuple(value.shape)}; it must be a number or a 0-d tensor.")
    return value


def bernoulli_kl(q_logits: Tensor, p_logits: Tensor) -> Tensor:
    r"""Divergence of two Bernoulli laws given by the logits of their on-probabilities, elementwise.

    .. math:: B(\gamma\,\|\,\rho) = \gamma\log\frac{\gamma}{\rho} + (1-\gamma)\log\frac{1-\gamma}{1-\rho}

    Infinite logits are certain gates: :math:`0\log 0` counts as 0, and the value is infinite, with no gradient from
    the term at fault, where q puts mass on what p rules out.

    >>> bernoulli_kl(torch.tensor([0.0, -torch.inf, 0.0]), torch.tensor([0.0, 0.0, torch.inf]))
    tensor([0.0000, 0.6931,    inf])
    """
    q_logits, p_logits = float32_or_wider(q_logits), float32_or_wider(p_logits)
    on = _expected_log_ratio(q_logits.sigmoid(), logsigmoid(q_logits), logsigmoid(p_logits))
    off = _expected_log_ratio((-q_logits).sigmoid(), logsigmoid(-q_logits), logsigmoid(-p_logits))
    return on + off


def _expected_log_ratio(weight: Tensor, log_q: Tensor, log_p: Tensor) -> Tensor:
    ratio = torch.where(log_q.isinf() | log_p.isinf(), 0.0, log_q - log_p)
    return (weight * ratio).masked_fill((weight > 0) & log_p.isinf(), torch.inf)


@register_kl(Gate, Gate)
def _kl_gates(q: Gate, p: Gate) -> Tensor:
    """Return the divergence of the decisions, whatever the relaxations: the one every objective uses."""
    return bernoulli_kl(q.logits, p.logits)
