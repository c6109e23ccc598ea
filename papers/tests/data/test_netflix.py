"""Netflix: combined files and a file a film."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fewhot.core.errors import DataError, InvalidParameterError
from fewhot.data import describe, load_dataset
from fewhot_papers.data import netflix, read_netflix

FILMS = {
    1: "1488844,3,2005-09-06\n822109,5,2005-05-13\n885013,4,2005-10-19\n",
    2: "822109,4,2005-05-13\n",
    30: "885013,5,2005-10-19\n822109,4,2005-10-19\n",
}
COMBINED = {
    "combined_data_1.txt": f"1:\n{FILMS[1]}2:\n{FILMS[2]}",
    "combined_data_2.txt": f"30:\n{FILMS[30]}",
}
TITLES = "1,2003,Dinosaur Planet\n2,2004,Isle of Man TT 2004, Review\n30,NULL,Something's G\xf6tta Give\n"
ROWS = [[1, 1, 1], [1, 0, 1]]  # of 822109 and 885013


def put(folder: Path, *, films: bool = False, titles: str | None = None) -> Path:
    files = {f"mv_{film:07d}.txt": f"{film}:\n{text}" for film, text in FILMS.items()} if films else COMBINED
    for name, text in files.items():
        (folder / name).write_text(text)
    if titles:
        (folder / titles).write_bytes(TITLES.encode("latin-1"))
    return folder


@pytest.mark.parametrize("films", [False, True], ids=["combined", "a file a film"])
def test_ratings_become_ones_by_the_rules(tmp_path: Path, films: bool) -> None:
    table = read_netflix(put(tmp_path, films=films), least_items=2)
    assert (table.X.toarray().tolist(), table.feature_names) == (ROWS, ["1", "2", "30"])
    everyone = read_netflix(tmp_path, least_rating=1, least_items=1)
    assert everyone.X.toarray().tolist() == [*ROWS, [1, 0, 0]]


@pytest.mark.parametrize("name", ["movie_titles.csv", "movie_titles.txt"])
def test_titles_beside_the_ratings_are_used(tmp_path: Path, name: str) -> None:
    table = read_netflix(put(tmp_path, titles=name), least_items=2)
    assert table.feature_names == ["Dinosaur Planet", "Isle of Man TT 2004, Review", "Something's G\xf6tta Give"]


def test_files_may_be_named_one_by_one(tmp_path: Path) -> None:
    put(tmp_path, titles="names")
    table = read_netflix([tmp_path / name for name in COMBINED], titles=tmp_path / "names", least_items=3)
    assert (table.X.toarray().tolist(), table.feature_names[0]) == ([[1, 1, 1]], "Dinosaur Planet")


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("1:\n5,4,2005\n6,4\n", 3, "is neither a film's number and a colon nor user,rating,date"),
        ("1:\n5,9,2005\n", 2, "is neither a film's number"),
        ("one:\n5,4,2005\n", 1, "is neither a film's number"),
        ("5,4,2005\n", 1, "has a rating before the first film"),
    ],
)
def test_a_malformed_line_is_named(tmp_path: Path, text: str, line: int, reason: str) -> None:
    (tmp_path / "combined_data_1.txt").write_text(text)
    with pytest.raises(DataError, match=rf"^Line {line} of .*combined_data_1\.txt {reason}.*; get the published file"):
        read_netflix(tmp_path)


def test_malformed_titles_are_named(tmp_path: Path) -> None:
    put(tmp_path)
    (tmp_path / "movie_titles.csv").write_text("1,2003,Dinosaur Planet\n2,2004\n")
    with pytest.raises(DataError, match=r"^Line 2 of .*movie_titles\.csv is not a film's number, year and title"):
        read_netflix(tmp_path)


def test_a_folder_without_the_files_is_refused(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(DataError, match=r"has no files combined_data_\*\.txt or mv_\*\.txt; get them from https://"):
        read_netflix(tmp_path)
    with pytest.raises(DataError, match=r"combined_data_4\.txt and movie_titles\.csv there\)"):
        load_dataset("netflix", data_dir=tmp_path)


def test_ratings_that_are_all_low_are_refused(tmp_path: Path) -> None:
    (tmp_path / "mv_1.txt").write_text("1:\n5,3,2005\n")
    with pytest.raises(DataError, match=r"has no rating of at least 4; lower least_rating\.$"):
        read_netflix(tmp_path)


def test_the_dataset_reads_its_files(tmp_path: Path) -> None:
    lines = dict.fromkeys(netflix.COMBINED, "")
    lines["combined_data_3.txt"] = "".join(f"{film}:\n7,5,2005-01-01\n" for film in range(1, 7))
    for name, text in {**lines, netflix.TITLES: TITLES}.items():
        (tmp_path / name).write_bytes(text.encode("latin-1"))
    table: Any = netflix._read("all", {name: tmp_path / name for name in [*lines, netflix.TITLES]})
    assert (table.X.toarray().tolist(), table.feature_names[0]) == ([[1] * 6], "Dinosaur Planet")


def test_the_published_users_are_described() -> None:
    shapes = describe("netflix").shapes
    assert (shapes["fit"], shapes["test"]) == ((383_435, None), (40_000, None))


def test_one_file_is_read_as_readily_as_several(tmp_path: Path) -> None:
    file = put(tmp_path) / "combined_data_1.txt"
    for one in (file, str(file), [file]):
        assert read_netflix(one, least_items=1).X.toarray().tolist() == [[1, 1], [1, 0]]


def test_no_files_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"^paths is empty; give"):
        read_netflix([])
