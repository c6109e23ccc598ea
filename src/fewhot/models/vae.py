"""The variational autoencoder, its beta and its penalised forms."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from fewhot.core.records import DataSpec
from fewhot.core.registry import MODELS
from fewhot.inference import Amortised
from fewhot.latents import GaussianLatent
from fewhot.likelihoods.base import Likelihood
from fewhot.models.defaults import decoder_for, encoder_for, likelihood_for, observation_for, rate_decay
from fewhot.models.latent_model import LatentModel
from fewhot.objectives import KL, ActivationNorm, Objective, Reconstruction
from fewhot.priors import StandardPrior


@MODELS.register("vae")
def vae(
    spec: DataSpec,
    *,
    n_latent: int = 64,
    hidden_layer_sizes: Sequence[int] = (400,),
    encoder: str | nn.Module = "auto",
    likelihood: str | Likelihood = "auto",
    observation: str = "as-is",
    beta: float = 1.0,
    penalty: str | None = None,
    penalty_weight: float = 0.01,
    n_steps: int = 20_000,
) -> LatentModel:
    r"""Gaussian codes under a standard prior; ``beta`` weighs the divergence, ``penalty`` adds an activation norm.

    .. math:: \mathcal{L}(x) = \mathbb{E}_{q(z|x)}[\log p(x|z)]
        - \beta\,\mathrm{KL}\big(q(z|x)\,\|\,\mathcal{N}(0, I)\big) - \omega\,R(\mu, \sigma)
    """
    observed = observation_for(spec, observation)
    seen = observed.spec(spec)
    body = encoder_for(seen, hidden_layer_sizes, encoder)
    penalties = [] if penalty is None else [ActivationNorm(penalty, penalty_weight)]
    return LatentModel(
        observation=observed,
        encoder=body,
        latent=GaussianLatent(body.n_out, n_latent),
        prior=StandardPrior(n_latent),
        decoder=decoder_for(seen, n_latent, hidden_layer_sizes, encoder, likelihood_for(seen, likelihood)),
        objective=Objective([Reconstruction(), KL(weight=beta), *penalties]),
        inference=Amortised(),
        schedules={"learning_rate": rate_decay(n_steps)},
    )
