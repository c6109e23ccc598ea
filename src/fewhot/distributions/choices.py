r"""Ways to draw a choice that have a gradient: soft, or exact with the gradient of something soft.

Every function takes normalised log-probabilities (..., C) and uniform numbers (..., W), and returns a draw (..., C).
All but `concrete` and `GateAndChoice` return exact one-hot vectors; they differ in the Jacobian
:math:`\partial z / \partial v` that the backward pass sees, for logits v with probabilities :math:`\pi`, where
:math:`J(p) = \mathrm{diag}(p) - pp^\top`.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from fewhot.distributions.gates import UNIFORM_MARGIN
from fewhot.distributions.one_hot import chosen, gumbel, one_hot


def concrete(log_probs: Tensor, noise: Tensor, temperature: float | Tensor = 1.0) -> Tensor:
    r"""Return :math:`s = \mathrm{softmax}((\log\pi + g)/\tau)`: soft, a lower temperature :math:`\tau` is harder.

    References: Jang, Gu and Poole (2017); Maddison, Mnih and Teh (2017).
    """
    return torch.softmax((log_probs + gumbel(noise.to(log_probs.dtype))) / temperature, dim=-1)


def straight_through_concrete(log_probs: Tensor, noise: Tensor, temperature: float | Tensor = 1.0) -> Tensor:
    r"""Return the exact choice with the Jacobian of `concrete` at the same noise, :math:`J(s)/\tau`."""
    return with_gradient_of(concrete(log_probs, noise, temperature), _exact(log_probs, noise))


def straight_through(log_probs: Tensor, noise: Tensor, temperature: float | Tensor = 1.0) -> Tensor:
    r"""Return the exact choice with the Jacobian of its mean, :math:`J(\pi)` at temperature 1.

    The gradient is what a first-order expansion around the choice says of the expectation: biased, little variance.
    Reference: Bengio, Léonard and Courville (2013).
    """
    return with_gradient_of(torch.softmax(log_probs / temperature, dim=-1), _exact(log_probs, noise))


def second_order(log_probs: Tensor, noise: Tensor, temperature: float | Tensor = 1.0) -> Tensor:
    r"""Return the exact choice z with the Jacobian :math:`2\,J\big(\tfrac{z+\pi}{2}\big) - \tfrac12 J(\pi)`.

    Heun's rule in the place of Euler's: exact where the function is quadratic (ReinMax; Liu, Dong, Liu and Gao, 2023).
    """
    hard, probs = _exact(log_probs, noise), log_probs.exp()
    tempered = probs if isinstance(temperature, float) and temperature == 1.0 else (log_probs / temperature).softmax(-1)
    twice_middle = (hard + tempered).detach()
    finite = log_probs.clamp(min=torch.finfo(log_probs.dtype).min)
    weighted = twice_middle * finite  # what follows has the Jacobian wanted, whatever its value
    halfway = torch.addcmul(weighted, twice_middle, weighted.sum(-1, keepdim=True), value=-0.5)
    return with_gradient_of(torch.sub(halfway, probs, alpha=0.5), hard)


def rao_blackwellised(log_probs: Tensor, noise: Tensor, temperature: float | Tensor = 1.0, n_inner: int = 10) -> Tensor:
    r"""Return the exact choice with the Jacobian of `concrete`, averaged over Gumbel noise that makes this choice.

    With :math:`E` exponential, the largest sum is :math:`-\log E_c` and any other
    :math:`-\log(E_i/\pi_i + E_c)`. The noise holds one number for the choice and ``n_inner`` a class.
    Reference: Paulus, Maddison and Krause (2021).
    """
    hard = _exact(log_probs, noise[..., :1])
    uniform = noise[..., 1:].to(log_probs.dtype).clamp(UNIFORM_MARGIN, 1 - UNIFORM_MARGIN)
    exponential = -torch.log(uniform.reshape(*uniform.shape[:-1], n_inner, -1))  # (..., S, C)
    first = (exponential * hard[..., None, :]).sum(-1, keepdim=True)
    others = -torch.log(exponential / log_probs.detach().exp()[..., None, :].clamp(min=1e-30) + first)
    sums = torch.where(hard[..., None, :] > 0, -torch.log(first), others)
    offset = (sums - log_probs.detach()[..., None, :]).detach()  # the noise that makes the choice
    soft = torch.softmax((log_probs[..., None, :] + offset) / temperature, dim=-1).mean(-2)
    return with_gradient_of(soft, hard)


class GateAndChoice(NamedTuple):
    r"""A soft gate times a soft choice, where the last class is to be off: the two relaxed one by one.

    .. math:: \omega = \sigma\big((\operatorname{logit}\lambda + \operatorname{logit}u)/\tau\big), \qquad
        s = \mathrm{softmax}\big((\log\pi + g)/\tau_z\big), \qquad z = (\omega s,\ 1 - \omega)

    With ``hard``, exact values with the gradient of these. Reference: Xu, Onoro Rubio, Serra and Niepert.
    """

    temperature: float | Tensor = 1.0
    feature_temperature: float | Tensor = 1.0
    hard: bool = False

    def __call__(self, log_probs: Tensor, noise: Tensor) -> Tensor:
        """Draw from log-probabilities (..., K + 1) and as many uniform numbers, the last of them the gate's."""
        log_on = torch.logsumexp(log_probs[..., :-1], dim=-1, keepdim=True)
        units, on = self.of_slots(log_on - log_probs[..., -1:], log_probs[..., :-1] - log_on, noise)
        return torch.cat([units, 1 - on], dim=-1)

    def of_slots(self, gate_logits: Tensor, log_features: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        r"""Return :math:`\omega s`, (..., K), and :math:`\omega`, (..., 1), of slots with these laws."""
        uniform = noise[..., -1:].to(log_features.dtype).clamp(UNIFORM_MARGIN, 1 - UNIFORM_MARGIN)
        gate_logits = gate_logits + torch.logit(uniform)
        feature_logits = log_features + gumbel(noise[..., :-1].to(log_features.dtype))
        on = torch.sigmoid(gate_logits / self.temperature)
        units = on * torch.softmax(feature_logits / self.feature_temperature, dim=-1)
        if not self.hard:
            return units, on
        really_on = (gate_logits > 0).to(units.dtype)
        exact = really_on * one_hot(feature_logits.argmax(-1), feature_logits)
        return with_gradient_of(units, exact), with_gradient_of(on, really_on)


def with_gradient_of(soft: Tensor, hard: Tensor) -> Tensor:
    """Return the values of ``hard`` and the gradient of ``soft``; soft - soft is exactly 0, however it was rounded."""
    return hard + (soft - soft.detach())


def _exact(log_probs: Tensor, noise: Tensor) -> Tensor:
    return one_hot(chosen(log_probs, noise), log_probs)
