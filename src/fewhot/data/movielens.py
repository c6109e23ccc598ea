"""MovieLens: who liked which film, from the files of 100 thousand, one million and twenty million ratings."""

from __future__ import annotations

import csv
import zipfile
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from fewhot.core.errors import DataError
from fewhot.data.catalogue import DataFile, register_dataset
from fewhot.data.files.table import Table
from fewhot.data.implicit import LEAST_ITEMS, LEAST_RATING, Ratings, implicit_table, rating_of
from fewhot.data.lines import bad_line, decoded, lines_of, paths_of

_LICENCE = "GroupLens terms: research use with acknowledgement, no redistribution, no commercial use"
_ADDRESS = "https://files.grouplens.org/datasets/movielens/"
_PAIRS = ("train.txt", "validation.txt", "test.txt")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """How a published set writes its ratings and its titles."""

    ratings: str
    titles: str
    separator: str
    title_separator: str
    encoding: str = "latin-1"
    header: str = ""


_FORMS = (
    _Form(ratings="u.data", titles="u.item", separator="\t", title_separator="|"),
    _Form(ratings="ratings.dat", titles="movies.dat", separator="::", title_separator="::"),
    _Form(
        ratings="ratings.csv",
        titles="movies.csv",
        separator=",",
        title_separator=",",
        encoding="utf-8",
        header="userId,movieId,rating,timestamp",
    ),
)


@dataclass(frozen=True, slots=True)
class _Source:
    """Numbered lines, and what a complaint calls the file they are from."""

    name: str
    lines: Iterator[tuple[int, str]]


def read_movielens(
    path: Path,
    *,
    titles: Path | None = None,
    least_rating: float = LEAST_RATING,
    least_items: int = LEAST_ITEMS,
) -> Table:
    """Read ratings of MovieLens as yes or no.

    Parameters
    ----------
    path
        A published archive, such as ``ml-1m.zip``, or the file of ratings in it: ``u.data`` (tabs), ``ratings.dat``
        (``::``) or ``ratings.csv``.
    titles
        The file of titles: ``u.item``, ``movies.dat`` or ``movies.csv``. None takes the one in the archive or beside
        the ratings; where there is none, films are called by their numbers.
    least_rating
        Ratings below are left out.
    least_items
        Users with fewer films after that are left out.

    Returns
    -------
    Table
        Ones (users, films) as CSR in the order of their numbers, and the films' titles. Films that nobody liked have no
        column; two films of the same title are told apart by their numbers.

    References
    ----------
    Harper and Konstan (2015), The MovieLens datasets: history and context.
    """
    path = Path(path)
    if not path.exists():
        raise DataError(f"There is no file {path}; check the path, or load_dataset('movielens_1m').")
    form, ratings, titled = _in_archive(path) if zipfile.is_zipfile(path) else _in_folder(path)
    if titles is not None:
        titled = _Source(str(titles), lines_of(Path(titles), form.encoding))
    return implicit_table(
        _ratings(form, ratings),
        {} if titled is None else dict(_titles(form, titled)),
        path,
        least_rating=least_rating,
        least_items=least_items,
    )


def read_pairs(paths: str | Path | Sequence[str | Path]) -> Table:
    """Read users and their items, which are yes or no already: ``user item item ...`` a line, both numbered from 0.

    The rows of several files are put together; a user may be in all of them.

    Returns
    -------
    Table
        Ones (users, items) as CSR, without names.
    """
    users, items = array("q"), array("q")
    files = paths_of(paths)
    for path in files:
        for number, line in lines_of(path):
            try:
                user, *row = map(int, line.split())
                users.extend([user] * len(row))
                items.extend(row)
            except (ValueError, OverflowError) as error:
                raise bad_line(number, path, "is not a user and items as whole numbers") from error
            if min(user, *row, 0) < 0:
                raise bad_line(number, path, "has a number below 0")
    if not users:
        have = "has" if len(files) == 1 else "have"
        raise DataError(f"{', '.join(map(str, files))} {have} no pair of a user and an item; get what was published.")
    rows, columns = np.frombuffer(users, np.int64), np.frombuffer(items, np.int64)
    X = sp.csr_array((np.ones(len(rows), dtype=np.float32), (rows, columns)))
    X.sum_duplicates()
    X.data[:] = 1
    return Table(X=X)


def _in_archive(path: Path) -> tuple[_Form, _Source, _Source | None]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = {member.rpartition("/")[2]: member for member in archive.namelist()}
    except zipfile.BadZipFile as error:
        raise DataError(f"{path} is cut off or damaged; get it again.") from error
    form = next((form for form in _FORMS if form.ratings in members), None)
    if form is None:
        raise _no_ratings(path, "has none of")

    def source(name: str) -> _Source:
        return _Source(f"{members[name]} in {path}", _zipped(path, members[name], form.encoding))

    return form, source(form.ratings), source(form.titles) if form.titles in members else None


def _in_folder(path: Path) -> tuple[_Form, _Source, _Source | None]:
    form = next((form for form in _FORMS if form.ratings == path.name.removesuffix(".gz")), None)
    if form is None:
        raise _no_ratings(path, "is no whole archive and is called none of")
    places = (path.with_name(spelling) for spelling in (form.titles, f"{form.titles}.gz"))
    titles = next((place for place in places if place.is_file()), None)
    return (
        form,
        _Source(str(path), lines_of(path, form.encoding)),
        None if titles is None else _Source(str(titles), lines_of(titles, form.encoding)),
    )


def _no_ratings(path: Path, reason: str) -> DataError:
    names = ", ".join(form.ratings for form in _FORMS)
    return DataError(f"{path} {reason} {names}; give a published archive of MovieLens, or the file of ratings in it.")


def _zipped(path: Path, member: str, encoding: str) -> Iterator[tuple[int, str]]:
    with zipfile.ZipFile(path) as archive, archive.open(member) as file:
        yield from decoded(file, f"{member} in {path}", encoding)


def _ratings(form: _Form, source: _Source) -> Ratings:
    for number, line in source.lines:
        if number == 1 and form.header:
            if line != form.header:
                raise bad_line(number, source.name, f"is not {form.header}")
            continue
        try:
            user, item, rating, _ = line.split(form.separator)
            yield int(user), int(item), rating_of(rating)
        except ValueError as error:
            raise bad_line(number, source.name, "is not a user, a film, a rating up to 5 and a time") from error


def _titles(form: _Form, source: _Source) -> Iterator[tuple[int, str]]:
    for number, line in source.lines:
        if number == 1 and form.header:
            continue
        fields = next(csv.reader([line])) if form.title_separator == "," else line.split(form.title_separator)
        try:
            yield int(fields[0]), fields[1]
        except (ValueError, IndexError) as error:
            raise bad_line(number, source.name, "is not a film's number and title") from error


def _read_100k(part: str, files: Mapping[str, Path]) -> Table:
    return read_movielens(files["u.data"], titles=files["u.item"])


def _read_1m(part: str, files: Mapping[str, Path]) -> Table:
    return read_movielens(files["ml-1m.zip"])


def _read_pairs(part: str, files: Mapping[str, Path]) -> Table:
    return read_pairs([files[name] for name in _PAIRS])


register_dataset(
    "movielens_100k",
    _read_100k,
    title="MovieLens 100K: which films a user gave 4 or 5 stars; users with 5 films or more",
    licence=_LICENCE,
    shapes={"all": (938, 1447)},
    addresses=[f"{_ADDRESS}ml-100k/"],
    files=[
        DataFile(name="u.data", sha256="06416e597f82b7342361e41163890c81036900f418ad91315590814211dca490"),
        DataFile(name="u.item", sha256="553841ebc7de3a0fd0d6b62a204ea30c1e651aacfb2814c7a6584ac52f2c5701"),
    ],
)

register_dataset(
    "movielens_1m",
    _read_1m,
    title="MovieLens 1M: which films a user gave 4 or 5 stars; users with 5 films or more",
    licence=_LICENCE,
    shapes={"all": (6034, 3533)},
    addresses=[_ADDRESS],
    files=[DataFile(name="ml-1m.zip", sha256="a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20")],
)

register_dataset(
    "movielens_1m_implicit",
    _read_pairs,
    title="MovieLens 1M: which films a user rated at all, as prepared by Yu and Qin (2020); no titles",
    licence=_LICENCE,
    shapes={"all": (6022, 3043)},
    files=[
        DataFile(name="train.txt", sha256="f088986b22f14f17136f9c4ef6f1269201f83dfb9ce259f1fd4ed46d72a92599"),
        DataFile(name="validation.txt", sha256="7f053c9cb9b15e8120f00ba29ed28df2b751f23ce30eba035dd8067807ec3e09"),
        DataFile(name="test.txt", sha256="7ca364f7f9321417b521745833b12719a2feb13253bccece2c04d5afe9fc3e15"),
    ],
    page="https://github.com/Wenhui-Yu/LCFN",
)
