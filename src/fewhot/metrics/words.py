"""Which words a unit stands for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fewhot.core.checks import whole_number
from fewhot.core.devices import in_float32
from fewhot.core.errors import InvalidParameterError
from fewhot.data.text import Vocabulary
from fewhot.data.text.vocabulary import N_SPECIAL
from fewhot.metrics.proportions import decoder_module, log_proportions
from fewhot.metrics.text_counts import spelling
from fewhot.metrics.traversal import chosen_units

_UNITS_AT_ONCE = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class TopWords:
    """The words that gain most when a unit goes up, and those that gain most when it goes down.

    Attributes
    ----------
    units
        The units, (U,).
    columns_up, columns_down
        Columns of the words, those that gain most first, (U, n). A unit that only ever goes up, such as a topic of
        `fewhot.baselines.LDA`, has no words down, (U, 0).
    scores_up, scores_down
        How much they gain, in the same places.
    vocabulary
        The words of all columns.
    """

    units: np.ndarray
    columns_up: np.ndarray
    scores_up: np.ndarray
    columns_down: np.ndarray
    scores_down: np.ndarray
    vocabulary: tuple[str, ...]

    @property
    def up(self) -> list[list[str]]:
        """Words that gain when the unit goes up, a list a unit."""
        return self._words(self.columns_up)

    @property
    def down(self) -> list[list[str]]:
        """Words that gain when the unit goes down, a list a unit."""
        return self._words(self.columns_down)

    def __len__(self) -> int:
        return len(self.units)

    def __str__(self) -> str:
        lines: list[str] = []
        width = len(f"unit {self.units.max(initial=0)}")
        for unit, up, down in zip(self.units, self.up, self.down, strict=True):
            lines.append(f"{f'unit {unit}':<{width}}  {'+ ' if down else ''}{' '.join(up)}")
            if down:
                lines.append(f"{'':<{width}}  - {' '.join(down)}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping: a record a unit, with words and their scores in both directions."""
        up = zip(self.up, self.scores_up.tolist(), strict=True)
        down = zip(self.down, self.scores_down.tolist(), strict=True)
        return {
            "units": [
                {"unit": unit, "up": _pairs(*gained), "down": _pairs(*lost)}
                for unit, gained, lost in zip(self.units.tolist(), up, down, strict=True)
            ]
        }

    def _words(self, columns: np.ndarray) -> list[list[str]]:
        return [[self.vocabulary[column] for column in row] for row in columns.tolist()]


@in_float32()
def top_words(
    estimator: Any,
    n: int = 10,
    *,
    units: Sequence[int] | None = None,
    vocabulary: Sequence[str] | None = None,
) -> TopWords:
    r"""Return the words that a unit makes more probable when it goes up, and when it goes down.

    .. math:: s_v^{\pm} = \Delta^{\pm}_v - \frac{1}{V}\sum_w \Delta^{\pm}_w, \qquad
        \Delta^{\pm}_v = \log p(v \mid z^0 + (\pm\sigma_j)\,e_j) - \log p(v \mid z^0)

    with :math:`z^0` the prior's mean and :math:`\sigma_j` the prior's deviation. What all words gain alike is taken
    off, since proportions sum to 1: for a log-linear decoder and a standard prior, :math:`s^{\pm}_v` is therefore
    :math:`\pm` the weight of the word less the unit's mean weight, and both directions have the same words in
    opposite order. In a deeper decoder they need not. A unit with a gate goes from off to one deviation above or
    below its prior's mean when on, all other units off.

    Parameters
    ----------
    estimator
        A fitted estimator with a multinomial likelihood, or one with topics (``topics_``, of which the probabilities
        are the scores), such as `fewhot.baselines.LDA`.
    n
        How many words.
    units
        Which units; None takes all.
    vocabulary
        The word of each column; None takes the words of the texts that were fitted, ``feature_names_in_``, or else
        "column 0", "column 1", ... Of a model of texts, the columns of padding, end and unknown words are left out.

    Examples
    --------
    >>> import fewhot as fh
    >>> X = np.random.default_rng(0).poisson(1.0, size=(50, 4))
    >>> vae = fh.VAE(n_components=2, likelihood="multinomial", max_steps=5, random_state=0).fit(X)
    >>> found = top_words(vae, 2, vocabulary=["orbit", "goal", "gun", "disk"])
    >>> found.columns_up.shape, len(found.down[0])
    ((2, 2), 2)
    """
    topics = getattr(estimator, "topics_", None)
    n_units, n_words = _sizes(decoder_module(estimator)) if topics is None else topics.shape
    of_texts: Vocabulary | None = getattr(estimator, "vocabulary_", None)
    given = spelling(of_texts) if vocabulary is None and of_texts is not None else vocabulary
    words = words_of_columns(estimator, given, n_words)
    first = 0 if of_texts is None else N_SPECIAL
    if whole_number("n", n) > n_words - first:
        raise InvalidParameterError(
            f"n is {n} and the vocabulary has {n_words - first} words; ask for at most as many."
        )
    chosen = chosen_units(units, n_units)
    if topics is None:
        gains = _gains(estimator.module_, chosen, first)
        parts = [(largest(up, n), largest(down, n)) for up, down in gains]
        up, down = ([np.concatenate(both) for both in zip(*side, strict=True)] for side in zip(*parts, strict=True))
    else:
        up = largest(topics[chosen], n)
        down = (up[0][:, :0], up[1][:, :0])
    return TopWords(
        units=chosen,
        columns_up=up[0] + first,
        scores_up=up[1],
        columns_down=down[0] + first,
        scores_down=down[1],
        vocabulary=words,
    )


def unnamed(n_words: int) -> list[str]:
    """Return what words are called whose names are not known."""
    return [f"column {column}" for column in range(n_words)]


def words_of_columns(estimator: Any, vocabulary: Sequence[str] | None, n_words: int) -> tuple[str, ...]:
    """Return the word of each column: those given, or the estimator's names of columns, or "column 0" and so on."""
    named: Sequence[str] = getattr(estimator, "feature_names_in_", unnamed(n_words))
    given = named if vocabulary is None else vocabulary
    if isinstance(given, str):
        raise InvalidParameterError("vocabulary is a text; give a list of words, one a column.")
    words = tuple(str(word) for word in given)
    if len(words) != n_words:
        raise InvalidParameterError(
            f"vocabulary has {len(words)} words and the model was fitted with {n_words}; give one a column."
        )
    return words


def largest(scores: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return columns and scores of the ``n`` largest of each row, largest first; of equals, the first column."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, :n]
    return order, np.take_along_axis(scores, order, axis=1)


def _pairs(words: list[str], scores: list[float]) -> list[dict[str, Any]]:
    return [{"word": word, "score": score} for word, score in zip(words, scores, strict=True)]


def _sizes(module: Any) -> tuple[int, int]:
    """Return how many units a model has, and how many words."""
    device, n_units = next(module.parameters()).device, int(module.latent.n_latent)
    with torch.no_grad():
        return n_units, int(log_proportions(module, torch.zeros(1, n_units, device=device)).shape[-1])


@torch.no_grad()
def _gains(module: Any, units: np.ndarray, first: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield what each word gains when units go up and when they go down, (units, words) each, some units at a time.

    Columns before ``first`` are no words.
    """
    device = next(module.parameters()).device
    for start in range(0, len(units), _UNITS_AT_ONCE):
        chosen = torch.as_tensor(units[start : start + _UNITS_AT_ONCE], device=device)
        one_hot = torch.nn.functional.one_hot(chosen, module.latent.n_latent)
        active = one_hot.bool() if module.latent.gated else torch.ones_like(one_hot, dtype=torch.bool)
        mean, std = module.prior.values_given(active, module.posterior_of)
        still = torch.zeros_like(mean) if module.latent.gated else mean
        base = log_proportions(module, still).double()
        moved = (torch.where(one_hot.bool(), mean + sign * std, still) for sign in (1.0, -1.0))
        up, down = ((log_proportions(module, z).double() - base)[:, first:] for z in moved)
        yield _centred(up), _centred(down)


def _centred(gains: Tensor) -> np.ndarray:
    return (gains - gains.mean(-1, keepdim=True)).cpu().numpy()
