"""The sparse deep latent generative model: counts from slots, each of which is off or chooses one unit."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from fewhot.core.records import DataSpec
from fewhot.core.registry import MODELS
from fewhot.latents import SlotCountsLatent
from fewhot.likelihoods.base import Likelihood
from fewhot.models.defaults import decoder_for, encoder_for, likelihood_for, observation_for, schedules_for
from fewhot.models.discrete import discrete_training
from fewhot.models.encoder import Encoder
from fewhot.models.gating import INDEPENDENT_UNITS
from fewhot.models.latent_model import LatentModel
from fewhot.nn import RowsMLP, Twin
from fewhot.objectives import KL, Objective, Reconstruction
from fewhot.priors import JointSlotCountsPrior, SlotCountsPrior

OWN_UNITS = 6.0
"""By how many nats a slot of its own law prefers units of its own to begin with."""


LEAST_RATE = 0.05
"""A slot of a fresh network that a dial watches is on at least so often, and off at least so often."""


@MODELS.register("sdlgm")
def sdlgm(
    spec: DataSpec,
    *,
    n_latent: int = 64,
    n_slots: int = 16,
    shared: bool = False,
    hidden_layer_sizes: Sequence[int] = (400,),
    gate_layer_sizes: Sequence[int] | None = None,
    encoder: str | nn.Module = "auto",
    likelihood: str | Likelihood = "auto",
    observation: str = "as-is",
    alpha: float | None = None,
    l0: float | None = None,
    max_share: float | None = None,
    joint: bool = False,
    estimator: str = "second-order",
    temperature: float = 1.0,
    temperature_decay: float = 0.0,
    least_temperature: float = 0.5,
    learn_temperatures: bool = False,
    n_draws: int = 1,
    off_slots_choose: bool = False,
    warm_up: float = 0.2,
    faithful: bool = False,
    n_steps: int = 20_000,
) -> LatentModel:
    r"""Code rows by counts :math:`z = \sum_\ell \omega_\ell e_{s_\ell}`, at most :math:`L_0` of which are not zero.

    .. math:: \mathcal{L}(x) = \mathbb{E}_{q(z|x)}[\log p(x|z)]
        - \sum_\ell \big[B(\lambda_\ell\,\|\,\rho_\ell) + \lambda_\ell\,C(\pi_\ell\,\|\,\kappa_\ell)\big]

    Slot :math:`\ell` is on with probability :math:`\lambda_\ell(x)` and then chooses a unit by :math:`\pi_\ell(x)`;
    ``shared`` has one law for all slots of a row. With ``alpha`` the prior is :math:`\rho = \alpha`, :math:`\kappa`
    uniform; else both are learned, given what the slots before chose with ``joint``, and ``l0`` holds the mean number
    of active units by a dial. ``gate_layer_sizes`` gives the gates a network of their own. With ``off_slots_choose``
    the second :math:`\lambda_\ell` is 1, as published; ``faithful`` has no warm-up, a constant rate, and a decoder
    that does not start at the mean of the data.
    """
    observed = observation_for(spec, observation)
    seen = observed.spec(spec)
    body = encoder_for(seen, hidden_layer_sizes, encoder)
    if gate_layer_sizes is not None:
        body = Encoder(body.features, Twin(body.body, RowsMLP(seen.n_columns, gate_layer_sizes)))
    training = discrete_training(seen, estimator, temperature, temperature_decay, least_temperature, n_draws)
    rate = _first_rate(alpha, l0, n_slots)
    preference = 0.0 if shared or alpha is not None else OWN_UNITS
    return LatentModel(
        observation=observed,
        encoder=body,
        latent=SlotCountsLatent(
            body.n_out,
            n_latent,
            n_slots,
            shared,
            training.estimator,
            learn_temperatures,
            off_slots_choose,
            rate,
            preference,
            0 if gate_layer_sizes is None else gate_layer_sizes[-1],
            choices_seen=joint,
        ),
        prior=(
            JointSlotCountsPrior(n_latent, n_slots, rate, shared, preference)
            if joint
            else SlotCountsPrior(n_latent, n_slots, rate, shared, alpha is None, preference)
        ),
        decoder=decoder_for(
            seen, n_latent, hidden_layer_sizes, encoder, likelihood_for(seen, likelihood), starts_at_mean=not faithful
        ),
        objective=Objective(
            [Reconstruction(), KL(), *INDEPENDENT_UNITS.dial(l0, n_latent, n_steps, max_share), *training.terms]
        ),
        inference=training.inference,
        schedules={**({} if faithful else schedules_for(n_steps, warm_up)), **training.schedules},
    )


def _first_rate(alpha: float | None, l0: float | None, n_slots: int) -> float:
    """Return how likely a slot is on to begin with: the prior's rate, or what the dial asks for, or a half."""
    if alpha is not None:
        return alpha
    return 0.5 if l0 is None else min(max(l0 / n_slots, LEAST_RATE), 1 - LEAST_RATE)
