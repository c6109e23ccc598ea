"""How cells of text are read."""

from __future__ import annotations

import numpy as np
import pytest

from fewhot.data.tables.cells import Spelling, day_text, is_missing
from fewhot.data.tables.columns import as_words
from fewhot.data.tables.plans import spelling_of


def read(cells: list[str], decimal: str | None = None) -> tuple[str, list[float]]:
    column = as_words(cells)
    spelling = spelling_of(column, decimal)
    assert spelling is not None
    return spelling.kind, spelling.read(column).tolist()


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1,5", "2,25"], [1.5, 2.25]),
        (["1.234,5", "12,0"], [1234.5, 12.0]),
        (["1,234.5", "12.0"], [1234.5, 12.0]),
        (["1 234,5", "1'234,5"], [1234.5, 1234.5]),
        (["1\u00a0234.5", "-7"], [1234.5, -7.0]),
        (["12%", "7.5 %"], [0.12, 0.075]),
        (["$1,200.50", "- $3"], [1200.5, -3.0]),
        (["3,50 €", "€ 4"], [3.5, 4.0]),
        (["\u22125", "+5"], [-5.0, 5.0]),
        (["1e3", "2.5E-1"], [1000.0, 0.25]),
    ],
)
def test_numbers_as_people_write_them(cells: list[str], values: list[float]) -> None:
    kind, found = read(cells)
    assert kind == "number"
    assert found == pytest.approx(values)


def test_a_mark_that_could_be_either_follows_the_table() -> None:
    assert read(["1.500", "2.250"])[1] == [1.5, 2.25]
    assert read(["1.500", "2.250"], decimal=",")[1] == [1500.0, 2250.0]
    assert read(["1,500", "2,250"])[1] == [1500.0, 2250.0]
    assert read(["1,500", "2,250"], decimal=",")[1] == [1.5, 2.25]


@pytest.mark.parametrize(
    ("cells", "dates"),
    [
        (["2024-01-31", "1999-12-01"], ["2024-01-31", "1999-12-01"]),
        (["2024-01-31T06:00:00Z", "2024-01-31 08:00+02:00"], ["2024-01-31 06:00", "2024-01-31 06:00"]),
        (["31.01.2024", "01.02.2024"], ["2024-01-31", "2024-02-01"]),
        (["01/31/2024", "02/01/2024"], ["2024-01-31", "2024-02-01"]),
        (["31/01/2024", "01/02/2024"], ["2024-01-31", "2024-02-01"]),
        (["31.1.24", "1.2.24"], ["2024-01-31", "2024-02-01"]),
        (["31 Jan 2024", "1 Feb 2024"], ["2024-01-31", "2024-02-01"]),
        (["January 31, 2024", "February 1, 2024"], ["2024-01-31", "2024-02-01"]),
        (["1/31/2024 6:00 PM", "2/1/2024 12:00 AM"], ["2024-01-31 18:00", "2024-02-01"]),
        (["2024/01/31", "2024/02/01"], ["2024-01-31", "2024-02-01"]),
    ],
)
def test_dates_as_people_write_them(cells: list[str], dates: list[str]) -> None:
    kind, days = read(cells)
    assert kind == "date"
    assert [day_text(day) for day in days] == dates


def test_times_and_truth_values() -> None:
    assert read(["06:00", "18:00"]) == ("time", [0.25, 0.75])
    assert read(["yes", "No", "YES"]) == ("truth", [1.0, 0.0, 1.0])
    assert read(["ja", "nein"]) == ("truth", [1.0, 0.0])


def test_a_few_odd_cells_do_not_make_a_column_text() -> None:
    cells = as_words([*map(str, range(99)), "tbd"])
    spelling = spelling_of(cells)
    assert spelling == Spelling("number", ".")
    assert np.isnan(spelling.read(cells)).sum() == 1
    assert spelling_of(as_words([*map(str, range(80)), *(["tbd"] + [f"w{i}" for i in range(19)])])) is None


@pytest.mark.parametrize("cell", ["gold", "1-2", "v1.2", "12 apples", "1,2,3", "2024-13-01", "e5", ".", "-"])
def test_what_is_no_number_is_none(cell: str) -> None:
    assert np.isnan(Spelling("number", ".").read(np.array([cell], dtype=object))).all()
    assert np.isnan(Spelling("date", "year-month-day").read(np.array([cell], dtype=object))).all()


@pytest.mark.parametrize("cell", ["", " ", "NA", "n/a", "NaN", "NULL", "None", "?", "-", "#N/A", "<NA>", "NaT"])
def test_missing_values_as_tables_spell_them(cell: str) -> None:
    assert is_missing(cell)
