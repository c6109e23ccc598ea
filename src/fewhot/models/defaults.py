"""Choosing parts from a description of the data: names, instances or ``"auto"``."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from fewhot.core.errors import InvalidParameterError
from fewhot.core.parts import Part
from fewhot.core.records import END, DataSpec, Dense
from fewhot.core.registry import BODIES, LIKELIHOODS, OBSERVATIONS
from fewhot.core.schedules import Cosine, Linear, Schedule
from fewhot.features.observations import Observation
from fewhot.features.transforms import Features, Identity, Log1p, Standardise, TfIdf
from fewhot.likelihoods.base import Likelihood
from fewhot.likelihoods.gaussian import GaussianLikelihood
from fewhot.likelihoods.multinomial import MultinomialLikelihood
from fewhot.likelihoods.words import WordLikelihood
from fewhot.models.decoder import ConvDecoder, Decoder
from fewhot.models.encoder import Encoder
from fewhot.models.sequence_decoder import SequenceDecoder
from fewhot.nn import Convolutions, Pretrained, RowsMLP, UserBody, WordGRU

WORDS_LEFT_OUT = 0.3
"""Share of a text's words that an encoder of their counts does not see in training: most words are in few texts."""


def likelihood_for(spec: DataSpec, choice: str | Likelihood = "auto") -> Likelihood:
    """Return a likelihood: what was asked for, or what the values suggest.

    Texts are said word by word (estimators ask for bags of words instead, unless told). Pixels are Gaussian with one
    learned variance for all of them, unless they are 0 or 1. Other values in [0, 1] are taken as Bernoulli, counts as
    negative binomial, everything else as Gaussian with learned variances: whole numbers, too, where a rounded Gaussian
    describes their columns better than counts would be.
    """
    if isinstance(choice, Likelihood):
        likelihood = copy.deepcopy(choice)
    elif choice == "auto" and spec.kind == "text":
        likelihood = WordLikelihood(spec.n_columns)
    elif choice == "auto" and _are_pixels(spec):
        likelihood = GaussianLikelihood(spec.n_columns, standardise="together", variance="shared")
    elif isinstance(choice, str):
        likelihood = LIKELIHOODS[_natural_likelihood(spec) if choice == "auto" else choice](spec.n_columns)
    else:
        raise InvalidParameterError(
            f"likelihood is {choice!r}; it must be 'auto', a likelihood's name ({', '.join(LIKELIHOODS)}) or a "
            f"Likelihood."
        )
    if likelihood.n_columns != spec.n_columns:
        raise InvalidParameterError(
            f"The likelihood was made for {likelihood.n_columns} columns and the data have {spec.n_columns}; "
            f"build it with n_columns={spec.n_columns}."
        )
    likelihood.check(spec)
    return likelihood


def observation_for(spec: DataSpec, choice: str) -> Observation:
    """Return the observation transform called ``choice``, checked against the data."""
    observation = OBSERVATIONS[choice]()
    observation.check(spec)
    return observation


def encoder_for(
    spec: DataSpec, hidden_layer_sizes: Sequence[int], choice: str | nn.Module = "auto", activation: str = "relu"
) -> Encoder:
    """Return an encoder of these rows: an MLP, convolutions, a recurrent network, a registered or a user's body.

    A user's module is copied.
    """
    if choice == "gru":
        return Encoder(Identity(), WordGRU(spec.n_columns, n_hidden=_width_of_states(spec, hidden_layer_sizes)))
    if isinstance(choice, Pretrained):
        _require_texts(spec, "A pretrained encoder")
        return Encoder(Identity(), copy.deepcopy(choice))
    if isinstance(choice, nn.Module) and spec.kind == "text" and not isinstance(choice, Part):
        return Encoder(Identity(), _user_texts(choice, spec.n_columns))
    if isinstance(choice, nn.Module):
        return Encoder(features_for(spec), _user_body(choice, spec.n_columns))
    if choice in ("auto", "mlp"):
        left_out = WORDS_LEFT_OUT if spec.kind == "text" else 0.0
        return Encoder(features_for(spec), RowsMLP(spec.n_columns, hidden_layer_sizes, activation), left_out)
    if choice == "conv":
        _require_squares(spec.image_shape)
        return Encoder(features_for(spec), Convolutions(spec.n_columns, hidden_layer_sizes))
    if not isinstance(choice, str) or choice not in BODIES:
        raise InvalidParameterError(
            f"encoder is {choice!r}; it must be 'auto', 'mlp', 'conv', 'gru', the name of a body that you registered, "
            f"a fewhot.nn.Pretrained for texts, or a torch module from {_read_of(spec)} to vectors (B, H)."
        )
    try:
        body = BODIES[choice](spec.n_columns, hidden_layer_sizes, activation)
    except TypeError as error:
        raise InvalidParameterError(
            f"The body {choice!r} cannot be built from (n_columns, hidden_layer_sizes, activation); "
            f"pass it as a module."
        ) from error
    return Encoder(features_for(spec), body)


def decoder_for(
    spec: DataSpec,
    n_latent: int,
    hidden_layer_sizes: Sequence[int],
    encoder: str | nn.Module,
    head: Likelihood,
    sees_gates: bool = False,
    starts_at_mean: bool = True,
) -> Decoder:
    """Return the decoder that mirrors an encoder: transposed convolutions for convolutions, an MLP for all others.

    Texts word by word are said by a recurrent network, whatever the encoder; it shares the vectors of words with one.
    Bags of their words have a log-linear decoder: a hidden layer says so few words worse and shuts the gates.
    """
    if isinstance(head, WordLikelihood):
        shares = encoder == "gru"
        return SequenceDecoder(
            n_latent, head, n_hidden=hidden_layer_sizes[0], shares_words=shares, sees_gates=sees_gates
        )
    widths = [] if says_bags(spec, head) else list(hidden_layer_sizes)[::-1]
    kind = ConvDecoder if encoder == "conv" else Decoder
    return kind(n_latent, widths, head, sees_gates=sees_gates, starts_at_mean=starts_at_mean)


def says_bags(spec: DataSpec, head: Likelihood) -> bool:
    """Say whether such rows are texts and the likelihood is one of how often each word occurs in them."""
    return spec.kind == "text" and isinstance(head, MultinomialLikelihood)


def _require_squares(shape: tuple[int, ...] | None) -> None:
    """Refuse images that convolutions would take for others, whose rows have as many numbers."""
    if shape is not None and (shape[0] != shape[1] or shape[2:] not in ((), (1,), (3,))):
        raise InvalidParameterError(
            f"Convolutions need square pictures of one or three channels, and the images are "
            f"{'x'.join(map(str, shape))}; crop or pad them to a square, or give encoder='mlp'."
        )


def _width_of_states(spec: DataSpec, hidden_layer_sizes: Sequence[int]) -> int:
    _require_texts(spec, "encoder='gru'")
    if len(hidden_layer_sizes) != 1:
        raise InvalidParameterError(
            f"hidden_layer_sizes is {tuple(hidden_layer_sizes)}, and encoder='gru' has one layer; give one width."
        )
    return hidden_layer_sizes[0]


def _require_texts(spec: DataSpec, what: str) -> None:
    if spec.kind != "text":
        raise InvalidParameterError(f"{what} reads texts, and the data are rows of numbers; choose another encoder.")


def rate_decay(n_steps: int) -> Cosine:
    """Return the learning rate's factor: 1, then half a cosine down to 0.1 over the last two fifths of the steps."""
    return Cosine(1.0, 0.1, max(1, int(0.4 * n_steps)), begin=int(0.6 * n_steps))


def schedules_for(n_steps: int, warm_up: float = 0.2, begin: int = 0) -> dict[str, Schedule]:
    """Return a divergence that comes in from ``begin`` on over a share of the steps, and the decay of the rate."""
    divergence = Linear(0.0, 1.0, max(1, int(warm_up * n_steps)), begin)
    return {"kl_weight": divergence, "learning_rate": rate_decay(n_steps)}


def features_for(spec: DataSpec) -> Features:
    """Return what an encoder should read of such rows."""
    if spec.kind == "text":
        return TfIdf(spec.n_columns)
    if _are_pixels(spec) and not spec.sparse:
        return Standardise(spec.n_columns, together=True)
    if spec.unit_interval:
        return Identity()
    return Log1p() if _are_counts(spec) else Standardise(spec.n_columns, centre=not spec.sparse)


def _read_of(spec: DataSpec) -> str:
    """Return what a module of the user's is given."""
    if spec.kind == "text":
        return "ids and which of them are there, two (B, T) tensors,"
    return f"rows (B, {spec.n_columns})"


def _are_pixels(spec: DataSpec) -> bool:
    """Say whether columns are pixels of more than black and white."""
    return spec.pixels and not spec.binary


def _are_counts(spec: DataSpec) -> bool:
    return spec.counts and not spec.measured


def _natural_likelihood(spec: DataSpec) -> str:
    if spec.unit_interval:
        return "bernoulli"
    return "negative-binomial" if _are_counts(spec) else "gaussian"


def _user_texts(module: nn.Module, n_words: int) -> UserBody:
    """Return a copy of a user's module, tried on two texts of unknown words."""
    ids = torch.tensor([[2, n_words - 1, END]] * 2)
    read = (ids, torch.ones_like(ids, dtype=torch.bool))
    body, width = _tried(module, read, "ids and which of them are there", "two (B, T) tensors")
    return UserBody(body, n_out=width)


def _user_body(module: nn.Module, n_columns: int) -> Part:
    """Return a copy of a user's module, tried on two rows of zeros."""
    zeros = torch.zeros(2, n_columns)
    read = (Dense(zeros) if isinstance(module, Part) else zeros,)
    body, width = _tried(module, read, f"rows of {n_columns} columns", f"(B, {n_columns})")
    return body if isinstance(body, Part) else UserBody(body, n_out=width)


def _tried(module: nn.Module, read: tuple[Any, ...], what: str, shape: str) -> tuple[nn.Module, int]:
    """Return a copy of a module and the width of what it makes of two rows; ``what`` and ``shape`` describe these."""
    body = copy.deepcopy(module).float()
    training = body.training
    body.eval()
    try:
        with torch.no_grad():
            out = body(*read)
    except Exception as error:  # whatever a user's own code raises
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise InvalidParameterError(
            f"The encoder could not read {what} ({reason}); it must map {shape} to (B, H)."
        ) from error
    body.train(training)
    if not isinstance(out, torch.Tensor) or out.ndim != 2 or out.shape[0] != 2:
        made = tuple(out.shape) if isinstance(out, torch.Tensor) else type(out).__name__
        raise InvalidParameterError(f"The encoder maps 2 rows to {made}; it must give a (2, H) tensor.")
    return body, out.shape[1]
