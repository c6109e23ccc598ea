"""Parts that read numbers read texts as the counts of their words."""

from __future__ import annotations

import pytest
import torch

from fewhot.core.errors import InvalidInputError
from fewhot.core.records import DataSpec, Dense
from fewhot.core.registry import FEATURES, LIKELIHOODS
from fewhot.features import StochasticBinarise, UnitNorm
from fewhot.features.dropout import thinned
from fewhot.nn import Blank, RowsLinear
from tests.parts import tokens

FEATURE_ARGUMENTS = {"standardise": {"n_columns": 5}, "tf-idf": {"n_columns": 5}}


@pytest.mark.parametrize("name", sorted(FEATURES))
def test_features_of_texts_are_those_of_their_counts(name: str) -> None:
    transform = FEATURES[name](**FEATURE_ARGUMENTS.get(name, {}))
    torch.testing.assert_close(transform(tokens()).dense(), transform(Dense(tokens().dense())).dense())


@pytest.mark.parametrize("name", ["multinomial", "poisson"])
def test_count_likelihoods_of_texts_are_those_of_their_counts(name: str) -> None:
    px = LIKELIHOODS[name](5)(torch.linspace(-1, 1, 15).view(3, 5))
    torch.testing.assert_close(px.log_prob(tokens()), px.log_prob(Dense(tokens().dense())))


def test_bodies_read_texts_as_counts() -> None:
    body = RowsLinear(5, 3)
    torch.testing.assert_close(body(tokens()), body(Dense(tokens().dense())))
    assert torch.equal(Blank(2)(tokens()), torch.zeros(3, 2))


def test_entries_of_texts_are_dropped_as_those_of_counts() -> None:
    keys = torch.arange(3)[:, None]
    torch.testing.assert_close(
        thinned(tokens(), keys, 0.5).dense(), thinned(Dense(tokens().dense()), keys, 0.5).dense()
    )


@pytest.mark.parametrize("observation", [UnitNorm(), StochasticBinarise()])
def test_observations_of_numbers_refuse_texts(observation: UnitNorm | StochasticBinarise) -> None:
    spec = DataSpec(n_columns=5, n_rows=3, integral=True, kind="text")
    with pytest.raises(InvalidInputError, match=r"^The data are texts, and .* is for rows of numbers; leave it out\.$"):
        observation.check(spec)
