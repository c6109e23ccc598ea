"""Netflix: who liked which film, from the files of the Netflix Prize."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fewhot.core.errors import DataError
from fewhot.data.catalogue import DataFile, register_dataset
from fewhot.data.files.table import Table
from fewhot.data.implicit import LEAST_ITEMS, LEAST_RATING, Ratings, implicit_table, rating_of
from fewhot.data.lines import bad_line, lines_of, paths_of

COMBINED = tuple(f"combined_data_{number}.txt" for number in (1, 2, 3, 4))
TITLES = "movie_titles.csv"
PAGE = "https://www.kaggle.com/datasets/netflix-inc/netflix-prize-data"


def read_netflix(
    paths: str | Path | Sequence[str | Path],
    *,
    titles: str | Path | None = None,
    least_rating: float = LEAST_RATING,
    least_items: int = LEAST_ITEMS,
) -> Table:
    """Read ratings of the Netflix Prize as yes or no.

    A line with a film's number and a colon is followed by lines ``user,rating,date``. The hundred million lines take
    minutes: `write_matrix` keeps the rows in a file that does not.

    Parameters
    ----------
    paths
        A folder with files ``combined_data_*.txt`` or ``mv_*.txt``, or such files, or one of them.
    titles
        The file of titles, ``movie_titles.csv`` or ``movie_titles.txt``. None takes the one in the folder; where there
        is none, films are called by their numbers.
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
    Bennett and Lanning (2007), The Netflix Prize.
    """
    if isinstance(paths, str | Path) and not Path(paths).is_file():
        folder = Path(paths)
        files = _files_of(folder)
        beside = (folder / name for name in (TITLES, "movie_titles.txt"))
        titles = titles or next((place for place in beside if place.is_file()), None)
    else:
        folder, files = None, paths_of(paths)
    return implicit_table(
        (rating for path in files for rating in _ratings(path)),
        {} if titles is None else dict(_titles(Path(titles))),
        folder or ", ".join(map(str, files)),
        least_rating=least_rating,
        least_items=least_items,
    )


def _files_of(folder: Path) -> list[Path]:
    texts = sorted(file for file in folder.glob("*.txt*") if file.suffix in (".txt", ".gz"))
    named = ([file for file in texts if file.name.startswith(start)] for start in ("combined_data_", "mv_"))
    files = next((found for found in named if found), [])
    if not files:
        raise DataError(
            f"{folder} has no files combined_data_*.txt or mv_*.txt; get them from {PAGE} and put them there under "
            f"these names."
        )
    return files


def _ratings(path: Path) -> Ratings:
    film = None
    for number, line in lines_of(path):
        try:
            if line.endswith(":"):
                film = int(line[:-1])
                continue
            user, rating, _ = line.split(",")
            pair = int(user), rating_of(rating)
        except ValueError as error:
            raise bad_line(number, path, "is neither a film's number and a colon nor user,rating,date") from error
        if film is None:
            raise bad_line(number, path, "has a rating before the first film")
        yield pair[0], film, pair[1]


def _titles(path: Path) -> Iterator[tuple[int, str]]:
    """Give the films' numbers and titles; a title may hold commas."""
    for number, line in lines_of(path, "latin-1"):
        try:
            film, _, title = line.split(",", maxsplit=2)
            yield int(film), title
        except ValueError as error:
            raise bad_line(number, path, "is not a film's number, year and title") from error


def _read(part: str, files: Mapping[str, Path]) -> Table:
    return read_netflix([files[name] for name in COMBINED], titles=files[TITLES])


def register() -> None:
    """Add the dataset to the catalogue."""
    register_dataset(
        "netflix",
        _read,
        title="Netflix Prize: which films a user gave 4 or 5 stars; users with 5 films or more; 40,000 validation and "
        "40,000 test users",
        licence="Netflix Prize rules: research use, no redistribution, no commercial use",
        shapes={"all": (463_435, None)},
        files=[*(DataFile(name=name, sha256=None) for name in COMBINED), DataFile(name=TITLES, sha256=None)],
        page=PAGE,
        n_test=40_000,
        n_validation=40_000,
    )
