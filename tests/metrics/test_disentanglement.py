"""The mutual information gap and InfoMEC: known answers, slow versions, codes in another dress."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mutual_info_score

from fewhot.core.errors import InvalidInputError, InvalidParameterError
from fewhot.metrics import infomec, mig
from tests.metrics.known_sources import (
    ALL_SOURCES,
    EVERYWHERE_REFUSED,
    K,
    classes,
    continuous,
    in_another_dress,
    rotated,
    sparse,
    unrelated,
    with_dead_units,
)

every_source = pytest.mark.parametrize("draw", ALL_SOURCES)


def slow_shares(sources: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return I(s; z) / H(s) of classes."""
    return np.array([[mutual_info_score(s, z) / mutual_info_score(s, s) for z in codes.T] for s in sources.T])


@every_source
def test_the_sources_themselves_have_the_whole_gap(draw: Callable[[], np.ndarray]) -> None:
    sources = draw()
    found = mig(sources, sources)
    np.testing.assert_allclose(np.diag(found.information), 1)
    assert found.score > 0.95


def test_the_gap_is_between_the_two_units_that_know_most() -> None:
    sources = classes()
    codes = np.column_stack([sources, sources[:, 0] > 2, sources[:, 1] + sources[:, 2]])
    shares = slow_shares(sources, codes)
    gaps = [sorted(row)[-1] - sorted(row)[-2] for row in shares]
    found = mig(sources, codes)
    np.testing.assert_allclose(found.information, shares)
    np.testing.assert_allclose(found.gaps, gaps)
    assert found.score == pytest.approx(np.mean(gaps))


def test_two_units_that_know_the_same_leave_no_gap() -> None:
    sources = classes()
    assert mig(sources, np.hstack([sources, -sources])).score == pytest.approx(0.0)


def test_a_single_unit_has_nothing_beside_it() -> None:
    sources = classes()
    assert mig(sources[:, :1], sources[:, :1]).score == pytest.approx(1.0)


@every_source
def test_order_sign_and_scale_leave_the_gap(draw: Callable[[], np.ndarray]) -> None:
    sources = draw()
    assert mig(sources, in_another_dress(sources)).score == pytest.approx(mig(sources, sources).score)


@every_source
def test_dead_units_leave_the_gap(draw: Callable[[], np.ndarray]) -> None:
    sources = draw()
    assert mig(sources, with_dead_units(sources)).score == pytest.approx(mig(sources, sources).score)


def test_a_rotation_closes_the_gap() -> None:
    sources = continuous()
    assert mig(sources, rotated(sources)).score < 0.05


@every_source
def test_noise_has_no_gap(draw: Callable[[], np.ndarray]) -> None:
    assert mig(draw(), unrelated()).score < 0.02


def test_sources_that_are_off_together_know_of_each_other() -> None:
    sources = continuous() * (np.random.default_rng(5).random((3000, 1)) < 0.5)
    assert mig(sources, sources).score < 0.8


def test_sparse_codes_give_the_same_numbers() -> None:
    sources = sparse()
    assert mig(sources, sp.csr_array(sources)).score == pytest.approx(mig(sources, sources).score)
    assert infomec(sp.csr_array(sources), sp.csr_array(sources)).modularity == pytest.approx(
        infomec(sources, sources).modularity
    )


@every_source
def test_the_sources_themselves_are_modular_explicit_and_compact(draw: Callable[[], np.ndarray]) -> None:
    sources = draw()
    found = infomec(sources, sources)
    assert found.modularity > 0.85  # what is missing is the counting error of the bins
    assert found.compactness > 0.85
    assert found.explicitness > (0.4 if draw is classes else 1 - 1e-9)  # five values in a row are no linear classes


def test_pairs_of_values_are_read_by_a_logistic_regression() -> None:
    sources = (classes() > 3).astype(float)
    found = infomec(sources, in_another_dress(sources))
    assert found.explicitness > 0.99
    assert found.modularity > 0.99


def test_modularity_and_compactness_follow_the_definition() -> None:
    sources = classes()
    codes = np.column_stack([sources[:, 0], sources[:, 0] + sources[:, 1], sources[:, 2] > 2, sources[:, 3]])
    shares = slow_shares(sources, codes)
    modularity = [(max(column) / sum(column) - 1 / 4) / (1 - 1 / 4) for column in shares.T]
    compactness = [(max(row) / sum(row) - 1 / 4) / (1 - 1 / 4) for row in shares]
    found = infomec(sources, codes)
    assert found.modularity == pytest.approx(np.mean(modularity))
    assert found.compactness == pytest.approx(np.mean(compactness))


def test_explicitness_of_numbers_is_what_a_linear_regression_explains() -> None:
    sources = continuous()
    codes = np.column_stack([sources[:, 0] ** 3, sources[:, 1] + sources[:, 2], unrelated()[:, 0]])
    expected = [LinearRegression().fit(codes, source).score(codes, source) for source in sources.T]
    assert infomec(sources, codes).explicitness == pytest.approx(np.mean(expected))


def test_a_rotation_stays_explicit_and_nothing_else() -> None:
    sources = continuous()
    found = infomec(sources, rotated(sources))
    assert found.explicitness == pytest.approx(1.0)
    assert found.modularity < 0.1
    assert found.compactness < 0.1


@every_source
def test_noise_is_nothing_of_the_three(draw: Callable[[], np.ndarray]) -> None:
    found = infomec(draw(), unrelated())
    assert max(found.modularity, found.explicitness, found.compactness) < 0.05


@every_source
def test_order_sign_scale_and_dead_units_leave_the_three(draw: Callable[[], np.ndarray]) -> None:
    sources = draw()
    plain, dressed = infomec(sources, sources), infomec(sources, with_dead_units(in_another_dress(sources)))
    assert dressed.modularity == pytest.approx(plain.modularity)
    assert dressed.compactness == pytest.approx(plain.compactness)
    assert dressed.explicitness == pytest.approx(plain.explicitness, abs=1e-3)
    assert dressed.active.tolist() == [2, 3, 4, 5]
    assert (dressed.information[:, [0, 1, -1]] == 0).all()


def test_units_that_hardly_move_are_not_active() -> None:
    sources = continuous()
    faint = np.column_stack([sources, 0.01 * unrelated()])
    assert infomec(sources, faint).active.tolist() == list(range(K))


def test_a_faint_unit_that_switches_off_is_active() -> None:
    sources = sparse()
    assert infomec(sources, sources * [1.0, 1e-3, 1.0, 1.0]).active.tolist() == list(range(K))


def test_a_code_of_dead_units_scores_0() -> None:
    found = infomec(classes(), np.ones((3000, 3)))
    assert (found.modularity, found.explicitness, found.compactness) == (0.0, 0.0, 0.0)
    assert not len(found.active)


def test_one_active_unit_is_compact() -> None:
    sources = classes()
    assert infomec(sources, sources[:, :1]).compactness == pytest.approx(1.0)


def test_modularity_of_one_source_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="sources has one column; modularity needs at least two"):
        infomec(classes()[:, :1], classes())


@pytest.mark.parametrize("measure", [mig, infomec])
def test_a_number_of_bins_that_is_none_is_refused(measure: Callable[..., object]) -> None:
    with pytest.raises(InvalidParameterError, match="n_bins is 1; it must be a whole number of at least 2"):
        measure(classes(), classes(), n_bins=1)


@pytest.mark.parametrize("measure", [mig, infomec])
@pytest.mark.parametrize(("sources", "codes", "words"), EVERYWHERE_REFUSED)
def test_what_cannot_be_compared_is_refused(
    measure: Callable[..., object], sources: np.ndarray, codes: np.ndarray, words: str
) -> None:
    with pytest.raises(InvalidInputError, match=words):
        measure(sources, codes)
