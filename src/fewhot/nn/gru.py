"""Recurrent networks over the words of texts."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fewhot.core.parts import Part
from fewhot.core.records import END, PADDING, Tokens
from fewhot.core.registry import BODIES

N_EMBEDDING, N_HIDDEN = 256, 512
"""Widths of words and of states, as in Prokhorov et al. (2021)."""


@BODIES.register("word-gru")
class WordGRU(Part):
    """Texts to vectors: the state of a gated recurrent unit at each text's last word, its end, (B, n_hidden).

    States before the end do not see what follows, so padding changes nothing.

    Parameters
    ----------
    n_words
        Size of the vocabulary.
    n_embedding
        Width of the vector that stands for a word.
    n_hidden
        Width of the state.
    """

    compiles = False  # recurrent layers

    def __init__(self, n_words: int, n_embedding: int = N_EMBEDDING, n_hidden: int = N_HIDDEN) -> None:
        super().__init__()
        self.n_words = n_words
        self.n_embedding = n_embedding
        self.n_hidden = n_hidden
        self.words = word_vectors(n_words, n_embedding)
        self.gru = gated_unit(n_embedding, n_hidden)

    @property
    def n_out(self) -> int:
        """Width of the vectors."""
        return self.n_hidden

    def forward(self, x: Tokens) -> Tensor:
        """Return the last state of each text."""
        states, _ = self.gru(self.words(x.ids))  # (B, T, H)
        last = (x.lengths - 1).clamp(min=0)
        return states.gather(1, last[:, None, None].expand(-1, 1, states.shape[-1])).squeeze(1)


def word_vectors(n_words: int, n_embedding: int) -> nn.Embedding:
    """Return a vector a word, small to begin with; padding has none."""
    words = nn.Embedding(n_words, n_embedding, padding_idx=PADDING)
    with torch.no_grad():
        words.weight.uniform_(-0.1, 0.1)
        words.weight[PADDING].zero_()
    return words


def gated_unit(n_in: int, n_hidden: int) -> nn.GRU:
    """Return a gated recurrent unit whose weights begin normal, of variance one over the width that they read."""
    gru = nn.GRU(n_in, n_hidden, batch_first=True)
    with torch.no_grad():
        for weights in gru.parameters():
            weights.normal_(0.0, weights.shape[1] ** -0.5) if weights.dim() == 2 else weights.zero_()
    return gru


def words_before(ids: Tensor) -> Tensor:
    """Return what is known before each word is said: the word before it, and an end before the first, (B, T).

    >>> words_before(torch.tensor([[5, 3, 1, 0]])).tolist()
    [[1, 5, 3, 1]]
    """
    return F.pad(ids[:, :-1], (1, 0), value=END)
