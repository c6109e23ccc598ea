"""What keeps codes in use where a decoder could do without them, in one place for every model."""

from __future__ import annotations

from dataclasses import dataclass

from fewhot.core.checks import real_number, whole_number
from fewhot.core.errors import InvalidParameterError
from fewhot.core.parts import Configurable
from fewhot.core.registry import POLICIES
from fewhot.core.schedules import Linear
from fewhot.inference import Amortised
from fewhot.models.latent_model import LatentModel
from fewhot.models.sequence_decoder import SequenceDecoder
from fewhot.objectives import KL

FREE_BITS, WORD_DROPOUT = 4.0, 0.5
"""What models that say texts word by word are given where nothing is said."""


@POLICIES.register("against-collapse")
@dataclass(frozen=True, kw_only=True)
class AgainstCollapse(Configurable):
    """Ways to keep a strong decoder, such as one that says texts word by word, from ignoring the code.

    They change what is trained, never what is reported: bounds have weight 1, and see every word.

    Attributes
    ----------
    warm_up
        Share of the steps over which the divergence comes in, after a dense start if there is one; 0 has it in full
        at once. None leaves what the model does by itself.
    free_bits
        Nats a row, in the mean of a batch, below which nothing pushes the divergence further down.
    word_dropout
        Share of the words that a decoder of texts does not see when it says the next one.
    encoder_steps
        How many times the encoder alone moves after each step of all.
    encoder_share
        Share of the steps in which it does.

    References
    ----------
    Bowman et al. (2016), Generating sentences from a continuous space; Kingma et al. (2016), Improved variational
    inference with inverse autoregressive flow; He, Spokoyny, Neubig and Berg-Kirkpatrick (2019), Lagging inference
    networks and posterior collapse.

    Examples
    --------
    >>> import fewhot as fh
    >>> texts = ["the sea is blue", "the sun is hot"] * 20
    >>> guard = AgainstCollapse(free_bits=2.0, word_dropout=0.3)
    >>> vae = fh.VAE(4, encoder="gru", hidden_layer_sizes=(8,), max_steps=5, against_collapse=guard).fit(texts)
    >>> vae.transform(texts).shape
    (40, 4)
    """

    warm_up: float | None = None
    free_bits: float = 0.0
    word_dropout: float = 0.0
    encoder_steps: int = 0
    encoder_share: float = 0.2

    def __post_init__(self) -> None:
        if self.warm_up is not None:
            real_number("warm_up", self.warm_up, low=0, high=1)
        real_number("free_bits", self.free_bits, low=0)
        real_number("word_dropout", self.word_dropout, low=0, high=1)
        whole_number("encoder_steps", self.encoder_steps, least=0)
        real_number("encoder_share", self.encoder_share, low=0, high=1)

    def change(self, model: LatentModel, n_steps: int) -> None:
        """Change a fresh model that is to be trained for ``n_steps`` steps."""
        if self.warm_up is not None:
            begin = _begin_of_divergence(model)
            if self.warm_up or begin:
                model.schedules["kl_weight"] = Linear(0.0, 1.0, max(1, int(self.warm_up * n_steps)), begin)
            else:
                model.schedules.pop("kl_weight", None)
        if self.free_bits:
            _divergence_of(model).free_bits = float(self.free_bits)
        if self.word_dropout:
            _speaking(model).word_dropout = float(self.word_dropout)
        if self.encoder_steps:
            procedure = _amortised(model)
            procedure.encoder_steps = self.encoder_steps
            procedure.encoder_until = int(self.encoder_share * n_steps)


def unless_told(model: LatentModel) -> AgainstCollapse:
    """Return what is done for a model of which nothing is said: nothing, unless it says texts word by word."""
    if not isinstance(model.decoder, SequenceDecoder):
        return AgainstCollapse()
    is_whole = any(isinstance(term, KL) for term in model.objective.terms)
    return AgainstCollapse(free_bits=FREE_BITS if is_whole else 0.0, word_dropout=WORD_DROPOUT)


def _begin_of_divergence(model: LatentModel) -> int:
    """Return the step at which the divergence begins to come in: later than the first after a dense start."""
    schedule = model.schedules.get("kl_weight")
    return schedule.begin if isinstance(schedule, Linear) else 0


def _divergence_of(model: LatentModel) -> KL:
    for term in model.objective.terms:
        if isinstance(term, KL):
            return term
    raise InvalidParameterError(
        "free_bits is about the divergence as a whole, which this model trains in parts; leave it out, or take another "
        "model."
    )


def _speaking(model: LatentModel) -> SequenceDecoder:
    if not isinstance(model.decoder, SequenceDecoder):
        raise InvalidParameterError(
            "word_dropout is for models that say texts word by word, and this one does not; leave it out."
        )
    return model.decoder


def _amortised(model: LatentModel) -> Amortised:
    if type(model.inference) is not Amortised:
        raise InvalidParameterError(
            "encoder_steps is for models whose encoder is trained by gradients through the code; leave it out."
        )
    return model.inference
