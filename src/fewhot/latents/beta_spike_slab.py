"""The Beta spike-and-slab family: exact zeros, and a probability of being on that is itself uncertain."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.distributions import Distribution
from torch.nn import functional as F

from fewhot.core.checks import one_of, real_number, truth
from fewhot.core.clipping import LOG_VARIANCE_RANGE, LOGIT_RANGE, clip_keeping_gradient
from fewhot.core.errors import InvalidParameterError
from fewhot.core.records import Draw, Knobs, Noise, Params
from fewhot.core.registry import LATENTS
from fewhot.distributions import (
    BetaSpikeSlab,
    GaussianSpikeSlab,
    SpikeSlab,
    hierarchical_gate_kl,
    kl_parts,
    log_odds_draw,
    log_odds_log_prob,
)
from fewhot.distributions.noise import latin_normals, latin_uniforms
from fewhot.latents.base import CodeSummary, Latent
from fewhot.latents.relaxations import BinaryConcrete, Relaxation

CONCENTRATIONS = (0.5, 100.0)
"""Where Beta laws that are drawn have their concentrations; outside, draws and their gradients lose their digits."""
FORMS = ("collapsed", "hierarchical")
HEADS = ("rate", "softplus")


@LATENTS.register("beta-spike-slab")
class BetaSpikeSlabLatent(Latent):
    r"""A rate, then a code.

    .. math:: v_j \sim \mathrm{Beta}(b_j, a_j), \qquad
        z_j \sim v_j\,\mathcal{N}(\mu_j,\sigma_j^2) + (1-v_j)\,\delta_0

    Parameters
    ----------
    n_in, n_latent
        Widths of the features and of the code.
    relaxation
        The gate used in training; ``BinaryConcrete()`` (straight-through) when not given.
    form
        ``"collapsed"`` integrates v out: gates are drawn from :math:`b/(a+b)` and pay for that law alone, which gives
        the tighter bound. ``"hierarchical"`` draws v in training and pays for its Beta law, as published. Evaluation
        is collapsed wherever that can be done.
    gate_head
        ``"rate"`` gives the logit of :math:`b/(a+b)` and the size of :math:`a+b`; ``"softplus"`` gives a and b
        themselves, as published, and moves rates near 0 very slowly.
    spike_std
        The spike's width :math:`s_0` in hierarchical training. Where it is not 0, a unit that is off is drawn from
        :math:`\mathcal{N}(0, s_0^2)`, and values pay what the draw says of the divergence of the two mixtures given v.
        Evaluation has exact zeros.
    slab_sees_gamma
        Whether the slab depends on the drawn probabilities of being off, :math:`\gamma = 1 - v`, of all units:

        .. math:: (\mu, \log\sigma^2)(\gamma) = (\mu, \log\sigma^2) + A\,(\gamma - \mathbb{E}[\gamma]), \qquad A = 0
            \text{ to begin with}

        Then v cannot be integrated out: evaluation draws it too and pays for its Beta law.
    initial_rate
        The mean on-probability of a fresh network (rate head only).
    """

    gated = True
    gate_shift: Tensor

    def __init__(
        self,
        n_in: int,
        n_latent: int,
        relaxation: Relaxation | None = None,
        form: str = "collapsed",
        gate_head: str = "rate",
        spike_std: float = 0.0,
        slab_sees_gamma: bool = False,
        initial_rate: float = 0.5,
    ) -> None:
        super().__init__()
        self.n_in = n_in
        self.n_latent = n_latent
        self.relaxation = relaxation or BinaryConcrete()
        self.form = one_of("form", form, FORMS)
        self.gate_head = one_of("gate_head", gate_head, HEADS)
        self.spike_std = real_number("spike_std", spike_std, low=0)
        if spike_std and form != "hierarchical":
            raise InvalidParameterError(
                "spike_std needs form='hierarchical'; with v integrated out the spike is a point."
            )
        self.slab_sees_gamma = truth("slab_sees_gamma", slab_sees_gamma)
        if slab_sees_gamma and form != "hierarchical":
            raise InvalidParameterError(
                "slab_sees_gamma needs form='hierarchical'; with v integrated out there is no gamma to see."
            )
        self.refinable = (*self._gate_heads, "loc", "logvar")
        self.initial_rate = real_number("initial_rate", initial_rate, low=1e-6, high=1 - 1e-6)
        self.heads = nn.Linear(n_in, 4 * n_latent)
        if gate_head == "rate":
            with torch.no_grad():
                self.heads.bias[:n_latent] += math.log(initial_rate / (1 - initial_rate))
        self.by_gamma = nn.Parameter(torch.zeros(2 * n_latent, n_latent)) if slab_sees_gamma else None
        self.register_buffer("gate_shift", torch.zeros(()))

    @property
    def _uniforms(self) -> tuple[str, ...]:
        return ("gate", "beta_off", "beta_on") if self.form == "hierarchical" else ("gate",)

    @property
    def _normals(self) -> tuple[str, ...]:
        return ("slab", "spike") if self.spike_std else ("slab",)

    @property
    def _gate_heads(self) -> tuple[str, str]:
        return ("logits", "size") if self.gate_head == "rate" else ("off", "on")

    def psi(self, h: Tensor) -> Params:
        """Return two heads for the concentrations, slab means and slab log variances of each row."""
        return dict(zip(self.refinable, self.heads(h).float().chunk(4, dim=-1), strict=True))

    @torch.no_grad()
    def shift_gates(self, shift: float) -> None:
        """Add ``shift`` to the logit of every gate."""
        self.gate_shift += shift

    def posterior(self, psi: Params, knobs: Knobs) -> BetaSpikeSlab:
        """Return the law whose draws use the gate that ``knobs`` asks for."""
        off, on = self._concentrations(psi)
        scale = torch.exp(0.5 * clip_keeping_gradient(psi["logvar"], *LOG_VARIANCE_RANGE))
        training = knobs.gates == "relaxed"
        return BetaSpikeSlab(
            off,
            on,
            psi["loc"],
            scale,
            relaxation=lambda l: self.relaxation(l, knobs),
            hierarchical=self.form == "hierarchical" and (training or self.slab_sees_gamma),
            spike_std=self.spike_std if training else 0.0,
            validate_args=False,
        )

    def noise(self, n_rows: int, generator: torch.Generator) -> Noise:
        """Return uniforms for the gates and their Beta laws, and standard normals for the slabs."""
        shape, device = (n_rows, self.n_latent), generator.device
        drawn = {name: torch.rand(shape, generator=generator, device=device) for name in self._uniforms}
        return drawn | {name: torch.randn(shape, generator=generator, device=device) for name in self._normals}

    def bank(self, n: int, generator: torch.Generator) -> list[Noise]:
        """Return stratified uniforms and standard normals."""
        drawn = {name: latin_uniforms(n, self.n_latent, generator) for name in self._uniforms}
        drawn |= {name: latin_normals(n, self.n_latent, generator) for name in self._normals}
        return [{name: values[i, None] for name, values in drawn.items()} for i in range(n)]

    def draw(self, q: Distribution, noise: Noise) -> Draw:
        """Return gate times slab; in a hierarchical law the gate's logit is drawn first."""
        assert isinstance(q, BetaSpikeSlab)
        if not q.hierarchical:
            return q.draw(noise["slab"].shape[:-2], noise=noise)
        odds = log_odds_draw(q.on, q.off, noise["beta_on"], noise["beta_off"])
        z, gate, _ = self._given(q, odds).draw(noise=noise)
        assert gate is not None
        if q.spike_std:
            z = z + (1 - gate) * q.spike_std * noise["spike"]
        return Draw(z, gate, {"odds": odds})

    def _given(self, q: BetaSpikeSlab, odds: Tensor) -> SpikeSlab:
        """Return the law of the code given the drawn odds of being on, (..., B, K)."""
        loc, scale = q.loc, q.scale
        if self.by_gamma is not None:
            gamma_above_mean = q.probs - odds.sigmoid()  # gamma - E[gamma] = E[v] - v
            shift, stretch = F.linear(gamma_above_mean, self.by_gamma).float().chunk(2, dim=-1)
            logvar = clip_keeping_gradient(2 * scale.log() + stretch, *LOG_VARIANCE_RANGE)
            loc, scale = loc + shift, torch.exp(0.5 * logvar)
        return SpikeSlab(clip_keeping_gradient(odds, *LOGIT_RANGE), loc, scale, q.relaxation, validate_args=False)

    def divergence(self, q: Distribution, p: Distribution, draw: Draw) -> Params:
        """Return what the gates cost, or their Beta laws where those were drawn, and what the chosen values cost."""
        assert isinstance(q, BetaSpikeSlab)
        assert isinstance(p, BetaSpikeSlab)
        gate, slab = kl_parts(q, p)
        if q.hierarchical:
            gate = hierarchical_gate_kl(q, p)
            if q.spike_std:
                slab = self._mixture_ratio(q, p, draw)
            elif self.slab_sees_gamma:
                slab = kl_parts(self._given(q, draw.auxiliary["odds"]), p).slab
            gate = gate.expand_as(slab)
        return {"kl_gate": gate.sum(-1), "kl_slab": slab.sum(-1)}

    def log_ratio(self, q: Distribution, p: Distribution, draw: Draw) -> Tensor:
        """Return log q - log p of a draw, (..., B): of the code alone, or of (v, z) where v was drawn."""
        assert isinstance(q, BetaSpikeSlab)
        assert isinstance(p, BetaSpikeSlab)
        if not q.hierarchical:
            return super().log_ratio(q, p, draw)
        odds = draw.auxiliary["odds"]
        rates = log_odds_log_prob(odds, q.on, q.off) - log_odds_log_prob(odds, p.on, p.off)
        slabs = self._given(q, odds).slab.log_prob(draw.z) - p.slab.log_prob(draw.z)
        return (rates + torch.where(draw.z == 0, 0.0, slabs)).sum(-1)

    def _mixture_ratio(self, q: BetaSpikeSlab, p: BetaSpikeSlab, draw: Draw) -> Tensor:
        """Return what a draw says of the divergence of the mixtures that share its odds."""
        given, spike = self._given(q, draw.auxiliary["odds"]), draw.z.new_full((), self.spike_std)
        one, other = (GaussianSpikeSlab(given.logits, l.loc, l.scale, spike, validate_args=False) for l in (given, p))
        return one.log_prob(draw.z) - other.log_prob(draw.z)

    def summary(self, psi: Params) -> CodeSummary:
        """Return slab means and variances, at the mean of v, with the logits of being on, v integrated out."""
        off, on = self._concentrations(psi)
        logits = (on.log() - off.log()).clamp(*LOGIT_RANGE)
        return CodeSummary(psi["loc"], psi["logvar"].clamp(*LOG_VARIANCE_RANGE).exp(), logits)

    def _concentrations(self, psi: Params) -> tuple[Tensor, Tensor]:
        if self.gate_head == "rate":
            logits, size = clip_keeping_gradient(psi["logits"], *LOGIT_RANGE), F.softplus(psi["size"]) + 1
            off, on = size * torch.sigmoid(-logits), size * torch.sigmoid(logits)
        else:
            off, on = (F.softplus(psi[name]) + 1e-5 for name in ("off", "on"))
        if self.form == "hierarchical" or self.gate_head == "softplus":
            off, on = (clip_keeping_gradient(value, *CONCENTRATIONS) for value in (off, on))
        return off, on * self.gate_shift.exp()
