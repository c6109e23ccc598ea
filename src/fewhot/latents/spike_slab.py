"""The spike-and-slab family: codes that are exactly zero off a set chosen anew for every row."""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor, nn
from torch.distributions import Distribution
from torch.nn import functional as F

from fewhot.core.checks import one_of, real_number
from fewhot.core.clipping import LOG_VARIANCE_RANGE, LOGIT_RANGE, clip_keeping_gradient
from fewhot.core.records import Draw, Knobs, Noise, Params
from fewhot.core.registry import LATENTS
from fewhot.distributions import (
    BlendedSpikeSlab,
    JointSpikeSlab,
    SpikeSlab,
    SpikeSlabMixture,
    kl_parts,
    mixture_kl_bound,
)
from fewhot.distributions.noise import latin_normals, latin_uniforms
from fewhot.latents.base import CodeSummary, Latent
from fewhot.latents.relaxations import BinaryConcrete, Relaxation

_LOG_RATE_RANGE = (-14.0, -1e-6)


@LATENTS.register("spike-slab")
class SpikeSlabLatent(Latent):
    r""":math:`q(z|x) = \prod_j \gamma_j \mathcal{N}(\mu_j,\sigma_j^2) + (1-\gamma_j)\,\delta_0`, from one linear head.

    Parameters
    ----------
    n_in, n_latent
        Widths of the features and of the code.
    relaxation
        The gate used in training; ``BinaryConcrete()`` (straight-through) when not given.
    gate_head
        ``"logit"`` gives :math:`\gamma = \sigma(v)`; ``"relu"`` is the papers' :math:`\log\gamma = -\mathrm{ReLU}(-v)`,
        whose gradient is zero for :math:`v \ge 0`.
    initial_rate
        The on-probability of a fresh network (logit head only).
    """

    gated = True
    refinable = ("logits", "loc", "logvar")
    gate_shift: Tensor

    def __init__(
        self,
        n_in: int,
        n_latent: int,
        relaxation: Relaxation | None = None,
        gate_head: str = "logit",
        initial_rate: float = 0.5,
    ) -> None:
        super().__init__()
        self.n_in = n_in
        self.n_latent = n_latent
        self.relaxation = relaxation or BinaryConcrete()
        self.gate_head = one_of("gate_head", gate_head, ("logit", "relu"))
        self.initial_rate = real_number("initial_rate", initial_rate, low=1e-6, high=1 - 1e-6)
        self.heads = nn.Linear(n_in, 3 * n_latent)
        if gate_head == "logit":
            with torch.no_grad():
                self.heads.bias[:n_latent] += math.log(initial_rate / (1 - initial_rate))
        else:
            self.register_buffer("gate_shift", torch.zeros(()))  # of logits, which the head is not

    def psi(self, h: Tensor) -> Params:
        """Return gate logits, slab means and slab log variances of each row."""
        v, loc, logvar = self.heads(h).float().chunk(3, dim=-1)
        logits = v if self.gate_head == "logit" else _logit_of_relu_head(v) + self.gate_shift
        return {"logits": logits, "loc": loc, "logvar": logvar}

    @torch.no_grad()
    def shift_gates(self, shift: float) -> None:
        """Add ``shift`` to the logit of every gate."""
        if self.gate_head == "logit":
            self.heads.bias[: self.n_latent] += shift
        else:
            self.gate_shift += shift

    def posterior(self, psi: Params, knobs: Knobs) -> SpikeSlab:
        """Return the spike-and-slab whose draws use the gate, and the share of the slab, that ``knobs`` ask for."""
        logits = clip_keeping_gradient(psi["logits"], *LOGIT_RANGE)
        scale = torch.exp(0.5 * clip_keeping_gradient(psi["logvar"], *LOG_VARIANCE_RANGE))
        gate = partial(self.relaxation, knobs=knobs)
        if "slab_share" in knobs.values:  # spike pre-training; evaluation has no such knob
            share = knobs.values["slab_share"]
            return BlendedSpikeSlab(logits, psi["loc"], scale, share, relaxation=gate, validate_args=False)
        return SpikeSlab(logits, psi["loc"], scale, relaxation=gate, validate_args=False)

    def noise(self, n_rows: int, generator: torch.Generator) -> Noise:
        """Return uniforms for the gates and standard normals for the slabs."""
        shape, device = (n_rows, self.n_latent), generator.device
        return {
            "gate": torch.rand(shape, generator=generator, device=device),
            "slab": torch.randn(shape, generator=generator, device=device),
        }

    def bank(self, n: int, generator: torch.Generator) -> list[Noise]:
        """Return stratified uniforms and standard normals."""
        gate = latin_uniforms(n, self.n_latent, generator)
        slab = latin_normals(n, self.n_latent, generator)
        return [{"gate": u[None], "slab": e[None]} for u, e in zip(gate, slab, strict=True)]

    def draw(self, q: Distribution, noise: Noise) -> Draw:
        """Return gate times slab."""
        assert isinstance(q, SpikeSlab)
        return q.draw(noise["slab"].shape[:-2], noise=noise)

    def divergence(self, q: Distribution, p: Distribution, draw: Draw) -> Params:
        """Return the two parts of the divergence: choosing the units, and the values of the chosen ones.

        Against a prior whose units hang together it is what the gates of the draw say of it. Against a mixture the
        parts are those of the tightest closed bound, with a third for choosing a component.
        """
        assert isinstance(q, SpikeSlab)
        if isinstance(p, SpikeSlabMixture):
            return dict(zip(("kl_gate", "kl_slab", "kl_choice"), mixture_kl_bound(q, p), strict=True))
        if isinstance(p, JointSpikeSlab):
            assert draw.gate is not None
            p = p.given(draw.gate)
        assert isinstance(p, SpikeSlab)
        gate, slab = kl_parts(q, p)
        return {"kl_gate": gate.sum(-1), "kl_slab": slab.sum(-1)}

    def summary(self, psi: Params) -> CodeSummary:
        """Return slab means and variances with the logits that say which of them are on."""
        return CodeSummary(
            psi["loc"], psi["logvar"].clamp(*LOG_VARIANCE_RANGE).exp(), psi["logits"].clamp(*LOGIT_RANGE)
        )


def _logit_of_relu_head(v: Tensor) -> Tensor:
    log_on = (-F.relu(-v)).clamp(*_LOG_RATE_RANGE)
    return log_on - torch.log(-torch.expm1(log_on))
