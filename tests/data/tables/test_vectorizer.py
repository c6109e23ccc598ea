"""Tables with words, dates and gaps as matrices of numbers."""

from __future__ import annotations

import datetime
import json
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import fewhot as fh
from fewhot.core.errors import InvalidInputError
from fewhot.data import TableVectorizer

N = 200


def customers(n: int = N, seed: int = 0) -> dict[str, Any]:
    """Return columns of every kind, with gaps."""
    rng = np.random.default_rng(seed)
    days = np.datetime64("2020-01-01") + rng.integers(0, 500, n)
    return {
        "id": [f"{1000 + i}" for i in range(n)],
        "name": [f"person {i}" for i in range(n)],
        "age": ["" if i % 20 == 3 else f"{age}" for i, age in enumerate(rng.integers(18, 90, n))],
        "joined": [str(day) for day in days],
        "tier": rng.choice(["gold", "silver", "bronze"], n).tolist(),
        "sex": rng.choice(["F", "M"], n).tolist(),
        "region": [None if i % 5 == 0 else "north" if i % 2 else "south" for i in range(n)],
        "active": rng.choice(["yes", "no"], n).tolist(),
        "land": ["DE"] * n,
    }


@pytest.fixture(scope="module")
def fitted() -> TableVectorizer:
    return TableVectorizer().fit(customers())


def column(vectorizer: TableVectorizer, X: np.ndarray, name: str) -> np.ndarray:
    return X[:, vectorizer.get_feature_names_out().tolist().index(name)]


def test_each_kind_becomes_numbers(fitted: TableVectorizer) -> None:
    table = customers()
    X = fitted.transform(table)
    assert X.dtype == np.float32
    assert fitted.get_feature_names_out().tolist() == [
        *("age", "joined_days", "tier_bronze", "tier_gold", "tier_silver", "sex_M"),
        *("region_north", "region_south", "region_missing", "active"),
    ]
    ages = np.array([float(age) if age else np.nan for age in table["age"]])
    np.testing.assert_array_equal(column(fitted, X, "age"), np.where(np.isnan(ages), np.nanmedian(ages), ages))
    days = np.array(table["joined"], dtype="datetime64[D]")
    np.testing.assert_array_equal(column(fitted, X, "joined_days"), (days - days.min()).astype(int))
    np.testing.assert_array_equal(column(fitted, X, "tier_gold"), [tier == "gold" for tier in table["tier"]])
    np.testing.assert_array_equal(column(fitted, X, "sex_M"), [sex == "M" for sex in table["sex"]])
    np.testing.assert_array_equal(column(fitted, X, "region_missing"), [region is None for region in table["region"]])
    np.testing.assert_array_equal(column(fitted, X, "active"), [word == "yes" for word in table["active"]])


def test_what_was_done_is_listed_by_column(fitted: TableVectorizer) -> None:
    lines = fitted.summary()
    assert lines[-1].startswith("left out: id (a number for each row), name (text, 200 different values in 200 rows)")
    assert "land ('DE' in every row)" in lines[-1]
    assert "missing values filled: age (10: median" in "\n".join(lines)
    assert "region (40: a level of their own)" in "\n".join(lines)


def test_new_rows_are_read_as_the_first_ones(fitted: TableVectorizer) -> None:
    new = customers(5, seed=1)
    del new["name"], new["land"]  # they were left out
    new["extra"] = [0] * 5
    new["tier"] = ["platinum", "gold", "", "gold", "gold"]
    new["age"] = [30, None, 30, 30, 30]
    new["joined"][0] = "2019-12-01"  # before the first date of the fit
    with pytest.warns(UserWarning, match=r"^tier: levels that the fit did not have in 1 cell \('platinum'\)"):
        X = fitted.transform(dict(reversed(new.items())))
    tiers = np.stack([column(fitted, X, f"tier_{level}") for level in ("bronze", "gold", "silver")], axis=1)
    assert tiers[0].tolist() == [0, 0, 0]
    usual = max(("bronze", "gold", "silver"), key=customers()["tier"].count)
    assert tiers[2].tolist() == [float(level == usual) for level in ("bronze", "gold", "silver")]
    assert column(fitted, X, "joined_days")[0] < 0
    assert column(fitted, X, "age")[1] == column(fitted, fitted.transform(customers()), "age")[3]


def test_what_was_learned_goes_through_json(fitted: TableVectorizer) -> None:
    again = TableVectorizer.from_dict(json.loads(json.dumps(fitted.to_dict())))
    new = customers(30, seed=2)
    np.testing.assert_array_equal(again.transform(new), fitted.transform(new))
    assert again.summary() == fitted.summary()
    with pytest.raises(InvalidInputError, match=r"is not what TableVectorizer\.to_dict wrote"):
        TableVectorizer.from_dict({"format": "something"})


def test_rare_levels_share_a_column_which_unknown_ones_join() -> None:
    cities = ["a"] * 60 + ["b"] * 30 + [f"town {i}" for i in range(10)]
    vectorizer = TableVectorizer().fit({"city": cities, "x": range(100)})
    assert vectorizer.get_feature_names_out().tolist()[:3] == ["city_a", "city_b", "city_other"]
    X = vectorizer.transform({"city": ["town 3", "Atlantis", "b"], "x": [0, 1, 2]})
    assert X[:, :3].tolist() == [[0, 0, 1], [0, 0, 1], [0, 1, 0]]


def test_many_levels_are_capped() -> None:
    rng = np.random.default_rng(0)
    codes = [f"c{min(int(k), 99)}" for k in rng.geometric(0.05, 5_000)]
    vectorizer = TableVectorizer().fit({"code": codes})
    assert len(vectorizer.get_feature_names_out()) == 21
    assert vectorizer.transform({"code": codes}).sum(axis=1).tolist() == [1.0] * 5_000


def test_one_word_or_nothing_tells_whether_it_is_there() -> None:
    flags = ["x" if i % 3 else "" for i in range(60)]
    vectorizer = TableVectorizer().fit({"flag": flags, "done": ["yes" if i % 2 else None for i in range(60)]})
    X = vectorizer.transform({"flag": flags, "done": ["yes" if i % 2 else None for i in range(60)]})
    np.testing.assert_array_equal(column(vectorizer, X, "flag_x"), [float(bool(flag)) for flag in flags])
    np.testing.assert_array_equal(column(vectorizer, X, "done_yes"), [float(i % 2) for i in range(60)])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_of_typed_columns(library: str) -> None:
    dates = [datetime.date(2024, 1, 1), None, datetime.date(2024, 1, 31)] * 10
    values = {"n": [1, 2, None] * 10, "d": dates, "c": ["u", "v", "u"] * 10, "b": [True, False, True] * 10}
    if library == "pandas":
        frame: Any = pd.DataFrame(values).astype({"c": "category", "n": "Int64"})
        frame["d"] = pd.to_datetime(frame["d"])
    else:
        frame = pl.DataFrame(values).with_columns(pl.col("c").cast(pl.Categorical))
    vectorizer = TableVectorizer().fit(frame)
    assert vectorizer.get_feature_names_out().tolist() == ["n", "d_days", "c_v", "b"]
    assert vectorizer.transform(frame)[:3].tolist() == [[1, 0, 0, 1], [2, 15, 1, 0], [1.5, 30, 0, 1]]


def test_it_stands_in_a_pipeline() -> None:
    model = make_pipeline(TableVectorizer(), fh.VAE(2, hidden_layer_sizes=(4,), max_steps=2, random_state=0))
    frame = pd.DataFrame(customers())
    assert model.fit_transform(frame).shape == (N, 2)
    assert isinstance(clone(model)[0], TableVectorizer)


def test_rows_of_a_model_become_a_table_again(fitted: TableVectorizer) -> None:
    table = customers()
    back = fitted.inverse_transform(fitted.transform(table))
    assert set(back) == {"age", "joined", "tier", "sex", "region", "active"}
    assert back["joined"] == table["joined"]
    assert back["tier"] == table["tier"]
    assert back["sex"] == table["sex"]
    assert back["active"] == [int(word == "yes") for word in table["active"]]
    assert [word if word != "missing" else None for word in back["region"]] == table["region"]


def test_columns_that_cannot_be_read_any_more_are_an_error(fitted: TableVectorizer) -> None:
    new = customers(20, seed=3)
    new["joined"] = ["soon"] * 20
    with pytest.raises(InvalidInputError, match=r"^20 of 20 cells of the column 'joined' cannot be read"):
        fitted.transform(new)
    del new["joined"]
    with pytest.raises(InvalidInputError, match=r"lacks the columns joined; give all columns of the fit\.$"):
        fitted.transform(new)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"a": ["x"], "b": [1]}, "holds 1 row"),
        ({"a": ["x"] * 9, "b": [None] * 9}, r"No column of the table can be used \(a: 'x' in every row; b: empty\)"),
        ({"a": [1, 2], "b": [1]}, r"has columns of \[1, 2\] rows"),
        ({"a": ["u", "v"] * 20, "a_v": ["w", "w", "z", "z"] * 10, "a_v_z": [1, 2] * 20}, "would be called 'a_v"),
    ],
)
def test_tables_that_cannot_be_used(table: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        TableVectorizer().fit(table)


def test_a_column_that_is_empty_in_new_rows_is_warned_of() -> None:
    fitted = TableVectorizer().fit({"income": [1.0, 2.0, 5.0], "age": [30, 40, 50]})
    with pytest.warns(UserWarning, match="income: missing in all 2 rows, taken as in the median row of the fit"):
        found = fitted.transform({"income": [np.nan, np.nan], "age": [35, 45]})
    assert found.tolist() == [[2.0, 35.0], [2.0, 45.0]]
