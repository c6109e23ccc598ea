"""Disentanglement, completeness and informativeness: known answers, slow versions, codes in another dress."""

from __future__ import annotations

from collections.abc import Callable
from math import log

import numpy as np
import pytest
import scipy.sparse as sp

from fewhot.core.errors import InvalidInputError, InvalidParameterError
from fewhot.metrics import DCI, dci
from tests.metrics.known_sources import (
    ALL_SOURCES,
    EVERYWHERE_REFUSED,
    K,
    continuous,
    in_another_dress,
    rotated,
    sparse,
    unrelated,
    with_dead_units,
)

every_predictor = pytest.mark.parametrize("predictor", ["lasso", "forest"])
every_source = pytest.mark.parametrize("draw", ALL_SOURCES)


def three(found: DCI) -> tuple[float, float, float]:
    return found.disentanglement, found.completeness, found.informativeness


@every_predictor
@every_source
def test_the_sources_themselves_score_1(draw: Callable[..., np.ndarray], predictor: str) -> None:
    sources = draw(1500)
    assert min(three(dci(sources, sources, predictor))) > 0.97


def slow_entropy(shares: list[float]) -> float:
    return -sum(share * log(share) for share in shares if share > 0)


def test_the_scores_follow_the_definition() -> None:
    sources = sparse(1500)
    rng = np.random.default_rng(3)
    codes = sources @ (rng.normal(size=(K, 6)) * (rng.random((K, 6)) < 0.5)) + 0.3 * rng.normal(size=(1500, 6))
    found = dci(sources, codes)
    R = found.importance.tolist()  # (K, J)
    total = sum(map(sum, R))
    disentanglement = 0.0
    for j in range(6):
        column = [row[j] for row in R]
        if sum(column) > 0:
            score = 1 - slow_entropy([value / sum(column) for value in column]) / log(K)
            assert found.by_unit[j] == pytest.approx(score)
            disentanglement += sum(column) / total * score
    completeness = [1 - slow_entropy([value / sum(row) for value in row]) / log(6) for row in R]
    assert found.disentanglement == pytest.approx(disentanglement)
    np.testing.assert_allclose(found.by_source, completeness)
    assert found.completeness == pytest.approx(np.mean(completeness))
    assert found.informativeness == pytest.approx(found.predicted.mean())
    assert 0.2 < found.disentanglement < 0.95


def test_informativeness_is_the_share_of_variance_that_is_predicted() -> None:
    sources = continuous(4000)
    noisy = sources + 0.5 * unrelated(4000)
    expected = 1 / (1 + 0.25)
    assert dci(sources, noisy).predicted == pytest.approx(np.full(K, expected), abs=0.05)


def test_a_unit_for_two_sources_is_complete_and_not_disentangled() -> None:
    sources = continuous(1500)[:, :2]
    found = dci(sources, sources.sum(axis=1, keepdims=True))
    assert found.disentanglement < 0.05
    assert found.completeness == 1.0


def test_two_units_for_one_source_are_disentangled_and_not_complete() -> None:
    sources = continuous(1500)[:, :2]
    halves = sources[:, :1] + unrelated(1500)[:, :2]
    found = dci(sources, np.column_stack([halves, sources[:, 1]]))
    assert found.disentanglement > 0.8
    assert found.by_source[0] < 0.5 < 0.9 < found.by_source[1]


def test_a_rotation_is_informative_and_nothing_else() -> None:
    sources = continuous(1500)
    found = dci(sources, rotated(sources))
    assert found.informativeness > 0.99
    assert found.disentanglement < 0.1
    assert found.completeness < 0.1


@every_predictor
@every_source
def test_noise_scores_0(draw: Callable[..., np.ndarray], predictor: str) -> None:
    assert max(three(dci(draw(1500), unrelated(1500), predictor))) < 0.02


@every_source
def test_order_sign_scale_and_dead_units_change_nothing(draw: Callable[..., np.ndarray]) -> None:
    sources = draw(1500)
    codes = sources + 0.2 * np.roll(sources, 1, axis=1)
    plain, dressed = dci(sources, codes), dci(sources, with_dead_units(in_another_dress(codes)))
    assert three(dressed) == pytest.approx(three(plain), abs=2e-3)
    assert (dressed.importance[:, [0, 1, -1]] == 0).all()
    assert (dressed.by_unit[[0, 1, -1]] == 0).all()


def test_a_curved_relation_is_for_the_forest() -> None:
    sources = continuous(1500)
    codes = np.sign(sources) * np.exp(np.abs(sources))
    bent = np.column_stack([codes[:, 0] ** 2 * np.sign(codes[:, 0]), codes[:, 1:]])
    assert dci(sources, bent, "forest").informativeness > 0.95 > dci(sources, bent).informativeness


def test_a_code_of_dead_units_scores_0() -> None:
    assert three(dci(continuous(100), np.ones((100, 3)))) == (0.0, 0.0, 0.0)


@every_predictor
def test_a_source_that_is_on_in_a_single_row_counts_as_missed(predictor: str) -> None:
    sources = continuous(100)
    for row in range(12):  # some of them are held out
        found = dci(np.column_stack([np.arange(100) == row, sources[:, 0]]), sources, predictor)
        assert (found.by_source[0], found.predicted[0]) == (0.0, 0.0)


def test_sparse_codes_give_the_same_numbers() -> None:
    sources = sparse(500)
    assert three(dci(sp.csr_array(sources), sp.csr_array(sources))) == three(dci(sources, sources))


@every_predictor
def test_a_seed_fixes_the_numbers(predictor: str) -> None:
    sources = sparse(300)
    codes = sources + 0.5 * unrelated(300)
    assert three(dci(sources, codes, predictor, 1)) == three(dci(sources, codes, predictor, 1))
    assert three(dci(sources, codes, predictor, 1)) != three(dci(sources, codes, predictor, 2))


def test_too_few_rows_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="sources has 19 rows; a predictor needs at least 20"):
        dci(continuous(19), continuous(19))


def test_an_unknown_predictor_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="predictor is 'tree'; it must be one of 'lasso', 'forest'"):
        dci(continuous(100), continuous(100), "tree")  # type: ignore[arg-type]


@pytest.mark.parametrize(("sources", "codes", "words"), EVERYWHERE_REFUSED)
def test_what_cannot_be_compared_is_refused(sources: np.ndarray, codes: np.ndarray, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        dci(sources, codes)
