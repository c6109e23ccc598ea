"""MovieLens: three forms of the same ratings, the rules, and pairs that are yes or no already."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import numpy as np
import pytest

from fewhot.core.errors import DataError, InvalidParameterError
from fewhot.data import describe, load_dataset, movielens, read_movielens, read_pairs

from .known import published

RNG = np.random.default_rng(0)
RATINGS = [(u, i, int(RNG.integers(1, 6))) for u in (3, 1, 20, 7) for i in (10, 2, 31, 4, 5, 600) if RNG.random() < 0.8]
TITLES = {2: "Café, The (1995)", 4: "Twin (1997)", 5: "Twin (1997)", 10: "Ten (2010)", 31: "Prime (1931)"}


def obvious(least_rating: float, least_items: int) -> tuple[list[list[int]], list[int]]:
    """Filter by hand: ratings, then users, then films without a user."""
    liked: dict[int, set[int]] = {}
    for user, item, rating in RATINGS:
        if rating >= least_rating:
            liked.setdefault(user, set()).add(item)
    kept = {user: items for user, items in liked.items() if len(items) >= least_items}
    items = sorted(set.union(*kept.values()))
    return [[int(item in kept[user]) for item in items] for user in sorted(kept)], items


def written(form: str) -> dict[str, bytes]:
    """Return ratings and titles as a published set writes them."""
    if form == "100k":
        return {
            "u.data": "".join(f"{u}\t{i}\t{r}\t881250949\n" for u, i, r in RATINGS).encode(),
            "u.item": "".join(f"{i}|{t}|01-Jan-1995||http://x|0|1\n" for i, t in TITLES.items()).encode("latin-1"),
        }
    if form == "1m":
        return {
            "ratings.dat": "".join(f"{u}::{i}::{r}::978300760\n" for u, i, r in RATINGS).encode(),
            "movies.dat": "".join(f"{i}::{t}::Drama|War\n" for i, t in TITLES.items()).encode("latin-1"),
        }
    titles = "".join(f'{i},"{t}",Drama\n' if "," in t else f"{i},{t},Drama\n" for i, t in TITLES.items())
    return {
        "ratings.csv": b"userId,movieId,rating,timestamp\r\n"
        + "".join(f"{u},{i},{r - 0.5},1112486027\r\n" for u, i, r in RATINGS).encode(),
        "movies.csv": f"movieId,title,genres\n{titles}".encode(),
    }


def put(folder: Path, form: str) -> Path:
    files = written(form)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder / next(iter(files))


@pytest.mark.parametrize("form", ["100k", "1m", "20m"])
@pytest.mark.parametrize(("least_rating", "least_items"), [(4, 2), (3, 3), (1, 1)])
def test_ratings_become_ones_by_the_rules(tmp_path: Path, form: str, least_rating: int, least_items: int) -> None:
    given = least_rating - 0.5 if form == "20m" else least_rating  # its ratings have halves
    table = read_movielens(put(tmp_path, form), least_rating=given, least_items=least_items)
    rows, items = obvious(least_rating, least_items)
    assert table.X.toarray().tolist() == rows
    names = {**TITLES, 4: "Twin (1997) [4]", 5: "Twin (1997) [5]"}
    twins = {4, 5} <= set(items)
    assert table.feature_names == [(names if twins else TITLES).get(item, str(item)) for item in items]


def test_four_stars_and_five_films_are_the_rule(tmp_path: Path) -> None:
    text = "".join(f"1\t{i}\t4\t0\n2\t{i}\t{5 if i < 4 else 3}\t0\n" for i in range(1, 6))
    (tmp_path / "u.data").write_text(text)
    table = read_movielens(tmp_path / "u.data")
    assert (table.X.toarray().tolist(), table.feature_names) == ([[1] * 5], list("12345"))


@pytest.mark.parametrize("form", ["100k", "1m", "20m"])
def test_an_archive_is_read_without_unpacking(tmp_path: Path, form: str) -> None:
    with zipfile.ZipFile(tmp_path / "ml.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"ml-{form}/README", "about it")
        for name, content in written(form).items():
            archive.writestr(f"ml-{form}/{name}", content)
    plain = read_movielens(put(tmp_path, form), least_items=1)
    packed = read_movielens(tmp_path / "ml.zip", least_items=1)
    assert (packed.X != plain.X).nnz == 0
    assert packed.feature_names == plain.feature_names


def test_a_dataset_reads_its_archive(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "ml-1m.zip", "w") as archive:
        archive.writestr("ml-1m/ratings.dat", "".join(f"7::{film}::4::0\n" for film in range(6)))
    table = movielens._read_1m("all", {"ml-1m.zip": tmp_path / "ml-1m.zip"})
    assert (table.X.toarray().tolist(), table.feature_names) == ([[1] * 6], list("012345"))


def test_a_film_rated_twice_counts_once(tmp_path: Path) -> None:
    (tmp_path / "u.data").write_text("1\t2\t5\t0\n1\t2\t4\t1\n1\t3\t4\t0\n")
    assert read_movielens(tmp_path / "u.data", least_items=2).X.toarray().tolist() == [[1, 1]]
    with pytest.raises(DataError, match=r"u\.data has no user with 3 items; lower least_items\.$"):
        read_movielens(tmp_path / "u.data", least_items=3)
    with pytest.raises(InvalidParameterError, match="least_rating is 6; it must be a number at least 0 and at most 5"):
        read_movielens(tmp_path / "u.data", least_rating=6)


def test_compressed_files_and_titles_elsewhere(tmp_path: Path) -> None:
    files = written("100k")
    (tmp_path / "u.data.gz").write_bytes(gzip.compress(files["u.data"]))
    (tmp_path / "names").write_bytes(files["u.item"])
    assert "Ten (2010)" not in read_movielens(tmp_path / "u.data.gz", least_items=1).feature_names
    named = read_movielens(tmp_path / "u.data.gz", titles=tmp_path / "names", least_items=1)
    assert "Ten (2010)" in named.feature_names


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("u.data", "1\t2\t5"),
        ("u.data", "1\t2\tfive\t0"),
        ("u.data", "1\t2\t6\t0"),
        ("u.data", "1::2::5::0"),
        ("ratings.dat", "1::2::5"),
        ("ratings.csv", "1,,5.0,0"),
        ("ratings.csv", "1,2,nan,0"),
    ],
)
def test_a_malformed_line_is_named(tmp_path: Path, name: str, line: str) -> None:
    first = "userId,movieId,rating,timestamp" if name == "ratings.csv" else "1 2 4 0".replace(" ", "\t")
    first = "1::2::4::0" if name == "ratings.dat" else first
    (tmp_path / name).write_text(f"{first}\n{line}\n")
    with pytest.raises(
        DataError, match=rf"^Line 2 of .*{name} is not a user, a film, a rating up to 5 and a time; get"
    ):
        read_movielens(tmp_path / name)


@pytest.mark.parametrize("name", ["missing", "missing.zip", "u.data"])
def test_a_file_that_is_not_there_is_said_to_be_missing(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=rf"^There is no file .*{name}; check the path, or load_dataset"):
        read_movielens(tmp_path / name)


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_text("user,item\n1,2\n")
    with pytest.raises(DataError, match=r"^Line 1 of .*ratings\.csv is not userId,movieId,rating,timestamp"):
        read_movielens(tmp_path / "ratings.csv")
    (tmp_path / "u.data").write_text(f"{2**64}\t1\t5\t0\n")
    with pytest.raises(DataError, match=r"u\.data numbers a user or an item beyond 64 bits; get the published file"):
        read_movielens(tmp_path / "u.data")
    (tmp_path / "mine.txt").write_text("1 2 3")
    with pytest.raises(DataError, match=r"mine\.txt is no whole archive and is called none of u\.data, ratings\.dat, "):
        read_movielens(tmp_path / "mine.txt")
    with zipfile.ZipFile(tmp_path / "ml.zip", "w") as archive:
        archive.writestr("README", "about it")
    with pytest.raises(DataError, match=r"ml\.zip has none of u\.data, ratings\.dat, ratings\.csv; give a published"):
        read_movielens(tmp_path / "ml.zip")
    put(tmp_path, "100k")
    (tmp_path / "u.item").write_bytes(b"1|Toy Story|x\nno number|Other\n")
    with pytest.raises(DataError, match=r"^Line 2 of .*u\.item is not a film's number and title"):
        read_movielens(tmp_path / "u.data", least_items=1)


def test_pairs_of_several_files_are_put_together(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("0 3 1\n2 0\n")
    (tmp_path / "test.txt.gz").write_bytes(gzip.compress(b"0 2 3\n1\n2 4\n"))
    table = read_pairs([tmp_path / "train.txt", tmp_path / "test.txt.gz"])
    assert table.X.toarray().tolist() == [[0, 1, 1, 1, 0], [0, 0, 0, 0, 0], [1, 0, 0, 0, 1]]
    assert table.feature_names is None


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("0 x", "is not a user and items"),
        ("", "is not a user"),
        (f"1 {2**64}", "is not a user"),
        ("1 -2", "has a number below 0"),
    ],
)
def test_a_malformed_line_of_pairs_is_named(tmp_path: Path, line: str, reason: str) -> None:
    (tmp_path / "train.txt").write_text(f"0 1\n{line}\n")
    with pytest.raises(DataError, match=rf"^Line 2 of .*train\.txt {reason}.*; get the published file"):
        read_pairs([tmp_path / "train.txt"])


@published("movielens_100k")
def test_the_published_100k() -> None:
    loaded = load_dataset("movielens_100k", split="all")
    assert (loaded.X.shape, loaded.X.nnz, loaded.X.max()) == ((938, 1447), 55_361, 1)
    assert loaded.feature_names[0] == "Toy Story (1995)"
    assert len(set(loaded.feature_names)) == 1447
    everything = read_movielens(describe("movielens_100k").folder / "u.data.gz", least_rating=1, least_items=1)
    assert (everything.X.shape, everything.X.nnz) == ((943, 1682), 100_000)


@published("movielens_1m_implicit")
def test_the_published_pairs() -> None:
    loaded = load_dataset("movielens_1m_implicit", split="all")
    assert (loaded.X.shape, loaded.X.nnz, loaded.X.sum(dtype=np.float64)) == ((6022, 3043), 995_154, 995_154)
    assert loaded.feature_names is None


def test_without_the_pairs_it_is_said_what_to_put_where(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(DataError, match=r"LCFN put train\.txt, validation\.txt and test\.txt there\)"):
        load_dataset("movielens_1m_implicit", data_dir=tmp_path)


def test_one_file_of_pairs_is_read_as_readily_as_several(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("0 1 2\n1 0\n")
    for one in (tmp_path / "train.txt", str(tmp_path / "train.txt")):
        assert read_pairs(one).X.toarray().tolist() == [[0, 1, 1], [1, 0, 0]]


def test_files_without_a_pair_are_named(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("")
    with pytest.raises(DataError, match=r"train\.txt has no pair of a user and an item; get"):
        read_pairs(tmp_path / "train.txt")
    with pytest.raises(InvalidParameterError, match=r"^paths is empty; give"):
        read_pairs([])


def test_a_file_without_ratings_is_told_from_one_of_low_ratings(tmp_path: Path) -> None:
    (tmp_path / "u.data").write_text("")
    with pytest.raises(DataError, match=r"u\.data has no ratings; get the published file\.$"):
        read_movielens(tmp_path / "u.data")
