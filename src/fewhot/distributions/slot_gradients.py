r"""Gradients of laws of slots, written down instead of taped: a training step is bound by how many operations it has.

All take the logits a of gates, (..., S), and the normalised log-probabilities :math:`\log\pi` of units,
(..., S, K), through which gradients go, and the numbers computed from them already.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad, softplus


def times(n: int, of_laws: Tensor) -> Tensor:
    """Return n times a tensor; 1 takes no operation."""
    return of_laws if n == 1 else n * of_laws


def over_laws(of_laws: Tensor, dim: int = -1) -> Tensor:
    """Return the sum over laws; where there is one, without adding."""
    return of_laws.squeeze(dim) if of_laws.shape[dim] == 1 else of_laws.sum(dim)


def divergences_of_slots(
    gate_logits: Tensor,
    log_features: Tensor,
    prior_gate_logits: Tensor,
    prior_log_features: Tensor,
    on: Tensor,
    features: Tensor,
    off_slots_choose: bool,
    n_slots: int,
) -> tuple[Tensor, Tensor]:
    """Return what all slots pay for being on, and for what they choose, both (...)."""
    laws = gate_logits, log_features, prior_gate_logits, prior_log_features, on, features
    n = n_slots // max(gate_logits.shape[-1], prior_gate_logits.shape[-1])
    return cast("tuple[Tensor, Tensor]", _LawKL.apply(*laws, off_slots_choose, n))  # pyright: ignore[reportUnknownMemberType]


def through_absence(
    value: Tensor, slope: Tensor, gate_logits: Tensor, log_features: Tensor, on: Tensor, units: Tensor, n: int
) -> Tensor:
    """Return ``value`` with the derivative ``slope``, (..., K), by the log-probabilities that units are not chosen.

    Each of S laws has n slots. A gradient that ``value`` has itself is not passed on.
    """
    return cast("Tensor", _ThroughAbsence.apply(value, slope, gate_logits, log_features, on, units, n))  # pyright: ignore


def second_order_counts(
    gate_logits: Tensor, on: Tensor, log_features: Tensor, units: Tensor, uniform: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the counts of slots that choose by uniform numbers (..., S, L / S), and their choices (..., L), K if off.

    The counts have the gradient that `fewhot.distributions.choices.second_order` gives each of the choices.
    """
    drawn = _SecondOrderCounts.apply(gate_logits, on, log_features, units, uniform)  # pyright: ignore
    return cast("tuple[Tensor, Tensor]", drawn)


class _LawKL(torch.autograd.Function):
    r"""The two divergences of S laws, each with n slots, of logits a and b of gates and log-probabilities of units.

    They are n times the sums over laws of

    .. math:: B = \lambda(a - b) + \zeta(b) - \zeta(a), \qquad
        \frac{\partial B}{\partial a} = \lambda(1-\lambda)(a - b), \quad
        \frac{\partial B}{\partial b} = \rho - \lambda

    .. math:: C = \sum_k \pi_k \log\frac{\pi_k}{\kappa_k}, \qquad
        \frac{\partial C}{\partial \log\pi_k} = \pi_k \log\frac{\pi_k}{\kappa_k}, \quad
        \frac{\partial C}{\partial \log\kappa_k} = -\pi_k

    or of :math:`\lambda C`, with softplus :math:`\zeta`. A further :math:`\pi_k` of the third derivative is left out:
    the normalisation of the log-probabilities takes it away.
    """

    @staticmethod
    def forward(
        ctx: Any,
        a: Tensor,
        log_features: Tensor,
        b: Tensor,
        prior_features: Tensor,
        on: Tensor,
        features: Tensor,
        off_slots_choose: bool,
        n: int,
    ) -> tuple[Tensor, Tensor]:
        odds = a - b
        parts = features * (log_features - prior_features)
        choice = parts.sum(-1)
        n_on = times(n, on)
        ctx.save_for_backward(on, n_on, odds, features, parts, choice, b)
        ctx.off_slots_choose, ctx.n = off_slots_choose, n
        ctx.shapes = [x.shape for x in (a, log_features, b, prior_features)]
        gate = torch.addcmul(times(n, softplus(b) - softplus(a)), n_on, odds)
        return over_laws(gate), over_laws(times(n, choice) if off_slots_choose else n_on * choice)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_gate: Tensor, of_feature: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        on, n_on, odds, features, parts, choice, b = ctx.saved_tensors
        of_gate, of_feature = of_gate.unsqueeze(-1), of_feature.unsqueeze(-1)
        to_on = of_gate * odds
        if ctx.off_slots_choose:
            to_choice = times(ctx.n, of_feature)
        else:
            to_on, to_choice = torch.addcmul(to_on, of_feature, choice), of_feature * n_on
        if to_choice.shape != choice.shape:
            to_choice = to_choice.expand(choice.shape)
        needs, weighted = ctx.needs_input_grad, to_on * n_on
        slopes = (
            torch.addcmul(weighted, weighted, on, value=-1),
            to_choice.unsqueeze(-1) * parts,
            of_gate * (times(ctx.n, b.sigmoid()) - n_on) if needs[2] else None,
            _of_prior(to_choice, features, ctx.shapes[3]) if needs[3] else None,
        )
        slopes = (x if x is None or x.shape == s else x.sum_to_size(s) for x, s in zip(slopes, ctx.shapes, strict=True))
        return *slopes, None, None, None, None


def _of_prior(to_choice: Tensor, features: Tensor, shape: torch.Size) -> Tensor:
    """Return the derivative of choices by the prior's log-probabilities.

    Where one prior, (S, K), serves all rows, the sum over them is taken by one batched product.
    """
    if features.dim() < 3 or shape != features.shape[-2:]:
        return -to_choice[..., None] * features
    rows, laws = to_choice.flatten(0, -2), features.flatten(0, -3)  # (B, S), (B, S, K)
    summed = features.new_empty(shape[0], 1, shape[1])
    return torch.baddbmm(summed, rows.T[:, None], laws.transpose(0, 1), beta=0, alpha=-1).squeeze(1)


class _ThroughAbsence(torch.autograd.Function):
    r"""A number of which the derivative by :math:`\sum_\ell n \log(1 - p_{\ell k})` is known, for each unit k.

    .. math:: \frac{\partial}{\partial \log\pi_{\ell k}} = -n\frac{p_{\ell k}}{1 - p_{\ell k}}, \qquad
        \frac{\partial}{\partial a_\ell} = -n(1-\lambda_\ell)\sum_k \frac{p_{\ell k}}{1 - p_{\ell k}}

    are those of that log-probability, with :math:`p_{\ell k} = \lambda_\ell\pi_{\ell k}`, for the logit
    :math:`a_\ell` of :math:`\lambda_\ell`.
    """

    @staticmethod
    def forward(
        ctx: Any,
        value: Tensor,
        slope: Tensor,
        gate_logits: Tensor,
        log_features: Tensor,
        on: Tensor,
        units: Tensor,
        n: int,
    ) -> Tensor:
        ctx.save_for_backward(slope, on, units)
        ctx.n = n
        return value.view_as(value)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, scale: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        slope, on, units = ctx.saved_tensors
        slope = (scale * slope).unsqueeze(-2)
        of_features = slope * units / torch.rsub(units, -1 / ctx.n, alpha=-1 / ctx.n)  # -n p / (1 - p)
        of_units = of_features.sum(-1)
        return None, None, torch.addcmul(of_units, of_units, on, value=-1), of_features, None, None, None


class _SecondOrderCounts(torch.autograd.Function):
    r"""Counts of slots that choose exactly, with the gradient that `second_order` gives each choice, and the choices.

    A slot whose units have probabilities :math:`p_k = \lambda\pi_k` passes on half of the counts' slope g, with
    :math:`P = \sum_k p_k g_k`:

    .. math:: \frac{\partial}{\partial \log\pi_k} = \tfrac12\big(p_k g_k + z_k (g_k - P)\big), \qquad
        \frac{\partial}{\partial a} = \tfrac12\Big((1-\lambda)\sum_k z_k g_k + \big(1 - \sum_k z_k\big) P\Big)

    for its choice z and the logit a of :math:`\lambda`; what the normalisation of :math:`\log\pi` takes away is left
    out.
    """

    @staticmethod
    def forward(
        ctx: Any, gate_logits: Tensor, on: Tensor, log_features: Tensor, units: Tensor, uniform: Tensor
    ) -> tuple[Tensor, Tensor]:
        n_units = units.shape[-1]
        slots = torch.searchsorted(units.cumsum(-1), uniform.to(units.dtype).contiguous())  # (..., S, L / S), K is off
        every = slots.flatten(-2)
        counts = units.new_zeros(*units.shape[:-2], n_units + 1).scatter_(-1, every, 1.0, reduce="add")
        ctx.save_for_backward(on, units, slots, counts)
        ctx.mark_non_differentiable(every)
        ctx.set_materialize_grads(False)
        return counts[..., :-1], every

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor, _: None) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        on, units, slots, counts = ctx.saved_tensors
        half = 0.5 * slope
        weighted = half[..., None, :] * units  # (..., S, K)
        mean = weighted.sum(-1, keepdim=True)  # (..., S, 1)
        if slots.shape[-2] == 1:
            of_gate, of_features = _of_shared_slots(half, weighted, mean, on, counts, slots.shape[-1])
        else:
            of_gate, of_features = _of_single_slots(half, weighted, mean, on, slots)
        return of_gate, None, of_features, None, None


def _of_shared_slots(
    half: Tensor, weighted: Tensor, mean: Tensor, on: Tensor, counts: Tensor, n: int
) -> tuple[Tensor, Tensor]:
    """Return the derivatives of `_SecondOrderCounts` where one law has all n slots: their sum is told by the counts."""
    chosen, off = counts[..., None, :-1], counts[..., -1:]
    at_choice = chosen * half[..., None, :]
    of_features = torch.addcmul(torch.add(at_choice, weighted, alpha=n), chosen, mean, value=-1)
    at_choices = at_choice.sum(-1)
    return torch.addcmul(torch.addcmul(at_choices, at_choices, on, value=-1), off, mean.squeeze(-1)), of_features


def _of_single_slots(half: Tensor, weighted: Tensor, mean: Tensor, on: Tensor, slots: Tensor) -> tuple[Tensor, Tensor]:
    """Return the derivatives of `_SecondOrderCounts` where every slot has a law of its own."""
    n_units = half.shape[-1]
    of_classes = pad(half, (0, 1)).unsqueeze(-2).expand(*slots.shape[:-1], -1)  # 0 where off
    at_choice = of_classes.gather(-1, slots)  # (..., S, 1)
    at_class = torch.where(slots == n_units, mean, at_choice)
    of_gate = torch.addcmul(at_class, at_choice, on.unsqueeze(-1), value=-1).squeeze(-1)
    return of_gate, weighted.scatter_add_(-1, slots.clamp(max=n_units - 1), at_class - mean)
