from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from fewhot_papers.reproduction.cache import CellCache
from fewhot_papers.reproduction.cells import Measured

KNOWN = {"kind": "fake", "version": 1, "settings": {"x": 3}, "data": None, "digest": None}


@pytest.fixture
def cache(tmp_path: Path) -> CellCache:
    return CellCache(tmp_path)


def test_numbers_come_back_exactly(cache: CellCache):
    cache.keep(KNOWN, Measured({"y": 1 / 3}), {})
    row = cache.row(KNOWN)
    assert row is not None
    assert row.numbers == {"y": 1 / 3}
    assert row.settings == {"x": 3}


def test_pictures_come_back_in_half_precision(cache: CellCache):
    picture = np.random.default_rng(0).random((2, 5))
    cache.keep(KNOWN, Measured({}, {"p": picture}), {})
    row = cache.row(KNOWN)
    assert row is not None
    assert row.arrays["p"].dtype == np.float32
    np.testing.assert_allclose(row.arrays["p"], picture, rtol=2**-10)


def test_what_is_not_finite_stays_valid_json(cache: CellCache):
    cache.keep(KNOWN, Measured({"y": math.nan}), {})
    text = cache.path(KNOWN).read_text()
    assert json.loads(text, parse_constant=pytest.fail)["numbers"] == {"y": None}
    row = cache.row(KNOWN)
    assert row is not None
    assert math.isnan(row.numbers["y"])


def test_half_a_file_counts_as_not_computed(cache: CellCache, caplog: pytest.LogCaptureFixture):
    cache.path(KNOWN).write_text('{"format": 1, "numb')
    assert not cache.has(KNOWN)
    assert "computed again" in caplog.text


def test_a_success_forgets_the_failure_before_it(cache: CellCache):
    cache.keep_failure(KNOWN, "ValueError: broken", {})
    assert cache.error(KNOWN) == "ValueError: broken"
    cache.keep(KNOWN, Measured({"y": 1.0}), {})
    assert cache.error(KNOWN) is None


def test_a_failure_does_not_count_as_computed(cache: CellCache):
    cache.keep_failure(KNOWN, "ValueError: broken", {})
    assert not cache.has(KNOWN)


def other(x: int) -> dict[str, object]:
    return KNOWN | {"settings": {"x": x}}


def test_packed_cells_are_found_and_go_on(cache: CellCache):
    picture = np.random.default_rng(0).random((2, 5))
    for x in (3, 4, 5):
        cache.keep(other(x), Measured({"y": x / 3}, {"p": picture}), {"commit": "abc"})
    before = [cache.record(other(x)) for x in (3, 4, 5)]
    assert cache.pack("one", [other(3), other(4), other(9)]) == 2
    assert cache.pack("two", [other(4), other(5)]) == 1  # what is packed already stays where it is
    assert sorted(path.name for path in cache.folder.iterdir()) == ["one.jsonl", "two.jsonl"]
    for read in (cache, CellCache(cache.folder)):
        assert [read.record(other(x)) for x in (3, 4, 5)] == before
    cache.keep(other(6), Measured({"y": 2.0}), {})
    assert cache.pack("one", [other(3), other(4), other(6)]) == 3
    assert [cache.record(other(x)) for x in (3, 4, 5)] == before
    assert cache.has(other(6))
    assert cache.pack("three", [other(9)]) == 0
    assert not (cache.folder / "three.jsonl").exists()


def test_a_damaged_pack_is_no_obstacle(cache: CellCache, caplog: pytest.LogCaptureFixture):
    (cache.folder / "one.jsonl").write_text("{")
    assert not cache.has(KNOWN)
    assert "one.jsonl cannot be read" in caplog.text
