from __future__ import annotations

import pytest
import torch

from fewhot.core.records import ColumnMoments, Dense
from fewhot.likelihoods import MultinomialLikelihood

from .cases import ragged_of, spec_of


@pytest.mark.parametrize("ragged", [False, True], ids=["dense", "ragged"])
@pytest.mark.parametrize("size", [1.0, 1000.0])
def test_empty_rows_give_zero(ragged: bool, size: float) -> None:
    x = torch.zeros(2, 4)
    px = MultinomialLikelihood(4)(size * torch.randn(3, 2, 4))
    assert torch.equal(px.log_prob(ragged_of(x) if ragged else Dense(x)), torch.zeros(3, 2))


def test_adding_a_constant_to_the_scores_changes_nothing() -> None:
    out, x = torch.randn(2, 4), Dense(torch.tensor([[1.0, 0, 2, 5], [0, 0, 3, 0]]))
    likelihood = MultinomialLikelihood(4)
    torch.testing.assert_close(likelihood(out + 7.0).log_prob(x), likelihood(out).log_prob(x))


def test_the_mean_is_a_distribution_until_fitted() -> None:
    torch.testing.assert_close(MultinomialLikelihood(4)(torch.randn(3, 4)).mean.sum(-1), torch.ones(3))


def test_the_mean_sums_to_the_mean_row_total() -> None:
    likelihood = MultinomialLikelihood(4)
    likelihood.fit(ColumnMoments(torch.ones(4), torch.ones(4), 12.4, torch.ones(4), 10))
    torch.testing.assert_close(likelihood(torch.randn(3, 4)).mean.sum(-1), torch.full((3,), 12.4))


@pytest.mark.parametrize(("row_total", "drawn"), [(12.4, 12.0), (0.2, 1.0), (0.0, 0.0)])
def test_draws_hold_the_nearest_whole_total(row_total: float, drawn: float) -> None:
    likelihood = MultinomialLikelihood(4)
    likelihood.fit(ColumnMoments(torch.ones(4), torch.ones(4), row_total, torch.ones(4), 10))
    draws = likelihood(torch.randn(2, 3, 4)).sample(torch.Generator().manual_seed(0))
    assert torch.equal(draws.sum(-1), torch.full((2, 3), drawn))


def test_reports_say_that_the_base_measure_is_dropped() -> None:
    assert "base measure dropped" in MultinomialLikelihood(2).describe(spec_of(torch.ones(1, 2)))
