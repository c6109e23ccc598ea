"""Nonlinear factor analysis of counts: what a row's total is spent on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import nn

from fewhot.core.errors import InvalidInputError
from fewhot.core.records import DataSpec
from fewhot.core.registry import FEATURES, MODELS
from fewhot.core.schedules import Schedule
from fewhot.features.transforms import Features, Identity, TfIdf
from fewhot.inference import SVI, Amortised, Inference
from fewhot.latents import GaussianLatent, Latent, SpikeSlabLatent
from fewhot.likelihoods.base import Likelihood
from fewhot.models.decoder import Decoder
from fewhot.models.defaults import encoder_for, features_for, likelihood_for, observation_for
from fewhot.models.encoder import Encoder
from fewhot.models.gating import JOINT_UNITS
from fewhot.models.latent_model import LatentModel
from fewhot.nn import Blank
from fewhot.objectives import KL, Objective, Reconstruction
from fewhot.priors import JointSpikeSlabPrior, Prior, StandardPrior

INPUTS = {"tfidf": "tf-idf", "norm": "proportions", "unit": "unit-length", "log": "log1p", "counts": "identity"}
"""What the inference network may read, and the feature transforms that make it."""


@MODELS.register("nfa")
def nfa(
    spec: DataSpec,
    *,
    n_latent: int = 100,
    hidden_layer_sizes: Sequence[int] = (400, 400),
    n_layers: int = 3,
    encoder: str | nn.Module = "auto",
    activation: str = "relu",
    likelihood: str | Likelihood = "auto",
    observation: str = "as-is",
    features: str = "auto",
    smooth_idf: bool = False,
    dropout: float = 0.0,
    inference: Inference | None = None,
    kl_weight: float = 1.0,
    schedules: Mapping[str, Schedule] | None = None,
    l0: float | None = None,
    max_share: float | None = None,
    n_steps: int = 20_000,
) -> LatentModel:
    r"""Gaussian codes of counts, whose decoder gives the logs of proportions.

    .. math:: \mathcal{L}(x) = \mathbb{E}_{q(z|x)}\Big[\sum_v x_v \log\mathrm{softmax}(f_\theta(z))_v\Big]
        - w\,\mathrm{KL}\big(q(z|x)\,\|\,\mathcal{N}(0, I)\big)

    f has ``n_layers`` layers, the last one linear, the others as wide as the inference network's first. That network
    alone reads ``features``, entries left out with probability ``dropout``; the likelihood sees the counts. ``l0``
    takes sparse codes instead, spike-and-slab ones with a joint prior, and holds the mean number of active units.
    ``inference`` says how local parameters are found: by the network where None; by `SVI`, there is none.
    """
    observed = observation_for(spec, observation)
    seen = observed.spec(spec)
    procedure = inference or Amortised()
    if isinstance(procedure, SVI):
        reader = Encoder(Identity(), Blank(n_out=1))
    else:
        body = encoder_for(seen, hidden_layer_sizes, encoder, activation).body
        reader = Encoder(features_named(features, seen, smooth_idf), body, dropout)
    latent: Latent = GaussianLatent(reader.n_out, n_latent)
    prior: Prior = StandardPrior(n_latent)
    if l0 is not None:
        latent = SpikeSlabLatent(reader.n_out, n_latent, JOINT_UNITS.gate())
        prior = JointSpikeSlabPrior(n_latent, min(l0 / n_latent, 0.5))
    if isinstance(procedure, SVI):
        for parameter in latent.parameters():
            nn.init.zeros_(parameter)  # every row begins at 0
    if likelihood == "auto" and seen.counts:
        likelihood = "multinomial"
    widths = [hidden_layer_sizes[0]] * (n_layers - 1)
    return LatentModel(
        observation=observed,
        encoder=reader,
        latent=latent,
        prior=prior,
        decoder=Decoder(n_latent, widths, likelihood_for(seen, likelihood), activation),
        objective=Objective([Reconstruction(), KL(kl_weight), *JOINT_UNITS.dial(l0, n_latent, n_steps, max_share)]),
        inference=procedure,
        schedules={**({} if l0 is None else JOINT_UNITS.schedules(n_steps, l0)), **(schedules or {})},
    )


def features_named(name: str, spec: DataSpec, smooth_idf: bool = False) -> Features:
    """Return what the inference network reads; "auto" is tf-idf for counts, else what suits the values."""
    if name == "auto" and not spec.counts:
        return features_for(spec)
    if spec.minimum < 0 and name != "counts":
        raise InvalidInputError(
            f"features={name!r} is for counts, and the data hold negative values (minimum {spec.minimum:g}); give "
            f"counts, or likelihood='gaussian' with features='counts'."
        )
    return TfIdf(spec.n_columns, smooth_idf) if name in ("auto", "tfidf") else FEATURES[INPUTS[name]]()
