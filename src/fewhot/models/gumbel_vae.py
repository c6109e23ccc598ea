"""Variational autoencoders whose codes are choices: one-hot vectors side by side, or units on and off."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from fewhot.core.records import DataSpec
from fewhot.core.registry import MODELS
from fewhot.core.schedules import Schedule
from fewhot.latents import BernoulliLatent, Latent, OneHotLatent
from fewhot.likelihoods.base import Likelihood
from fewhot.models.defaults import decoder_for, encoder_for, likelihood_for, observation_for, schedules_for
from fewhot.models.discrete import discrete_training
from fewhot.models.latent_model import LatentModel
from fewhot.objectives import KL, Objective, Reconstruction
from fewhot.priors import BernoulliPrior, OneHotPrior, Prior


@MODELS.register("gumbel-vae")
def gumbel_vae(
    spec: DataSpec,
    *,
    n_latent: int = 64,
    n_classes: int = 8,
    binary: bool = False,
    hidden_layer_sizes: Sequence[int] = (400,),
    encoder: str | nn.Module = "auto",
    likelihood: str | Likelihood = "auto",
    observation: str = "as-is",
    learn_prior: bool = False,
    estimator: str = "concrete",
    temperature: float = 1.0,
    temperature_decay: float = 0.0,
    least_temperature: float = 0.5,
    n_draws: int = 1,
    warm_up: float = 0.2,
    faithful: bool = False,
    n_steps: int = 20_000,
) -> LatentModel:
    r"""Code rows by N choices among C classes, or by units that are on or off (``binary``).

    .. math:: \mathcal{L}(x) = \mathbb{E}_{q(z|x)}[\log p(x|z)] - \sum_n C(\pi_n\,\|\,\kappa_n)

    with a uniform or learned :math:`\kappa`. The divergence is that of the discrete law whatever the estimator, so what
    soft codes train is no bound; scores are of exact ones. ``faithful`` has no warm-up, a constant
    rate, and a decoder that does not start at the mean of the data.
    """
    observed = observation_for(spec, observation)
    seen = observed.spec(spec)
    body = encoder_for(seen, hidden_layer_sizes, encoder)
    training = discrete_training(seen, estimator, temperature, temperature_decay, least_temperature, n_draws)
    latent: Latent
    prior: Prior
    if binary:
        latent = BernoulliLatent(body.n_out, n_latent, training.estimator)
        prior = BernoulliPrior(n_latent, learned=learn_prior)
    else:
        latent = OneHotLatent(body.n_out, n_latent, n_classes, training.estimator)
        prior = OneHotPrior(n_latent, n_classes, learn_prior)
    schedules: dict[str, Schedule] = {} if faithful else schedules_for(n_steps, warm_up)
    return LatentModel(
        observation=observed,
        encoder=body,
        latent=latent,
        prior=prior,
        decoder=decoder_for(
            seen, n_latent, hidden_layer_sizes, encoder, likelihood_for(seen, likelihood), starts_at_mean=not faithful
        ),
        objective=Objective([Reconstruction(), KL(), *training.terms]),
        inference=training.inference,
        schedules={**schedules, **training.schedules},
    )
