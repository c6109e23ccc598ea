"""Correlations of sources with units: signs, contrast, dead units."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp

from fewhot.core.errors import InvalidInputError
from fewhot.metrics import source_correlation
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


def slow_contrast(sources: np.ndarray, codes: np.ndarray) -> float:
    gaps = []
    for source in sources.T:
        sizes = sorted(abs(np.corrcoef(source, unit)[0, 1]) if unit.std() else 0.0 for unit in codes.T)
        gaps.append(sizes[-1] - sizes[-2])
    return float(np.mean(gaps))


@pytest.mark.parametrize("draw", ALL_SOURCES)
def test_the_sources_themselves_stand_out(draw: Callable[[], np.ndarray]) -> None:
    sources = draw()
    found = source_correlation(sources, sources)
    np.testing.assert_allclose(np.diag(found.correlation), 1)
    assert found.best.tolist() == list(range(K))
    assert found.contrast > 1 - 4 / np.sqrt(len(sources))
    assert found.used == found.linked == K


def test_signs_are_kept_and_order_and_scale_do_not_matter() -> None:
    sources = sparse()
    found = source_correlation(sources, in_another_dress(sources))
    assert found.best.tolist() == [1, 3, 0, 2]
    assert np.sign(found.correlation[range(K), found.best]).tolist() == [1, -1, -1, 1]
    assert found.contrast == pytest.approx(source_correlation(sources, sources).contrast)


def test_the_contrast_is_the_mean_gap() -> None:
    sources = sparse()
    codes = sources @ np.random.default_rng(1).normal(size=(K, 6))
    found = source_correlation(sources, codes)
    assert found.contrast == pytest.approx(slow_contrast(sources, codes))
    np.testing.assert_allclose(found.correlation, np.corrcoef(sources.T, codes.T)[:K, K:])


def test_signed_sources_are_correlated_as_they_are() -> None:
    sources = continuous()
    assert np.abs(source_correlation(sources, np.abs(sources)).correlation).max() < 5 / np.sqrt(len(sources))


def test_a_dead_unit_is_a_zero_column() -> None:
    sources = sparse()
    found = source_correlation(sources, with_dead_units(sources))
    assert (found.correlation[:, [0, 1, -1]] == 0).all()
    assert found.best.tolist() == [2, 3, 4, 5]
    assert found.linked == K
    assert found.contrast == pytest.approx(source_correlation(sources, sources).contrast)


def test_a_rotation_leaves_no_contrast() -> None:
    sources = continuous()
    assert source_correlation(sources, rotated(sources)).contrast < 0.1


def test_noise_has_no_contrast_and_no_links() -> None:
    found = source_correlation(continuous(), unrelated())
    assert found.contrast < 4 / np.sqrt(3000)
    assert (found.linked, found.used) == (0, K)


def test_a_single_unit_has_nothing_beside_it() -> None:
    sources = continuous()
    found = source_correlation(sources, sources[:, :1])
    expected = np.abs(np.corrcoef(sources.T)[0]).mean()
    assert found.contrast == pytest.approx(expected)


def test_sparse_and_dense_codes_are_correlated_alike() -> None:
    sources = sparse()
    dense, csr = source_correlation(sources, sources), source_correlation(sp.csr_array(sources), sp.csr_array(sources))
    np.testing.assert_allclose(dense.correlation, csr.correlation)
    assert dense.used == csr.used


@pytest.mark.parametrize(("sources", "codes", "words"), EVERYWHERE_REFUSED)
def test_what_cannot_be_compared_is_refused(sources: np.ndarray, codes: np.ndarray, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        source_correlation(sources, codes)


def test_units_that_hardly_change_cost_contrast_only_among_all() -> None:
    """A VAE's unused units: next to constant, and still in step with a source."""
    sources = np.random.default_rng(0).normal(size=(2000, 3))
    codes = np.column_stack([sources, 1e-3 * sources[:, 0], 1e-3 * sources[:, 1]])
    found = source_correlation(sources, codes)
    assert (found.used, found.contrast_used) == (3, pytest.approx(source_correlation(sources, sources).contrast))
    assert found.contrast == pytest.approx(found.contrast_used / 3, abs=0.03)  # one source of three is left


def test_codes_without_a_used_unit_have_no_contrast_among_used_ones() -> None:
    sources = np.random.default_rng(0).normal(size=(500, 2))
    assert source_correlation(sources, 1e-3 * sources).contrast_used == 0
