"""The beta-TCVAE: a VAE whose units are pushed towards independence."""

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
from fewhot.objectives import KL, Objective, Reconstruction, TotalCorrelation
from fewhot.priors import StandardPrior


@MODELS.register("beta-tcvae")
def beta_tcvae(
    spec: DataSpec,
    *,
    n_latent: int = 64,
    hidden_layer_sizes: Sequence[int] = (400,),
    encoder: str | nn.Module = "auto",
    likelihood: str | Likelihood = "auto",
    observation: str = "as-is",
    beta: float = 6.0,
    sampling: str = "stratified",
    n_steps: int = 20_000,
) -> LatentModel:
    r"""Gaussian codes under a standard prior, with weight ``beta`` on the total correlation alone.

    .. math:: \mathcal{L}(x) = \mathbb{E}_{q(z|x)}[\log p(x|z)] - \mathrm{MI} - \beta\,\mathrm{TC} - \mathrm{DWKL}
    """
    observed = observation_for(spec, observation)
    seen = observed.spec(spec)
    body = encoder_for(seen, hidden_layer_sizes, encoder)
    return LatentModel(
        observation=observed,
        encoder=body,
        latent=GaussianLatent(body.n_out, n_latent),
        prior=StandardPrior(n_latent),
        decoder=decoder_for(seen, n_latent, hidden_layer_sizes, encoder, likelihood_for(seen, likelihood)),
        objective=Objective([Reconstruction(), KL(), TotalCorrelation(spec.n_rows, beta - 1, sampling)]),
        inference=Amortised(),
        schedules={"learning_rate": rate_decay(n_steps)},
    )
