"""Sparse matrices with entries outside of them are refused before scipy follows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import fewhot.baselines
from fewhot import NFA, VSC
from fewhot.core.errors import DataError, FewhotError, InvalidInputError
from fewhot.core.sparse import check_entries
from fewhot.data import content_digest, open_data, row_keys, strong_generalisation, write_matrix, write_rows
from fewhot.metrics import hoyer, rare_words
from tests.estimators.cases import SMALL, assert_one_sentence


def csr(columns: list[int], offsets: list[int] | None = None) -> Any:
    """Return two rows of five entries in three columns, as given."""
    return sp.csr_array((np.ones(5), columns, offsets or [0, 3, 5]), shape=(2, 3))


def changed(matrix: Any, **parts: list[int]) -> Any:
    """Return a matrix of which parts were overwritten after scipy had looked at them."""
    for name, values in parts.items():
        setattr(matrix, name, np.array(values, dtype=np.int32))
    return matrix


GOOD: Any = csr([0, 1, 2, 0, 2])
BAD: dict[str, Any] = {
    "from-1": csr([1, 2, 3, 1, 3]),
    "negative": csr([0, 1, 2, -1, 2]),
    "far": csr([0, 1, 2, 0, 2_000_000_000]),
    "rows-of-csc": sp.csc_array((np.ones(5), [0, 1, 2, 0, 1], [0, 2, 3, 5]), shape=(2, 3)),
    "backwards": csr([0, 1, 2, 0, 2], [0, 6, 5]),
    "beyond": changed(csr([0, 1, 2, 0, 2]), indptr=[0, 3, 9]),
    "blocks": sp.bsr_array((np.ones((2, 1, 1)), [0, 3], [0, 1, 2]), shape=(2, 3)),
    "coordinates": sp.coo_array(GOOD),
}
BAD["coordinates"].coords = (BAD["coordinates"].coords[0], np.array([1, 2, 3, 1, 3]))

every_kind = pytest.mark.parametrize("kind", BAD)


@every_kind
def test_entries_outside_are_refused(kind: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        check_entries(BAD[kind], "counts")
    assert_one_sentence(error.value)
    assert str(error.value).startswith("counts ")


@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
def test_entries_inside_are_accepted(layout: str) -> None:
    check_entries(GOOD.asformat(layout))
    check_entries(sp.csr_array((2, 3)).asformat(layout))


def test_room_behind_the_last_row_is_no_entry() -> None:
    check_entries(changed(GOOD.copy(), indices=[0, 1, 2, 0, 2, 99], data=[1] * 6))


def test_ids_that_begin_at_1_are_recognised() -> None:
    with pytest.raises(InvalidInputError, match=r"column indices from 1 to 3.* 0 to 2.*subtracting 1 from ids"):
        check_entries(BAD["from-1"])


@every_kind
@pytest.mark.parametrize("name", ["EASE", "WMF", "Popularity", "LDA"])
def test_baselines_refuse_them(name: str, kind: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        getattr(fewhot.baselines, name)().fit(BAD[kind])
    assert_one_sentence(error.value)


@every_kind
@pytest.mark.parametrize("cls", [NFA, VSC])
def test_estimators_refuse_them(cls: type, kind: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        cls(**SMALL).fit(BAD[kind])
    assert_one_sentence(error.value)


@every_kind
def test_fitted_models_refuse_them(kind: str) -> None:
    nfa, ease = NFA(3, max_steps=2, hidden_layer_sizes=(4,)).fit(GOOD), fewhot.baselines.EASE().fit(GOOD)
    for verb in (nfa.transform, nfa.recommend, nfa.score, nfa.inverse_transform, ease.recommend):
        with pytest.raises(InvalidInputError) as error:
            verb(BAD[kind])
        assert_one_sentence(error.value)


@every_kind
def test_data_functions_and_metrics_refuse_them(kind: str) -> None:
    for verb in (row_keys, content_digest, hoyer, rare_words):
        with pytest.raises(InvalidInputError):
            verb(BAD[kind])
    with pytest.raises(InvalidInputError):
        strong_generalisation(BAD[kind], n_validation=0, n_test=1)


@every_kind
def test_nothing_of_them_is_written(kind: str, tmp_path: Path) -> None:
    for name, write in (("rows", write_rows), ("rows.npz", write_matrix), ("rows.csv", write_matrix)):
        with pytest.raises(FewhotError) as error:
            write(tmp_path / name, BAD[kind])
        assert_one_sentence(error.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["from-1", "negative", "backwards"])
def test_files_that_hold_them_are_refused_by_name(kind: str, tmp_path: Path) -> None:
    sp.save_npz(tmp_path / "rows.npz", BAD[kind])
    with pytest.raises(DataError, match=r"rows\.npz (has column indices|is a damaged)") as error:
        open_data(tmp_path / "rows.npz")
    assert_one_sentence(error.value)
