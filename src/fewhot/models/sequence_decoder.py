"""The decoder of texts: a recurrent network that says one word after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fewhot.core.checks import real_number
from fewhot.core.errors import InvalidInputError, InvalidParameterError
from fewhot.core.parts import Part
from fewhot.core.records import END, PADDING, Batch, Noise, Rows, Tokens
from fewhot.core.registry import STRUCTURES
from fewhot.data.text.vocabulary import UNKNOWN
from fewhot.features.dropout import uniforms
from fewhot.likelihoods.base import Likelihood
from fewhot.models.decoder import Decoder
from fewhot.models.encoder import Encoder
from fewhot.nn import WordGRU, word_log_probs
from fewhot.nn.gru import N_EMBEDDING, N_HIDDEN, gated_unit, word_vectors, words_before

Choose = Callable[[Tensor], Tensor]
"""From log-probabilities of the next word, (N, V), to words, (N,)."""
MOST_STATES = 2**26
"""How many numbers the states of texts that are scored together hold: 256 MiB of them."""

MOST_WORDS = 100
"""How many words a text that is said has at most, unless told."""


@STRUCTURES.register("sequence-decoder")
class SequenceDecoder(Decoder):
    r"""A gated recurrent unit that reads the word before and the code, and says how likely each next word is.

    .. math:: h_t = \mathrm{GRU}\big(h_{t-1}, [e_{x_{t-1}}; z]\big), \qquad p(x_t \mid x_{<t}, z)
        = \mathrm{softmax}(W h_t + b)

    with :math:`h_0 = 0`, and an end in the place of the word before the first.

    Parameters
    ----------
    n_latent
        Width of the code.
    head
        The likelihood of words.
    n_embedding, n_hidden
        Widths of the vectors of words and of the state.
    shares_words
        Whether words have the vectors that an encoder of texts has for them; it must have as many of that width.
    sees_gates
        As `Decoder`.
    word_dropout
        The share of words that are not seen when the next one is said, in training; the mark of an unknown word stands
        in their place (Bowman et al., 2016).
    """

    compiles = False  # recurrent layers

    def __init__(
        self,
        n_latent: int,
        head: Likelihood,
        n_embedding: int = N_EMBEDDING,
        n_hidden: int = N_HIDDEN,
        shares_words: bool = True,
        sees_gates: bool = False,
        word_dropout: float = 0.0,
    ) -> None:
        self.word_dropout = real_number("word_dropout", word_dropout, low=0, high=1)
        self.n_embedding = n_embedding
        self.n_hidden = n_hidden
        self.shares_words = shares_words
        super().__init__(n_latent, [], head, sees_gates=sees_gates)
        self.own_words = None if shares_words else word_vectors(head.n_columns, n_embedding)
        self._shared: tuple[nn.Embedding, ...] = ()  # in a tuple: the encoder's weights are saved with the encoder

    def _networks(self, head: Likelihood) -> tuple[Part, nn.Linear]:
        output = nn.Linear(self.n_hidden, head.n_columns)
        nn.init.normal_(output.weight, 0.0, self.n_hidden**-0.5)
        return _Speaking(self.n_embedding + self._n_in, self.n_hidden), output

    def join(self, encoder: Encoder) -> None:
        """Take the vectors of words from the encoder, where they are shared."""
        if not self.shares_words:
            return
        body = encoder.body
        if not isinstance(body, WordGRU) or (body.n_words, body.n_embedding) != (
            self.head.n_columns,
            self.n_embedding,
        ):
            raise InvalidParameterError(
                "The decoder shares the vectors of words with an encoder that has none of this size; build it with "
                "shares_words=False."
            )
        self._shared = (body.words,)

    @property
    def words(self) -> nn.Embedding:
        """The vectors of words."""
        if self.own_words is not None:
            return self.own_words
        if not self._shared:
            raise InvalidParameterError("The decoder shares the vectors of words with an encoder; put it in a model.")
        return self._shared[0]

    def noise(self, n_rows: int, generator: torch.Generator) -> Noise:
        """Return a key a text, from which it follows which words are not seen; nothing where all are."""
        if not self.word_dropout:
            return {}
        return {"decoder": torch.randint(2**62, (n_rows, 1), generator=generator, device=generator.device)}

    def likelihood(
        self, z: Tensor, batch: Batch, gate: Tensor | None = None, keys: Tensor | None = None
    ) -> SpokenTexts:
        """Return p(x | z); with keys, where some words are not seen."""
        return SpokenTexts(self, self._read(z, gate), keys)

    def generate(self, z: Tensor) -> SpokenTexts:
        """Return p(x | z) of codes without data."""
        return SpokenTexts(self, self._read(z, None))

    def states(self, codes: Tensor, ids: Tensor, keys: Tensor | None = None) -> Tensor:
        """Return the state before each word of texts, (N, T, H), for what is read of their codes, (N, C)."""
        before = words_before(ids)
        if keys is not None:
            places = torch.arange(ids.shape[1], device=ids.device)
            unseen = (uniforms(keys, places) < self.word_dropout) & (places > 0)  # the beginning is always seen
            before = torch.where(unseen, UNKNOWN, before)
        read = torch.cat([self.words(before), codes[:, None].expand(-1, ids.shape[1], -1)], dim=-1)
        return self.body(read)[0]

    def next_word(self, codes: Tensor, word: Tensor, state: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return log-probabilities of the word after ``word``, (N, V), and the state, (1, N, H); never padding."""
        said, state_after = self.body(torch.cat([self.words(word), codes], dim=-1)[:, None], state)
        scores = self.output(said[:, 0]).float()
        scores[:, PADDING] = -torch.inf
        return scores.log_softmax(-1), state_after

    def _read(self, z: Tensor, gate: Tensor | None) -> Tensor:
        if not self.sees_gates:
            return z
        return torch.cat([z, (z != 0).to(z.dtype) if gate is None else gate], dim=-1)


class _Speaking(Part):
    """A gated recurrent unit, (N, T, C) to states (N, T, H) and the last of them."""

    def __init__(self, n_in: int, n_hidden: int) -> None:
        super().__init__()
        self.gru = gated_unit(n_in, n_hidden)

    def forward(self, read: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        return self.gru(read, state)


class SpokenTexts(NamedTuple):
    """p(x | z) over whole texts.

    Parameters
    ----------
    decoder
        What says the words.
    codes
        What it reads of the codes, (..., B, C).
    keys
        What decides which words it does not see, (B, 1); None where it sees all.
    """

    decoder: SequenceDecoder
    codes: Tensor
    keys: Tensor | None = None

    def log_prob(self, x: Rows) -> Tensor:
        """Return the log-probability of each text, its end included, (..., B)."""
        if not isinstance(x, Tokens):
            raise InvalidInputError("The rows are numbers, and the model says texts; give a list of strings.")
        codes = self.codes.flatten(0, -2)  # (N, C)
        n_draws = len(codes) // x.n_rows
        texts_at_once = max(1, MOST_STATES // (x.ids.shape[1] * max(self.decoder.n_hidden, codes.shape[1])))
        ids = x.ids.repeat(n_draws, 1)  # (N, T)
        keys = None if self.keys is None else self.keys.repeat(n_draws, 1)
        pieces = [slice(start, start + texts_at_once) for start in range(0, len(codes), texts_at_once)]
        scored = [self._scored(codes[piece], ids[piece], None if keys is None else keys[piece]) for piece in pieces]
        return torch.cat(scored).view(self.codes.shape[:-1])

    def _scored(self, codes: Tensor, ids: Tensor, keys: Tensor | None) -> Tensor:
        states, words = self.decoder.states(codes, ids, keys).flatten(0, 1), ids.flatten()
        output, inside = self.decoder.output, words != PADDING
        assert isinstance(output, nn.Linear)
        if ids.device.type == "cpu":  # scores are most of the work, and a CPU can leave those of padding out
            said = word_log_probs(states[inside], output.weight, output.bias, words[inside])
            said = said.new_zeros(len(words)).masked_scatter(inside, said)
        else:
            said = torch.where(inside, word_log_probs(states, output.weight, output.bias, words), 0.0)
        return said.view(ids.shape).sum(-1)

    @property
    def mean(self) -> Tensor:
        """Refuse: texts have no mean."""
        raise InvalidParameterError("Texts have no mean; decode the codes instead: decode(Z).")

    @torch.no_grad()
    def sample(self, generator: torch.Generator | None = None, max_length: int = MOST_WORDS) -> Tensor:
        """Return texts drawn word by word, as padded ids (..., B, T)."""
        return self.said(lambda scores: torch.multinomial(scores.exp(), 1, generator=generator)[:, 0], max_length)

    @torch.no_grad()
    def greedy(self, max_length: int = MOST_WORDS) -> Tensor:
        """Return texts whose every word is the likeliest after those before, as padded ids (..., B, T)."""
        return self.said(_likeliest, max_length)

    @torch.no_grad()
    def beam(self, n_beams: int = 5, max_length: int = MOST_WORDS) -> Tensor:
        """Return the likeliest texts that a search finds which keeps ``n_beams`` beginnings, as padded ids (..., B, T).

        A text that has ended competes with longer ones as it is, and so does the greedy text, whose beginning the
        search may have dropped.
        """
        codes = self.codes.flatten(0, -2)
        n, n_words = len(codes), self.decoder.head.n_columns
        beams = codes.repeat_interleave(n_beams, 0)  # (N k, C)
        first = torch.arange(n, device=codes.device)[:, None] * n_beams
        score = codes.new_full((n, n_beams), -torch.inf)
        score[:, 0] = 0.0  # all beginnings are the same to begin with
        word = torch.full((n * n_beams,), END, dtype=torch.int64, device=codes.device)
        ended, state = torch.zeros_like(word, dtype=torch.bool), None
        texts = word.new_empty(n * n_beams, 0)
        for place in range(max_length + 1):
            said, state = self.decoder.next_word(beams, word, state)
            stays = torch.full_like(said, -torch.inf)
            stays[:, PADDING] = 0.0
            said = torch.where(ended[:, None], stays, said)
            if place == max_length:  # nothing but an end is left to say
                said[:, END + 1 :] = -torch.inf
            total = (score[:, :, None] + said.view(n, n_beams, n_words)).flatten(1)
            score, chosen = total.topk(n_beams, dim=-1)
            origin, word = (first + chosen // n_words).flatten(), (chosen % n_words).flatten()
            texts = torch.cat([texts[origin], word[:, None]], dim=1)
            state, ended = state[:, origin], ended[origin] | (word == END)
            if bool(ended.all()):
                break
        of_found, best = score.max(-1)
        greedy, of_greedy = self._scored_as_said(_likeliest, max_length)
        likeliest = _chosen_texts(of_greedy > of_found, greedy, texts[first[:, 0] + best])
        return likeliest.view(*self.codes.shape[:-1], -1)

    def said(self, choose: Choose, max_length: int) -> Tensor:
        """Return texts, word by word as ``choose`` says, until all have ended; the last word is an end."""
        return self._scored_as_said(choose, max_length)[0].view(*self.codes.shape[:-1], -1)

    def _scored_as_said(self, choose: Choose, max_length: int) -> tuple[Tensor, Tensor]:
        """Return the texts, (N, T), and their log-probabilities, (N,)."""
        codes = self.codes.flatten(0, -2)
        word = torch.full((len(codes),), END, dtype=torch.int64, device=codes.device)
        ended = torch.zeros_like(word, dtype=torch.bool)
        state, texts, total = None, [], codes.new_zeros(len(codes), dtype=torch.float32)
        for place in range(max_length + 1):
            scores, state = self.decoder.next_word(codes, word, state)
            word = torch.full_like(word, END) if place == max_length else choose(scores)
            texts.append(torch.where(ended, PADDING, word))
            total += torch.where(ended, 0.0, scores.gather(1, word[:, None])[:, 0])
            ended = ended | (word == END)
            if bool(ended.all()):
                break
        return torch.stack(texts, dim=-1), total


def _likeliest(scores: Tensor) -> Tensor:
    return scores.argmax(-1)


def _chosen_texts(first_ones: Tensor, one: Tensor, other: Tensor) -> Tensor:
    """Return texts of the one, where ``first_ones`` says so, and else of the other, padded alike."""
    width = max(one.shape[1], other.shape[1])
    one, other = (F.pad(ids, (0, width - ids.shape[1]), value=PADDING) for ids in (one, other))
    return torch.where(first_ones[:, None], one, other)
