"""One of each registered part, built from its signature: a new entry is tested without being asked.

An argument that has no default is looked up by its name, first among those of the part's kind. A new part whose
constructor asks for something unheard of adds the name here.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import nn

import fewhot.estimators
import fewhot.training  # noqa: F401  (every part is registered by now)
from fewhot.core.parts import Configurable
from fewhot.core.records import Knobs, Params
from fewhot.core.registry import (
    BODIES,
    CHOICES,
    FEATURES,
    GATES,
    INFERENCES,
    LATENTS,
    LIKELIHOODS,
    MODELS,
    PRIORS,
    SCHEDULES,
    TERMS,
    Registry,
)
from fewhot.core.seeding import seeded
from fewhot.features import Identity
from fewhot.latents import Latent
from fewhot.models import LatentModel
from fewhot.nn import MLP, RowsMLP
from fewhot.priors import PosteriorOf, Prior
from tests.parts import (
    KINDS_OF_DATA,
    N_COLUMNS,
    N_HIDDEN,
    N_LATENT,
    N_PSEUDO_INPUTS,
    N_ROWS,
    rows,
    shake,
    spec_of,
)

KINDS = dict(Registry.kinds)
N_PIXELS = 64

ARGUMENTS: dict[str, Any] = {
    "n_columns": N_COLUMNS,
    "n_in": N_COLUMNS,
    "n_out": N_HIDDEN,
    "n_latent": N_LATENT,
    "hidden_layer_sizes": [N_HIDDEN],
    "value": 0.7,
    "start": 1.0,
    "end": 0.25,
    "known": ["sun", "sea"],
    "n_steps": 40,
    "values": [3.0, 2.0, 1.0],
    "boundaries": [10, 30],
    "order": "l1",
    "l0": 2.0,
    "cap": 0.4,
    "freeze_at": 25,
    "n_rows": 50,
    "n_pseudo_inputs": N_PSEUDO_INPUTS,
    "n_slots": 3,
    "n_labels": N_LATENT,
}
BY_KIND: dict[str, dict[str, Any]] = {
    LATENTS.kind: {"n_in": N_HIDDEN},
    PRIORS.kind: {"rate": 0.3},
    SCHEDULES.kind: {"rate": 0.05},
}
MADE_AFRESH = {
    "module": lambda: MLP(N_COLUMNS, [N_HIDDEN]),
    "features": Identity,
    "first": lambda: RowsMLP(N_COLUMNS, [3]),
    "second": lambda: RowsMLP(N_COLUMNS, [N_HIDDEN - 3]),
}

TRANSFORMER = {
    "model_type": "bert", "vocab_size": 5, "hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 2,
    "intermediate_size": 6, "max_position_embeddings": 8, "type_vocab_size": 1,
}  # fmt: skip

VARIANTS: dict[tuple[str, str], list[dict[str, Any]]] = {
    (BODIES.kind, "conv"): [{"n_in": N_PIXELS}, {"n_in": 3 * N_PIXELS, "hidden_layer_sizes": [3, 2]}],
    (BODIES.kind, "places"): [{"n_places": 2, "side": 6, "n_hidden": 5, "n_kinds": 3}],
    (BODIES.kind, "transposed-conv"): [{"n_columns": N_PIXELS}],
    (BODIES.kind, "pretrained"): [{"architecture": TRANSFORMER, "pieces": "{}"}],
    (BODIES.kind, "word-gru"): [{"n_words": 5, "n_embedding": 3, "n_hidden": 4}],
    (LATENTS.kind, "spike-slab"): [
        {},
        {"gate_head": "relu"},
        *({"relaxation": GATES[name](estimator=how)} for name in GATES for how in ("soft", "straight-through")),
    ],
    (LATENTS.kind, "slot-counts"): [
        {},
        {"shared": False, "preference": 2.0, "n_gate_in": 3},
        {"off_slots_choose": True, "learn_temperatures": True, "estimator": CHOICES["separate-concrete"]()},
        *({"shared": False, "estimator": CHOICES[n]()} for n in ("straight-through", "rao-blackwellised")),
        {"estimator": CHOICES["separate-concrete"](hard=True)},
    ],
    (LATENTS.kind, "one-hot"): [{}, *({"estimator": CHOICES[n]()} for n in ("second-order", "rao-blackwellised"))],
    (LATENTS.kind, "bernoulli"): [{}, {"estimator": CHOICES["straight-through"]()}],
    (PRIORS.kind, "one-hot"): [{}, {"learned": True}],
    (PRIORS.kind, "bernoulli"): [{}, {"learned": True}],
    (PRIORS.kind, "slot-counts"): [{}, {"learned": True, "shared": False, "preference": 1.0}],
    (PRIORS.kind, "joint-slot-counts"): [{}, {"shared": False, "preference": 1.0}],
    (PRIORS.kind, "spike-slab"): [{}, {"learned": True}],
    (LATENTS.kind, "beta-spike-slab"): [
        {},
        {"form": "hierarchical"},
        {"form": "hierarchical", "gate_head": "softplus", "spike_std": 0.05},
        {"form": "hierarchical", "slab_sees_gamma": True},
        {"form": "hierarchical", "spike_std": 0.05, "slab_sees_gamma": True},
    ],
    (PRIORS.kind, "beta-spike-slab"): [{}, {"learned": True}],
    (PRIORS.kind, "gaussian-spike-slab"): [{}, {"spike_weight": 0.0}],
    (PRIORS.kind, "pseudo-inputs"): [
        {},
        {"n_pseudo_inputs": 1},
        {"n_pseudo_inputs": 3, "sharpness": None, "low": 0.0, "high": 1.0},
    ],
    (TERMS.kind, "pseudo-input-kl"): [
        {},
        {"bound": "mixture", "alpha": 0.1},
        *({"bound": "paper", "selection": rule, "alpha": 0.1} for rule in ("softmax", "relu", "sigmoid")),
    ],
    (TERMS.kind, "label-likelihood"): [{}, {"kind": "presence"}, {"kind": "sample", "n_labels": 2}],
    (TERMS.kind, "activation-norm"): [{"order": "l1"}, {"order": "l2"}],
    (TERMS.kind, "total-correlation"): [{}, {"sampling": "weighted"}],
    (SCHEDULES.kind, "exponential"): [{}, {"floor": 0.2}],
    (SCHEDULES.kind, "linear"): [{}, {"begin": 7}],
    (SCHEDULES.kind, "cosine"): [{}, {"begin": 7}],
    (INFERENCES.kind, "svi"): [{"n_steps": 2}, {"n_steps": 2, "keep": "best"}],
    (INFERENCES.kind, "refined"): [
        {"n_steps": 2},
        {"n_steps": 2, "keep": "best", "order": "encoder-first"},
        {"n_steps": 2, "encoder_by": "kl", "beta1": 0.1},
    ],
    (FEATURES.kind, "tf-idf"): [{}, {"smooth": True}],
    (FEATURES.kind, "standardise"): [{}, {"centre": False}],
    (MODELS.kind, "vae"): [{}, {"beta": 4.0, "penalty": "l2"}, {"encoder": "conv"}],
    (MODELS.kind, "hsvae"): [
        {},
        {"form": "hierarchical", "gate_kl_weight": 0.3},
        {"form": "hierarchical", "spike_std": 0.05, "faithful": True},
        {"form": "hierarchical", "slab_sees_gamma": True},
        {"l0": 2.0, "n_steps": 50},
        {"l0": 2.0, "n_steps": 50, "dense_start": 0.5},
    ],
    (MODELS.kind, "gumbel-vae"): [
        {"n_classes": 4, "estimator": "second-order", "learn_prior": True, "n_draws": 3},
        {"n_classes": 2, "estimator": "score-function"},
        {"binary": True, "temperature_decay": 0.01},
        {"binary": True, "estimator": "muprop", "faithful": True},
    ],
    (MODELS.kind, "sdlgm"): [
        {"n_slots": 3, "shared": True, "l0": 2.0, "n_steps": 50},
        {"n_slots": 3, "l0": 2.0, "n_steps": 50, "gate_layer_sizes": [3], "joint": True},
        {
            **{"n_slots": 3, "shared": True, "alpha": 0.4, "gate_layer_sizes": [4, 2]},
            **{"estimator": "separate-concrete", "learn_temperatures": True, "off_slots_choose": True},
            "faithful": True,
        },
    ],
    (MODELS.kind, "sdlgm-labels"): [
        {},
        {"variant": "con", "n_labels": 2, "label_loss": "sample", "estimator": "separate-concrete", "dropout": 0.2},
        {"label_loss": "presence", "label_smoothing": 0.1, "hidden_dropout": 0.5},
    ],
    (MODELS.kind, "mat-vae"): [
        {"mmd_weight": 2.0},
        {"spike_weight": 0.3, "kl_weight": 0.5, "mmd_weight": 0.0},
        {"faithful": True},
    ],
    (MODELS.kind, "vsc"): [
        {"l0": 2.0, "n_steps": 50},
        {"l0": 2.0, "n_steps": 50, "joint": True},
        {"l0": 2.0, "n_steps": 50, "joint": True, "dense_start": 0.5, "decoder_sees_gates": True},
        {"alpha": 0.2, "decoder_sees_gates": True, "encoder": "conv"},
        {"alpha": 0.2},
        {"alpha": 0.2, "faithful": True},
        {"l0": 2.0, "n_steps": 50, "n_pseudo_inputs": 3, "bound": "mixture"},
        {"l0": 2.0, "n_steps": 50, "n_pseudo_inputs": 3, "bound": "mixture", "encoder": "conv"},
        {"alpha": 0.2, "n_steps": 50, "n_pseudo_inputs": 3, "bound": "corrected", "pretrain_spikes": 0.3},
        {"alpha": 0.2, "n_steps": 50, "n_pseudo_inputs": 3, "bound": "paper", "pretrain_spikes": 0.3, "faithful": True},
    ],
}


def every(registry: Registry) -> list[tuple[str, dict[str, Any]]]:
    """Return every entry with each of its variants."""
    return [(name, options) for name in registry for options in VARIANTS.get((registry.kind, name), [{}])]


def identify(value: object) -> str:
    """Name a test case."""
    if not isinstance(value, dict):
        return str(value)
    return "-".join(f"{name}={_word(option)}" for name, option in value.items()) or "default"


def _word(option: object) -> str:
    if not isinstance(option, Configurable):
        return str(option)
    given = [value for value in option.to_config().values() if value is True or isinstance(value, str)]
    return "".join(map(str, (*given, type(option).__name__)))


def build(registry: Registry, name: str, **options: Any) -> Any:
    """Return a part, its required arguments found by their names, its parameters moved from their start."""
    arguments = dict(options)
    for parameter in inspect.signature(registry[name]).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.name in arguments or parameter.default is not parameter.empty:
            continue
        known = {**ARGUMENTS, **BY_KIND.get(registry.kind, {})}
        if parameter.name in MADE_AFRESH:
            arguments[parameter.name] = MADE_AFRESH[parameter.name]()
            continue
        assert parameter.name in known, f"add an example of {parameter.name!r} to tests/conformance/examples.py"
        arguments[parameter.name] = known[parameter.name]
    with seeded(0, registry.kind, name):
        part = registry[name](**arguments)
    if isinstance(part, nn.Module):
        shake(part, size=0.3)
    return part


def rows_for(options: dict[str, Any], kind_of_data: str = "binary", n_rows: int = N_ROWS) -> torch.Tensor:
    """Return rows that a model with these options can read: pictures for convolutions."""
    return rows(kind_of_data, n_rows, N_PIXELS if options.get("encoder") == "conv" else N_COLUMNS)


def build_model(name: str, kind_of_data: str = "binary", *, sparse: bool = False, **options: Any) -> LatentModel:
    """Return a small model for given data, its parameters moved from their start."""
    spec = spec_of(rows_for(options, kind_of_data), sparse=sparse)
    with seeded(0, name):
        model = MODELS[name](spec, n_latent=N_LATENT, hidden_layer_sizes=(N_HIDDEN,), **options)
    shake(model, size=0.2)
    return model


def likelihoods_for(kind_of_data: str) -> list[str]:
    """Return the likelihoods that accept given data."""
    spec, accepting = spec_of(rows(kind_of_data)), []
    for name in LIKELIHOODS:
        try:
            build(LIKELIHOODS, name).check(spec)
        except ValueError:
            continue
        accepting.append(name)
    return accepting


EVERY_LIKELIHOOD_WITH_DATA = [(name, kind) for kind in KINDS_OF_DATA for name in likelihoods_for(kind)]


def features(n_rows: int = N_ROWS) -> torch.Tensor:
    """Return what a latent's heads read."""
    return torch.randn(n_rows, N_HIDDEN, generator=torch.Generator().manual_seed(1))


def noiseless_posterior(latent: Latent, gates: str = "exact") -> tuple[Params, Any]:
    """Return local parameters and posterior of some rows."""
    psi = latent.psi(features())
    return psi, latent.posterior(psi, Knobs(gates=gates))


def posterior_of(latent: Latent) -> PosteriorOf:
    """Return a function from rows to this family's posteriors, as a model hands it to its prior."""
    with seeded(0, "encoder"):
        encoder = RowsMLP(N_COLUMNS, [latent.n_in])
    return lambda x: latent.posterior(latent.psi(encoder(x)), Knobs())


def fits(latent: Latent, prior: Prior) -> bool:
    """Say whether a family can be held against a prior."""
    _, q = noiseless_posterior(latent)
    try:
        law = prior(posterior_of(latent))
        if q.support.is_discrete != law.support.is_discrete:
            return False
        latent.divergence(q, law, latent.draw(q, latent.noise(1, torch.Generator())))
    except (AssertionError, TypeError):
        return False
    return True


LATENT_WITH_PRIOR = [
    (latent, latent_options, prior, prior_options)
    for latent, latent_options in every(LATENTS)
    for prior, prior_options in every(PRIORS)
    if fits(build(LATENTS, latent, **latent_options), build(PRIORS, prior, **prior_options))
]
