"""Variational sparse coding: spike-and-slab codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import nn

from fewhot.core.records import DataSpec
from fewhot.core.registry import MODELS
from fewhot.core.schedules import Linear, Schedule
from fewhot.inference import Amortised
from fewhot.latents import BinaryConcrete, SharpSigmoid, SpikeSlabLatent
from fewhot.latents.relaxations import Relaxation
from fewhot.likelihoods.base import Likelihood
from fewhot.models.decoder import Decoder
from fewhot.models.defaults import encoder_for, likelihood_for, observation_for, rate_decay
from fewhot.models.latent_model import LatentModel
from fewhot.objectives import KL, Dial, Objective, Reconstruction
from fewhot.priors import JointSpikeSlabPrior, SpikeSlabPrior

WARM_UP_SHARE = 0.2
FREEZE_SHARE = 0.8


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
    joint: bool = False,
    n_steps: int = 20_000,
    faithful: bool = False,
) -> LatentModel:
    r"""Codes that are exactly zero off a set chosen anew for every row.

    .. math:: \mathcal{L}(x) = \mathbb{E}_{q(z|x)}[\log p(x|z)]
        - \sum_j \big[\gamma_j\,G_j + B(\gamma_j\,\|\,\rho_j)\big]

    with :math:`G_j` the divergence of unit j's slab and :math:`B` that of its gate. ``alpha`` fixes every
    :math:`\rho_j` and a standard slab; ``l0`` learns the prior's rates and slabs and holds the mean number of active
    units by a dial. ``joint`` learns which units go together, too.
    ``faithful`` trains as first published: :math:`\log\gamma = -\mathrm{ReLU}(-v)`, a soft sharp sigmoid from 50 to 200
    and no warm-up.
    """
    observed = observation_for(spec, observation)
    seen = observed.spec(spec)
    body = encoder_for(seen, hidden_layer_sizes, encoder)
    rate = min(alpha, 1.0) if alpha is not None else min((l0 or 1) / n_latent, 0.5)
    relaxation: Relaxation = SharpSigmoid(50.0, "soft") if faithful else BinaryConcrete(1.0, "straight-through")
    return LatentModel(
        observation=observed,
        encoder=body,
        latent=SpikeSlabLatent(body.n_out, n_latent, relaxation, gate_head="relu" if faithful else "logit"),
        prior=JointSpikeSlabPrior(n_latent, rate) if joint else SpikeSlabPrior(n_latent, rate, learned=alpha is None),
        decoder=Decoder(n_latent, list(hidden_layer_sizes)[::-1], likelihood_for(seen, likelihood)),
        objective=Objective([Reconstruction(), KL(), *dial_for(l0, n_latent, n_steps, 4.0 if joint else 6.0)]),
        inference=Amortised(),
        schedules=_schedules(n_steps, faithful),
    )


def dial_for(l0: float | None, n_latent: int, n_steps: int, crowding: float = 6.0) -> list[Dial]:
    """Return the dial, if one was asked for; a unit may serve ``crowding`` times the mean share, never every row."""
    if l0 is None:
        return []
    share = l0 / n_latent
    cap = max(min(crowding * share, 0.4), (1 + share) / 2 if share > 0.3 else 0.0)
    return [Dial(n_latent, l0, cap, freeze_at=int(FREEZE_SHARE * n_steps))]


def _schedules(n_steps: int, faithful: bool) -> Mapping[str, Schedule]:
    if faithful:
        return {"sharpness": Linear(50.0, 200.0, n_steps)}
    warm_up = Linear(0.0, 1.0, max(1, int(WARM_UP_SHARE * n_steps)))
    return {"kl_weight": warm_up, "learning_rate": rate_decay(n_steps)}
