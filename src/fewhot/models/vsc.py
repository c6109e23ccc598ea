"""Variational sparse coding: spike-and-slab codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from torch import nn

from fewhot.core.errors import InvalidParameterError
from fewhot.core.records import DataSpec
from fewhot.core.registry import MODELS
from fewhot.core.schedules import Linear, Piecewise, Schedule
from fewhot.features.transforms import Identity
from fewhot.inference import Amortised
from fewhot.latents import SharpSigmoid, SpikeSlabLatent
from fewhot.latents.relaxations import Relaxation
from fewhot.likelihoods.base import Likelihood
from fewhot.models.defaults import decoder_for, encoder_for, features_for, likelihood_for, observation_for, says_bags
from fewhot.models.gating import INDEPENDENT_UNITS, JOINT_UNITS, OPEN_WEIGHT_OF_TEXTS, GatingPolicy
from fewhot.models.latent_model import LatentModel
from fewhot.objectives import KL, Objective, PseudoInputKL, Reconstruction, Term
from fewhot.priors import JointSpikeSlabPrior, Prior, PseudoInputPrior, SpikeSlabPrior

RAMP_SHARE = 1 / 3
"""How long the slabs take to come in after spike pre-training, as a share of its length."""
LONGEST_PRETRAINING = INDEPENDENT_UNITS.freeze / (1 + RAMP_SHARE)


@MODELS.register("vsc")
def vsc(
    spec: DataSpec,
    *,
    n_latent: int = 64,
    hidden_layer_sizes: Sequence[int] = (400,),
    encoder: str | nn.Module = "auto",
    likelihood: str | Likelihood = "auto",
    observation: str = "as-is",
    alpha: float | None = None,
    l0: float | None = None,
    max_share: float | None = None,
    joint: bool = False,
    n_pseudo_inputs: int = 0,
    bound: str = "corrected",
    selection: str = "softmax",
    sharpness: float | None = 10.0,
    pretrain_spikes: float = 0.0,
    dense_start: float = 0.0,
    decoder_sees_gates: bool = False,
    n_steps: int = 20_000,
    faithful: bool = False,
) -> LatentModel:
    r"""Codes that are exactly zero off a set chosen anew for every row.

    .. math:: \mathcal{L}(x) = \mathbb{E}_{q(z|x)}[\log p(x|z)]
        - \sum_j \big[\gamma_j\,G_j + B(\gamma_j\,\|\,\rho_j)\big]

    with :math:`G_j` the divergence of unit j's slab and :math:`B` that of its gate. ``alpha`` fixes every
    :math:`\rho_j` and a standard slab; ``l0`` learns the prior's rates and slabs and holds the mean number of active
    units by a dial, none serving more than ``max_share`` of the rows. ``joint`` learns which units go together, too.
    With ``n_pseudo_inputs`` the prior is the mixture of `PseudoInputPrior`, ``alpha`` its aggregate rate, and the
    divergence that of `PseudoInputKL`. ``pretrain_spikes`` is the share of the steps in which only gates carry
    information, ``dense_start`` the share in which gates begin open and nothing closes them. With
    ``decoder_sees_gates`` the decoder is told s beside z: :math:`p(x|z,s)`.
    ``faithful`` trains as published: :math:`\log\gamma = -\mathrm{ReLU}(-v)`, a soft sharp sigmoid from 50 to 200
    and no warm-up; after spike pre-training the rate drops to a tenth.
    """
    observed = observation_for(spec, observation)
    seen = observed.spec(spec)
    body = encoder_for(seen, hidden_layer_sizes, encoder)
    if n_pseudo_inputs and seen.kind == "text" and isinstance(body.features, Identity):
        raise InvalidParameterError(
            "prior='pseudo-inputs' learns rows of numbers, and the encoder reads texts; give encoder='mlp', which "
            "reads the counts of words."
        )
    head = likelihood_for(seen, likelihood)
    open_weight = OPEN_WEIGHT_OF_TEXTS if says_bags(seen, head) else 1.0
    policy = replace(JOINT_UNITS if joint else INDEPENDENT_UNITS, dense_start=dense_start, open_weight=open_weight)
    rate = min(alpha, 1.0) if alpha is not None else policy.prior_rate(min((l0 or 1) / n_latent, 0.5))
    relaxation: Relaxation = SharpSigmoid(50.0, "soft") if faithful else policy.gate()
    prior: Prior
    kl: Term = KL()
    if n_pseudo_inputs:
        low, high = 0.0 if seen.minimum >= 0 else None, 1.0 if seen.unit_interval else None
        prior = PseudoInputPrior(n_latent, seen.n_columns, n_pseudo_inputs, sharpness, low, high)
        kl = PseudoInputKL(features_for(seen), seen.n_columns, n_pseudo_inputs, bound, selection, alpha)
    elif joint:
        prior = JointSpikeSlabPrior(n_latent, rate)
    else:
        prior = SpikeSlabPrior(n_latent, rate, learned=alpha is None)
    return LatentModel(
        observation=observed,
        encoder=body,
        latent=SpikeSlabLatent(body.n_out, n_latent, relaxation, "relu" if faithful else "logit", policy.initial_rate),
        prior=prior,
        decoder=decoder_for(seen, n_latent, hidden_layer_sizes, encoder, head, decoder_sees_gates),
        objective=Objective([Reconstruction(), kl, *policy.dial(l0, n_latent, n_steps, max_share)]),
        inference=Amortised(),
        schedules=_schedules(policy, l0, n_steps, pretrain_spikes, faithful),
    )


def _schedules(
    policy: GatingPolicy, l0: float | None, n_steps: int, pretrain_spikes: float, faithful: bool
) -> Mapping[str, Schedule]:
    slabs_from = int(pretrain_spikes * n_steps)
    slabs = Linear(0.0, 1.0, max(1, int(RAMP_SHARE * slabs_from)), begin=slabs_from)
    spikes_first: dict[str, Schedule] = {"slab_share": slabs} if pretrain_spikes else {}
    if faithful:
        drop = {"learning_rate": Piecewise([1.0, 0.1], [slabs.settled_at])} if pretrain_spikes else {}
        return {"sharpness": Linear(50.0, 200.0, n_steps), **spikes_first, **drop}
    return {**policy.schedules(n_steps, l0), **spikes_first}
