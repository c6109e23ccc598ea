"""The words of units: what the rows of a fit say of its codes, kept to be shown without them."""

from __future__ import annotations

from typing import Any

import numpy as np

from fewhot.codes import encode_values
from fewhot.codes.encoding import Encoding
from fewhot.core.seeding import derive_seed
from fewhot.data import Dataset
from fewhot.data.text import TextDataset
from fewhot.data.text.vocabulary import N_SPECIAL
from fewhot.estimators.references import most_rows, observed_rows, some_rows
from fewhot.likelihoods import Likelihood, MultinomialLikelihood, NegativeBinomialLikelihood, PoissonLikelihood
from fewhot.likelihoods.words import WordLikelihood
from fewhot.metrics import TopWords
from fewhot.metrics.text_counts import text_counts
from fewhot.metrics.words import KEPT_WORDS, Words, words_of_codes
from fewhot.models.latent_model import LatentModel

KEPT_ROWS = 10_000
"""Rows that are coded: 1 % of them, by which a unit is judged, are then 100."""
_COUNTS: tuple[type[Likelihood], ...] = (
    MultinomialLikelihood,
    NegativeBinomialLikelihood,
    PoissonLikelihood,
    WordLikelihood,
)


def words_of(module: LatentModel, train: Dataset, seed: int, max_active: int | None = None) -> TopWords | None:
    """Return the words of a model's units in its training rows, or in some of them where there are many.

    Parameters
    ----------
    module
        The trained model.
    train
        The rows it learned from.
    seed
        The seed of the fit, by which rows are drawn.
    max_active
        The most units a code may have on.

    Returns
    -------
    TopWords or None
        None for rows that are neither texts nor counts.
    """
    of_texts = isinstance(train, TextDataset)
    if not (of_texts or isinstance(module.decoder.head, _COUNTS)):
        return None
    drawn = derive_seed(seed, "words")
    some = some_rows(train, KEPT_ROWS if of_texts else min(KEPT_ROWS, most_rows(module, train, drawn)), drawn)
    counts: Any = text_counts(some) if isinstance(some, TextDataset) else observed_rows(module, some)
    words = Words(counts, (), N_SPECIAL if of_texts else 0)
    how = Encoding(max_active=max_active, refine_steps=module.inference.steps_a_row, seed=seed)
    codes: Any = encode_values(module, some, how, sparse=True)
    n = min(KEPT_WORDS, counts.shape[1] - words.first)
    return words_of_codes(codes, words, n, np.arange(codes.shape[1]), gated=module.latent.gated) if n > 0 else None
