"""Sparse rows on disk: the same rows, a few at a time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.model_selection import cross_val_score, train_test_split

from fewhot import NFA, VSC, FewhotError, RunFolder, load
from fewhot.baselines import EASE
from fewhot.core.errors import DataError, InvalidInputError
from fewhot.data import RaggedDataset, as_matrix, open_data, open_rows, stored, write_rows
from fewhot.data.stored import ARRAYS, StoredDataset, StoredRows
from fewhot.metrics import rare_words
from tests.estimators.cases import SMALL, assert_one_sentence, dense, same_weights

FAST: dict[str, Any] = SMALL | {"inner_steps": 2, "inference": "refined"}


def counts(n_rows: int = 60, n_columns: int = 9, seed: int = 0) -> sp.csr_array:
    rng = np.random.default_rng(seed)
    return sp.csr_array((rng.poisson(1.0, (n_rows, n_columns)) * (rng.random((n_rows, 1)) < 0.9)).astype(np.float32))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_rows(tmp_path / "rows", counts())
    return tmp_path / "rows"


def backed(path: Path, X: sp.csr_array) -> Any:
    anndata = pytest.importorskip("anndata", reason="reads .h5ad files")
    anndata.AnnData(sp.csr_matrix(X)).write_h5ad(path)
    return anndata.read_h5ad(path, backed="r")


def sources(tmp_path: Path) -> Iterator[Any]:
    write_rows(tmp_path / "rows", counts())
    yield open_rows(tmp_path / "rows")
    yield backed(tmp_path / "rows.h5ad", counts())


def test_batches_are_those_of_rows_in_memory(folder: Path) -> None:
    stored, resident = StoredDataset.of(open_rows(folder)), RaggedDataset.of(counts())
    assert stored.spec == resident.spec
    index = torch.tensor([3, 3, 59, 0])
    for one, other in ((stored, resident), (stored.subset(np.arange(5, 50)), resident.subset(np.arange(5, 50)))):
        chosen = index % one.n_rows
        ours, theirs = one.batch(chosen).x, other.batch(chosen).x
        torch.testing.assert_close(ours.dense(), theirs.dense())
        assert ours.values.shape == theirs.values.shape
        for a, b in zip(one.moments(), other.moments(), strict=True):
            torch.testing.assert_close(a, b)
        np.testing.assert_allclose(one.totals(), other.totals())


def test_blocks_make_the_same_folder_as_the_whole(tmp_path: Path, folder: Path) -> None:
    X = counts()
    write_rows(tmp_path / "blocks", (X[start : start + 7] for start in range(0, 60, 7)))
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(np.load(tmp_path / "blocks" / f"{name}.npy"), np.load(folder / f"{name}.npy"))
    assert sorted(p.name for p in (tmp_path / "blocks").iterdir()) == [
        "data.npy", "indices.npy", "indptr.npy", "rows.json",
    ]  # fmt: skip


@pytest.mark.parametrize("cls", [NFA, VSC])
def test_a_fit_from_disk_is_the_fit_from_memory(cls: type, tmp_path: Path) -> None:
    options = FAST if cls is NFA else SMALL | {"l0": 2, "likelihood": "poisson"}
    expected = cls(**options | {"n_iter_no_change": 50}).fit(counts())
    for source in sources(tmp_path):
        found = cls(**options | {"n_iter_no_change": 50}).fit(source)
        assert same_weights(found, expected)
        np.testing.assert_array_equal(dense(found.transform(source)), dense(expected.transform(counts())))
        np.testing.assert_array_equal(found.score_samples(source), expected.score_samples(counts()))


def in_halves(X: Any) -> Any:
    """Return the same rows, each entry given twice by half, the columns out of order."""
    halves = (np.tile(X.data, 2) / 2, np.tile(X.indices, 2), np.tile(X.tocoo().row, 2))
    order = np.argsort(halves[2], kind="stable")
    return sp.csr_matrix((halves[0][order], halves[1][order], 2 * X.indptr), shape=X.shape)


def test_entries_given_twice_are_added_up_out_of_core_as_in_memory(tmp_path: Path) -> None:
    X = counts()
    twice = in_halves(X)
    expected = NFA(**FAST).fit(X)
    write_rows(tmp_path / "rows", X)
    for name in ("data", "indices", "indptr"):
        np.save(tmp_path / "rows" / f"{name}.npy", getattr(twice, name).astype(ARRAYS[name]))
    on_disk = backed(tmp_path / "rows.h5ad", twice)
    named = NFA(**FAST).fit(on_disk)
    np.testing.assert_array_equal(named.transform(on_disk), expected.transform(X))
    assert same_weights(named, expected)
    for source in (twice, open_rows(tmp_path / "rows")):
        np.testing.assert_array_equal(expected.transform(source), expected.transform(X))
        np.testing.assert_array_equal(expected.score_samples(source), expected.score_samples(X))
        assert same_weights(NFA(**FAST).fit(source), expected)


def test_entries_outside_a_backed_matrix_are_refused(tmp_path: Path) -> None:
    X = counts()
    X.indices[2] = 9
    source = backed(tmp_path / "rows.h5ad", X)
    with pytest.raises(FewhotError, match="column indices from 0 to 9") as error:
        NFA(**FAST).fit(source)
    assert_one_sentence(error.value)


def test_other_columns_are_refused(folder: Path, tmp_path: Path) -> None:
    model = NFA(**FAST).fit(open_rows(folder))
    write_rows(tmp_path / "narrow", counts()[:, :4])
    with pytest.raises(FewhotError, match="pass the columns it was fitted on") as error:
        model.transform(open_rows(tmp_path / "narrow"))
    assert_one_sentence(error.value)


def test_missing_values_are_refused(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows", counts())
    data = np.load(tmp_path / "rows" / "data.npy")
    data[3] = np.nan
    np.save(tmp_path / "rows" / "data.npy", data)
    with pytest.raises(FewhotError, match="missing or infinite"):
        NFA(**FAST).fit(open_rows(tmp_path / "rows"))


@pytest.mark.parametrize(
    "fault", ["no folder", "no path", "a file is missing", "an empty file", "cut off", "another version", "damaged"]
)
def test_a_folder_that_is_not_whole_is_refused(fault: str, folder: Path) -> None:
    match fault:
        case "no folder":
            folder = folder / "nowhere"
        case "no path":
            folder = None  # pyright: ignore[reportAssignmentType]
        case "an empty file":
            (folder / "indptr.npy").write_bytes(b"")
        case "a file is missing":
            (folder / "indices.npy").unlink()
        case "cut off":
            np.save(folder / "data.npy", np.load(folder / "data.npy")[:-1])
        case "another version":
            (folder / "rows.json").write_text('{"format": 99, "shape": [60, 9]}')
        case _:
            (folder / "rows.json").write_text("{")
    with pytest.raises(FewhotError) as error:
        open_rows(folder)
    assert_one_sentence(error.value)


def test_nothing_is_overwritten_and_nothing_is_left_half_made(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(FewhotError, match="exists"):
        write_rows(folder, counts())
    with pytest.raises(FewhotError, match="same columns"):
        write_rows(tmp_path / "mixed", [counts(), counts(n_columns=4)])
    with pytest.raises(FewhotError, match="at least one"):
        write_rows(tmp_path / "none", [])
    assert [path.name for path in tmp_path.iterdir()] == ["rows"]


GROWING = """
import sys
import fewhot as fh
from fewhot.data import open_rows
rows = open_rows(sys.argv[1])
model = fh.NFA(4, hidden_layer_sizes=(8,), max_steps=3, batch_size=50, random_state=0,
               n_iter_no_change=None, device="cpu").fit(rows)
assert model.transform(rows).shape == (rows.shape[0], 4)
print([line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")][0])
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not say how much memory was used")
def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    """Ten times the rows, 120 MB instead of 12 on disk: less than half of that more in memory."""
    rng = np.random.default_rng(0)
    block = sp.random_array((1000, 3000), density=0.05, format="csr", rng=rng, dtype=np.float32)
    block.data[:] = 1
    peaks = []
    for n_blocks in (10, 100):
        write_rows(tmp_path / str(n_blocks), (block for _ in range(n_blocks)))
        done = subprocess.run(
            [sys.executable, "-c", GROWING, str(tmp_path / str(n_blocks))], capture_output=True, text=True, check=True
        )
        peaks.append(1024 * int(done.stdout))
    on_disk = 8 * block.nnz * 90
    assert peaks[1] - peaks[0] < on_disk / 2


def test_a_folder_of_rows_is_read_like_a_file(tmp_path: Path) -> None:
    X = sp.csr_array(np.random.default_rng(0).poisson(0.3, (20, 5)).astype(np.float32))
    write_rows(tmp_path / "rows", X)
    loaded = open_data(tmp_path / "rows")
    assert (loaded.X != X).nnz == 0
    assert loaded.name == "rows"
    assert len(open_data(tmp_path / "rows", split="train")) < 20
    with pytest.raises(DataError, match="label"):
        open_data(tmp_path / "rows", label="kind")


def test_another_folder_is_refused_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="write_rows"):
        open_data(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("indices", np.zeros(3, np.int64), "holds int64"),
        ("data", np.zeros((3, 1), np.float32), "2 axes"),
        ("indptr", np.zeros(2, np.int64), "indptr.npy of 1"),
        ("indices", np.zeros(3, np.int32), "do not belong together"),
    ],
)
def test_arrays_of_another_kind_are_refused(folder: Path, name: str, content: np.ndarray, said: str) -> None:
    np.save(folder / f"{name}.npy", content)
    with pytest.raises(DataError, match=said):
        open_rows(folder)


@pytest.mark.parametrize("text", ["[]", "{", '{"format": 1}', '{"format": 1, "shape": ["a", 3]}'])
def test_damaged_facts_are_refused(folder: Path, text: str) -> None:
    (folder / "rows.json").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="damaged"):
        open_rows(folder)


@pytest.mark.parametrize("column", [-1, 9])
def test_columns_that_are_not_there_are_refused_when_they_are_read(folder: Path, column: int) -> None:
    indices = np.load(folder / "indices.npy")
    indices[2] = column
    np.save(folder / "indices.npy", indices)
    with pytest.raises(DataError, match="columns run"):
        VSC(**SMALL).fit(open_rows(folder))


def test_a_cut_array_is_said_to_be_cut(folder: Path) -> None:
    content = (folder / "data.npy").read_bytes()
    (folder / "data.npy").write_bytes(content[:-8])
    with pytest.raises(DataError, match="cut off"):
        open_rows(folder)


def test_entries_out_of_order_are_read_all_the_same(folder: Path) -> None:
    X = open_rows(folder).tocsr()
    indices, data = np.load(folder / "indices.npy"), np.load(folder / "data.npy")
    start, end = np.load(folder / "indptr.npy")[1:3]
    for name, array in (("indices", indices), ("data", data)):
        array[start:end] = array[start:end][::-1]
        np.save(folder / f"{name}.npy", array)
    assert (open_rows(folder).tocsr() != X).nnz == 0
    VSC(**SMALL).fit(open_rows(folder))


CHOICES: dict[str, Any] = {
    "slice": slice(5, 50, 3),
    "numbers": np.array([7, 0, 59, 7, -1]),
    "list": [3, 1, 2],
    "mask": np.arange(60) % 3 == 0,
    "as scikit-learn asks": (np.array([4, 9]), ...),
}


@pytest.mark.parametrize("kind", CHOICES)
def test_chosen_rows_are_those_of_the_matrix_and_stay_on_disk(kind: str, tmp_path: Path) -> None:
    X, key = counts().toarray(), CHOICES[kind]
    for source in map(as_matrix, sources(tmp_path)):
        chosen = source[key]
        assert isinstance(chosen, StoredRows)
        assert chosen.shape == X[key].shape
        assert len(chosen) == len(X[key])
        np.testing.assert_array_equal(chosen.tocsr().toarray(), X[key])
        np.testing.assert_array_equal(chosen[::-1][:2].tocsr().toarray(), X[key][::-1][:2])


@pytest.mark.parametrize("key", [3, 99, [60], "a", [0.5], np.ones(3, bool), (slice(None), 2), None])
def test_rows_that_are_not_there_cannot_be_chosen(folder: Path, key: Any) -> None:
    with pytest.raises(FewhotError, match=r"60 rows on disk.*choose rows by a slice") as error:
        open_rows(folder)[key]
    assert_one_sentence(error.value)


def test_rows_on_disk_do_not_become_an_array_unasked(folder: Path) -> None:
    with pytest.raises(FewhotError, match=r"tocsr\(\)"):
        np.asarray(open_rows(folder))


def test_cross_validation_from_disk_is_that_from_memory(folder: Path) -> None:
    found, expected = (cross_val_score(NFA(**FAST), X, cv=3) for X in (open_rows(folder), counts()))
    np.testing.assert_array_equal(found, expected)
    train, test = train_test_split(open_rows(folder), random_state=0)
    assert (train.shape, test.shape) == ((45, 9), (15, 9))


def test_no_rows_on_disk_are_refused(tmp_path: Path) -> None:
    write_rows(tmp_path / "none", counts()[:0])
    rows, models = open_rows(tmp_path / "none"), (NFA(**FAST).fit(counts()), EASE().fit(counts()))
    assert rows.tocsr().shape == (0, 9)
    for verb in [verb for model in models for verb in (model.fit, model.recommend, model.score_items)]:
        with pytest.raises(FewhotError, match="give at least one row and one column") as error:
            verb(rows)
        assert_one_sentence(error.value)


@pytest.mark.filterwarnings("ignore:Nothing is known of 8 of 60 users")
def test_recommenders_read_rows_on_disk(folder: Path) -> None:
    rows, X = open_rows(folder), counts()
    nfa = NFA(**SMALL).fit(rows)
    for found, expected in zip(nfa.recommend(rows, 2), nfa.recommend(X, 2), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_allclose(EASE().fit(rows).score_items(rows), EASE().fit(X).score_items(X), rtol=1e-5)
    assert rare_words(rows).tolist() == rare_words(X).tolist()


@pytest.mark.parametrize("kind", ["folder", "backed"])
def test_a_model_of_rows_on_disk_is_saved_and_loaded(kind: str, tmp_path: Path) -> None:
    X = dict(zip(("folder", "backed"), sources(tmp_path), strict=True))[kind]
    nfa = NFA(**SMALL, callbacks=[RunFolder(tmp_path / "run")]).fit(X)
    nfa.save(tmp_path / "model")
    for path in ("run", "model"):
        assert same_weights(load(tmp_path / path, device="cpu"), nfa)
    assert type(nfa.data_spec_.binary) is bool


def test_whole_numbers_without_a_zero_are_read_from_a_backed_matrix(tmp_path: Path) -> None:
    X = backed(tmp_path / "rows.h5ad", sp.csr_array(np.arange(1, 13).reshape(4, 3)))
    spec = StoredDataset.of(as_matrix(X)).spec
    assert (spec.minimum, spec.maximum) == (1, 12)


def test_rows_longer_than_one_read_are_read_in_pieces(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = open_rows(folder)
    asked: list[int] = []

    def short(handle: int, n_bytes: int, offset: int) -> bytes:
        asked.append(n_bytes)
        return pread(handle, min(n_bytes, 5), offset)

    pread = os.pread
    monkeypatch.setattr(stored, "_READ_AT_ONCE", 7)
    monkeypatch.setattr(os, "pread", short)
    assert (rows.tocsr() != counts()).nnz == 0
    assert max(asked) == 7


def test_an_array_that_was_cut_since_it_was_opened_is_refused(folder: Path) -> None:
    rows = open_rows(folder)
    os.truncate(folder / "data.npy", (folder / "data.npy").stat().st_size - 3)
    with pytest.raises(DataError, match="an array is cut off; write it anew"):
        rows.tocsr()


def test_transposed_rows_on_disk_are_told(tmp_path: Path) -> None:
    write_rows(tmp_path / "turned", counts().T)
    turned, nfa = open_rows(tmp_path / "turned"), NFA(**SMALL).fit(counts())
    with pytest.raises(InvalidInputError, match=r"^X has 9 rows .* looks transposed; write its transpose"):
        nfa.transform(turned)
    with pytest.raises(InvalidInputError, match=r"^X_val has 9 rows .* looks transposed"):
        NFA(**SMALL).fit(counts(), X_val=turned)
