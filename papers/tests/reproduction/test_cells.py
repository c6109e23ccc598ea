from __future__ import annotations

from types import SimpleNamespace

import pytest

from fewhot.core.errors import DuplicateNameError, UnknownNameError
from fewhot_papers.reproduction import cells
from fewhot_papers.reproduction.cells import CELLS, CellFunction, cell_function, identity, key_of
from papers.tests.reproduction.conftest import Bench, fake_cell


def key(cell, digest=None):
    return key_of(identity(cell, digest))


def test_the_key_changes_with_every_setting(bench: Bench):
    keys = {key(fake_cell(1)), key(fake_cell(2)), key(fake_cell(1, seed=1)), key(fake_cell(1, steps=5))}
    assert len(keys) == 4


def test_the_key_changes_with_the_data(bench: Bench):
    assert key(fake_cell(1), "aa") != key(fake_cell(1), "bb")


def test_the_key_changes_with_the_version_of_the_function(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    before = key(fake_cell(1))
    monkeypatch.setitem(CELLS, "fake", CellFunction(bench.work, 2))
    assert key(fake_cell(1)) != before


def test_the_key_does_not_depend_on_the_order_of_settings(bench: Bench):
    assert key(fake_cell(1, a=1, b=2)) == key(fake_cell(1, b=2, a=1))


def test_a_taken_name_is_refused(bench: Bench):
    with pytest.raises(DuplicateNameError, match="'fake' is taken"):
        cell_function("fake", version=1)(bench.work)


def test_an_unknown_function_is_named(bench: Bench):
    with pytest.raises(UnknownNameError, match="Did you mean 'fake'"):
        identity(fake_cell(1).__class__(kind="fakes", settings={}), None)


@pytest.mark.parametrize(("name", "parts"), [("digits", ["train", "test"]), ("hsvae_yahoo", ["validation", "test"])])
def test_the_digest_is_of_the_parts_that_there_are(
    name: str, parts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def dataset(name: str, split: str, data_dir: object) -> SimpleNamespace:
        read.append(split)
        return SimpleNamespace(digest=split)

    monkeypatch.setattr(cells, "dataset", dataset)
    cells.digest_of(name, None)
    assert read == parts
