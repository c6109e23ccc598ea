"""A mixture of spike-and-slab codes, and how far one code law is from it."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Generator, Tensor
from torch.distributions import Distribution, constraints
from torch.nn.functional import logsigmoid

from fewhot.core.records import Noise
from fewhot.distributions.gates import ExactGate
from fewhot.distributions.noise import ONE_DRAW, Shape, fit_noise
from fewhot.distributions.spike_slab import SpikeSlab, SpikeSlabKL

_IMPOSSIBLE = -1e6


class SpikeSlabMixture(Distribution):
    r"""One of U laws over whole codes, each as likely as the others.

    .. math:: p(z) = \frac{1}{U} \sum_u \prod_j
        \big[\rho_{uj}\,\mathcal{N}(z_j;\,m_{uj},s_{uj}^2) + (1-\rho_{uj})\,\delta_0(z_j)\big]

    The units of a code hang together through u, so densities are of whole codes: the event is (K,).

    Parameters
    ----------
    components
        The laws, (U, K).
    validate_args
        As in torch: whether to check arguments and values.
    """

    arg_constraints: ClassVar = {}  # type: ignore[override]
    support = constraints.real_vector  # type: ignore[override]

    def __init__(self, components: SpikeSlab, validate_args: bool | None = None) -> None:
        self.components = components
        self.n_components = components.batch_shape[0]
        self._last_kl: tuple[SpikeSlab, SpikeSlabKL] | None = None
        super().__init__(ONE_DRAW, components.batch_shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        """Return the same law: it has one batch shape, the empty one."""
        if tuple(batch_shape) != ():
            raise TypeError("A mixture of codes is one law; draw from it with a sample shape instead.")
        return self

    @property
    def mean(self) -> Tensor:
        """Expected code: dense."""
        return self.components.mean.mean(0)

    @property
    def variance(self) -> Tensor:
        """Variance of each unit: within the laws, and between them."""
        return self.components.variance.mean(0) + self.components.mean.var(0, correction=0)

    def log_prob(self, value: Tensor) -> Tensor:
        """Log-density of whole codes, (..., K) -> (...), one law at a time to spare memory."""
        logs = [self.component(u).log_prob(value).sum(-1) for u in range(self.n_components)]
        return torch.stack(logs).logsumexp(0) - math.log(self.n_components)

    def component(self, index: int | Tensor) -> SpikeSlab:
        """Return the law called ``index``, (K,), or those of several indices, (..., K)."""
        laws = self.components
        return SpikeSlab(laws.logits[index], laws.loc[index], laws.scale[index], validate_args=False)

    def component_kl(self, q: SpikeSlab) -> SpikeSlabKL:
        """Return `component_kl` of this mixture; asked again about the same law, what it found the last time."""
        if self._last_kl is None or self._last_kl[0] is not q:
            self._last_kl = q, component_kl(q, self)
        return self._last_kl[1]

    def noise_like(self, sample_shape: Shape = ONE_DRAW, generator: Generator | None = None) -> Noise:
        """Draw the numbers a draw would use: ``choice`` and ``gate`` uniform, ``slab`` standard normal."""
        one = self.component(0)
        choice = torch.rand(tuple(sample_shape), device=one.loc.device, dtype=one.loc.dtype, generator=generator)
        return {"choice": choice, **one.noise_like(sample_shape, generator)}

    def sample(self, sample_shape: Shape = ONE_DRAW, noise: Noise | None = None) -> Tensor:
        """Draw codes with exact gates: first a law, then a code."""
        noise = self.noise_like(sample_shape) if noise is None else noise
        choice = fit_noise(noise["choice"], torch.Size(sample_shape))
        index = (choice * self.n_components).long().clamp(max=self.n_components - 1)
        return self.component(index).sample(noise={name: noise[name] for name in ("gate", "slab")})

    def responsibilities(self, active: Tensor) -> Tensor:
        """Return how likely each law is to have made codes with these active units, (..., K) -> (..., U)."""
        gate = ExactGate(self.components.logits, validate_args=False)
        return torch.where(active[..., None, :], gate.log_on, gate.log_off).sum(-1).softmax(-1)


class MixtureKL(NamedTuple):
    """The parts of a bound on the divergence from a mixture: gates, slabs, and the choice of a component."""

    gate: Tensor
    slab: Tensor
    choice: Tensor


def component_kl(q: SpikeSlab, p: SpikeSlabMixture) -> SpikeSlabKL:
    r"""Divergence of whole codes from each component, (..., U), as a term for the gates and a term for the slabs.

    .. math:: \sum_j B(\gamma_j\,\|\,\rho_{uj}) = -H(\gamma) - \sum_j \big[\gamma_j \log\rho_{uj}
        + (1-\gamma_j)\log(1-\rho_{uj})\big]

    The sums of `kl_parts`, ordered so that few operations have the size (..., U, K). What a component rules out costs
    a million nats instead of infinitely many, so that its weight in a mixture is zero and not undefined.
    """
    laws = p.components
    on, off = (logsigmoid(logits).clamp(min=_IMPOSSIBLE) for logits in (laws.logits, -laws.logits))  # (U, K)
    probs = q.probs
    shared = -ExactGate(q.logits, validate_args=False).entropy().sum(-1, keepdim=True)  # (..., 1)
    gate = shared - torch.lerp(off, on, probs[..., None, :]).sum(-1)
    squares = (q.loc[..., None, :] - laws.loc).square() + q.scale.square()[..., None, :]
    costs = torch.addcmul(2 * laws.scale.log(), squares, laws.scale.square().reciprocal())
    slab = (0.5 * probs[..., None, :] * costs).sum(-1)
    return SpikeSlabKL(gate, slab - (probs * (q.scale.log() + 0.5)).sum(-1, keepdim=True))


def choice_kl(log_weights: Tensor) -> Tensor:
    r"""Return what weights cost beside equal ones, from finite log weights (..., U).

    .. math:: \mathrm{KL}(w\,\|\,\mathrm{uniform}) = \log U + \sum_u w_u \log w_u
    """
    return (log_weights.exp() * log_weights).sum(-1) + math.log(log_weights.shape[-1])


def mixture_kl_bound(q: SpikeSlab, p: SpikeSlabMixture) -> MixtureKL:
    r"""Closed-form bound on the divergence of q from a mixture, in three parts that add up to it.

    .. math:: \mathrm{KL}(q\,\|\,p) \;\le\; -\log \frac{1}{U}\sum_u e^{-\mathrm{KL}(q\|p_u)}
        \;=\; \sum_u r_u\,\mathrm{KL}(q\,\|\,p_u) + \mathrm{KL}(r\,\|\,\mathrm{uniform}),
        \qquad r_u \propto e^{-\mathrm{KL}(q\|p_u)}

    The right-hand side with any other weights is larger: these are the best ones. Equality for U = 1.
    """
    gate, slab = p.component_kl(q)
    log_weights = torch.log_softmax(-(gate + slab), dim=-1)
    weights = log_weights.exp()
    return MixtureKL((weights * gate).sum(-1), (weights * slab).sum(-1), choice_kl(log_weights))
