"""The MAT-VAE: dense codes under a sparse prior, held to it by discrepancy."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from fewhot.core.records import DataSpec
from fewhot.core.registry import MODELS
from fewhot.inference import Amortised
from fewhot.latents import GaussianLatent
from fewhot.likelihoods.base import Likelihood
from fewhot.models.defaults import decoder_for, encoder_for, likelihood_for, observation_for, schedules_for
from fewhot.models.latent_model import LatentModel
from fewhot.objectives import KL, MMD, Objective, Reconstruction
from fewhot.priors import GaussianSpikeSlabPrior

START_IN_SPIKES = 2.0
"""Posteriors begin this many times as wide as the prior's spike."""


@MODELS.register("mat-vae")
def mat_vae(
    spec: DataSpec,
    *,
    n_latent: int = 64,
    hidden_layer_sizes: Sequence[int] = (400,),
    encoder: str | nn.Module = "auto",
    likelihood: str | Likelihood = "auto",
    observation: str = "as-is",
    spike_weight: float = 0.8,
    spike_std: float = 0.05,
    kl_weight: float = 1.0,
    mmd_weight: float = 3.0,
    n_steps: int = 20_000,
    faithful: bool = False,
) -> LatentModel:
    r"""Gaussian codes under a prior that is mostly near zero; none of them is exactly zero.

    .. math:: \mathcal{L}(x) = \mathbb{E}_{q(z|x)}[\log p(x|z)] - \psi\,\mathrm{KL}\big(q(z|x)\,\|\,p(z)\big)
        - \lambda\,\mathrm{MMD}^2\big(q(z), p(z)\big), \qquad
        p(z) = \prod_j (1-w)\,\mathcal{N}(0,1) + w\,\mathcal{N}(0,s_0^2)

    The divergence has no closed form and is estimated from the draw of each pass. It is warmed up, and posteriors begin
    about as narrow as the spike: a unit that begins in the slab and has nothing to say stays there, at a price of
    :math:`-\log(1-w)` nats instead of :math:`-\log w`. ``faithful`` trains as first published: from posteriors as wide
    as the slab, without warm-up, by AMSGrad at one learning rate.
    """
    observed = observation_for(spec, observation)
    seen = observed.spec(spec)
    body = encoder_for(seen, hidden_layer_sizes, encoder)
    matching = [MMD(n_latent, mmd_weight)] if mmd_weight else []
    start = 1.0 if faithful or spike_weight == 0 else min(1.0, START_IN_SPIKES * spike_std)
    return LatentModel(
        observation=observed,
        encoder=body,
        latent=GaussianLatent(body.n_out, n_latent, start),
        prior=GaussianSpikeSlabPrior(n_latent, spike_weight, spike_std),
        decoder=decoder_for(seen, n_latent, hidden_layer_sizes, encoder, likelihood_for(seen, likelihood)),
        objective=Objective([Reconstruction(), KL(weight=kl_weight), *matching]),
        inference=Amortised(amsgrad=faithful),
        schedules={} if faithful else schedules_for(n_steps),
    )
