"""The hierarchical sparse VAE: spike-and-slab codes whose on-probabilities have a Beta prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from torch import nn

from fewhot.core.records import DataSpec
from fewhot.core.registry import MODELS
from fewhot.inference import Amortised
from fewhot.latents import BetaSpikeSlabLatent, BinaryConcrete
from fewhot.likelihoods.base import Likelihood
from fewhot.models.defaults import decoder_for, encoder_for, likelihood_for, observation_for, says_bags
from fewhot.models.gating import INDEPENDENT_UNITS, OPEN_WEIGHT_OF_TEXTS
from fewhot.models.latent_model import LatentModel
from fewhot.objectives import KL, Objective, Reconstruction
from fewhot.priors import BetaSpikeSlabPrior


@MODELS.register("hsvae")
def hsvae(
    spec: DataSpec,
    *,
    n_latent: int = 64,
    hidden_layer_sizes: Sequence[int] = (400,),
    encoder: str | nn.Module = "auto",
    likelihood: str | Likelihood = "auto",
    observation: str = "as-is",
    gate_prior: tuple[float, float] = (4.0, 1.0),
    l0: float | None = None,
    max_share: float | None = None,
    dense_start: float = 0.0,
    kl_weight: float = 1.0,
    gate_kl_weight: float = 1.0,
    form: str = "collapsed",
    spike_std: float = 0.0,
    slab_sees_gamma: bool = False,
    faithful: bool = False,
    n_steps: int = 20_000,
) -> LatentModel:
    r"""Codes that are exactly zero off a set chosen anew for every row, under a Beta law for each unit's rate.

    .. math:: \mathcal{L}(x) = \mathbb{E}_{q(z|x)}[\log p(x|z)] - \psi \sum_j \tfrac{b_j}{a_j+b_j}\,G_j
        - \lambda \sum_j K_j

    with :math:`K_j = \mathrm{KL}(\mathrm{Beta}(a_j,b_j)\,\|\,\mathrm{Beta}(a,b))` in the hierarchical form and the
    smaller :math:`B(\tfrac{b_j}{a_j+b_j}\,\|\,\tfrac{b}{a+b})` in the collapsed one. ``gate_prior`` is
    :math:`(a, b)`, the concentrations of being off and on; ``l0`` learns them and holds the mean number of active
    units by a dial, none serving more than ``max_share`` of the rows. Gates begin open where ``dense_start`` is the
    share of the steps before anything closes them. In the hierarchical form ``spike_std`` gives the spike a width in
    training, and ``slab_sees_gamma`` lets slabs depend on the drawn rates:
    :math:`\tfrac{b_j}{a_j+b_j}\,G_j` becomes :math:`\mathbb{E}_v[v_j\,G_j(v)]`. ``faithful`` trains as published: a and
    b from softplus heads, a temperature of 0.5, no warm-up and a constant rate.
    """
    observed = observation_for(spec, observation)
    seen = observed.spec(spec)
    body = encoder_for(seen, hidden_layer_sizes, encoder)
    head = likelihood_for(seen, likelihood)
    open_weight = OPEN_WEIGHT_OF_TEXTS if says_bags(seen, head) else 1.0
    policy = replace(INDEPENDENT_UNITS, dense_start=dense_start, open_weight=open_weight)
    off, on = gate_prior if l0 is None else _concentrations(policy.prior_rate(min(l0 / n_latent, 0.5)))
    relaxation = BinaryConcrete(0.5, "straight-through") if faithful else policy.gate()
    dial = policy.dial(l0, n_latent, n_steps, max_share)
    heads = "softplus" if faithful else "rate"
    return LatentModel(
        observation=observed,
        encoder=body,
        latent=BetaSpikeSlabLatent(
            body.n_out, n_latent, relaxation, form, heads, spike_std, slab_sees_gamma, policy.initial_rate
        ),
        prior=BetaSpikeSlabPrior(n_latent, off, on, learned=l0 is not None),
        decoder=decoder_for(seen, n_latent, hidden_layer_sizes, encoder, head),
        objective=Objective([Reconstruction(), KL(kl_weight, gate_kl_weight), *dial]),
        inference=Amortised(),
        schedules={} if faithful else policy.schedules(n_steps, l0),
    )


def _concentrations(rate: float) -> tuple[float, float]:
    """Return the concentrations of being off and on that have this mean on-rate, the smaller one 1."""
    least = min(rate, 1 - rate)
    return (1 - rate) / least, rate / least
