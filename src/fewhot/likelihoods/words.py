"""Texts word by word: each given those before it and the code."""

from __future__ import annotations

import torch
from torch import Tensor

from fewhot.core.errors import InvalidInputError
from fewhot.core.records import END, PADDING, ColumnMoments, DataSpec
from fewhot.core.registry import STRUCTURES
from fewhot.likelihoods.base import Likelihood

_LEAST_COUNT = 0.5
"""What a word that no training text has counts as, in all of them together."""


@STRUCTURES.register("words")
class WordLikelihood(Likelihood):
    r"""A decoder says scores for every next word; a text ends with its end, which is a word too.

    .. math:: \log p(x \mid z) = \sum_{t=1}^{T} \log \mathrm{softmax}\big(f(x_1, \dots, x_{t-1}, z)\big)_{x_t}

    Padding adds nothing. A decoder that goes through texts, `fewhot.models.SequenceDecoder`, knows the words before.

    Parameters
    ----------
    n_columns
        Size of the vocabulary, its special words included.
    """

    def check(self, spec: DataSpec) -> None:
        """Refuse rows of numbers, and texts of another vocabulary."""
        if spec.kind != "text":
            raise InvalidInputError("The data are rows of numbers, and the model was made for texts; give strings.")
        super().check(spec)

    def output_bias(self, moments: ColumnMoments) -> Tensor:
        """Return the log frequencies of words, an end for each text; padding is never said."""
        counts = (moments.mean * moments.n_rows).clone()
        counts[END] = moments.n_rows
        bias = torch.log(counts.clamp(min=_LEAST_COUNT) / counts.sum())
        bias[PADDING] = bias.min()
        return bias

    def describe(self, spec: DataSpec) -> str:
        """Name the family."""
        return "words of a text, each given those before it, the end included"
