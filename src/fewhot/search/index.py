"""An exact index over sparse codes: one list of rows a unit, and a query reads those of its active units alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fewhot.core.checks import one_of, whole_number
from fewhot.core.errors import InvalidInputError, InvalidParameterError
from fewhot.metrics.matrices import as_matrix
from fewhot.metrics.ranking import LONGEST, NO_ITEM
from fewhot.search.best import best_counts, best_rows

Rows = Any
"""A sparse matrix; scipy does not say that it has a shape."""

SIMILARITIES = ("dot", "cosine", "shared")


class SharedUnits(NamedTuple):
    """What a query and a row have in common.

    Attributes
    ----------
    units
        The units active in both, the largest contribution first; equal ones by the smaller unit.
    contributions
        The product of the two values of each, of rows of length 1 for ``"cosine"``.
    """

    units: np.ndarray
    contributions: np.ndarray


class SparseIndex:
    r"""Find the rows whose codes are most like a query's, exactly.

    .. math:: s(q, z) = \sum_{j:\, q_j \ne 0} q_j z_j

    is summed unit by unit in float64, over the lists of rows in which the query's active units are active. What is
    returned is what comparing with every row would return, down to the order of equal scores: rows that share no unit
    with the query have a score of 0, and stand before those of a negative score.

    Parameters
    ----------
    codes
        The rows to search, (n, K): what ``transform`` or ``codes`` returns, a sparse matrix or an array. They may be
        negative, and rows may be without active units. A copy is kept, of 16 bytes an active unit.
    similarity
        ``"dot"``: the product s. ``"cosine"``: that of rows brought to length 1, and 0 for a row of zeros.
        ``"shared"``: the number of units active in both, whatever their values; equal numbers by the larger product s.

    Attributes
    ----------
    n_rows, n_units
        The shape of the codes.

    Notes
    -----
    Queries are answered one at a time: a search takes at most 72 bytes a row of the index, however many queries there
    are, beside the answer and a copy of the queries. Scores that are equal in exact arithmetic may differ by rounding;
    those of rows with the same code never do. Nothing of an index needs to be stored: it is built anew from the codes,
    100,000 rows in well under a second.

    Examples
    --------
    >>> index = SparseIndex([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [0.0, 0.0, 2.0]])
    >>> ids, scores = index.search([[0.0, 0.0, 1.0]], n=2)
    >>> ids.tolist(), scores.tolist()
    ([[0, 2]], [[2.0, 2.0]])
    """

    def __init__(self, codes: Any, similarity: str = "dot") -> None:
        self.similarity: str = one_of("similarity", similarity, SIMILARITIES)
        lists: Rows = self._comparable(_active(codes, "codes")).tocsc()
        self.n_rows, self.n_units = lists.shape
        self._rows = lists.indices.astype(np.intp, copy=False)  # the type that numpy adds at without converting
        self._values = lists.data
        self._ends = lists.indptr
        self._largest = _largest(lists)

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        return f"SparseIndex({self.n_rows} rows of {self.n_units} units, similarity={self.similarity!r})"

    def search(self, queries: Any, n: int = 10) -> tuple[np.ndarray, np.ndarray]:
        """Return the ids and the scores of the ``n`` rows most like each query, best first.

        Parameters
        ----------
        queries
            Codes, (queries, K), of the same model; all of them are compared with all rows, in bounded memory. A query
            without active units has a score of 0 with every row.
        n
            How many rows to list. A query that is itself in the index is listed as any other row.

        Returns
        -------
        ids, scores : numpy.ndarray
            Both (queries, n). Equal scores come in the order of the rows. Where the index has fewer than ``n`` rows,
            ids of -1 and minus infinity at the end.
        """
        most = max(self.n_rows, LONGEST)
        if whole_number("n", n) > most:
            raise InvalidParameterError(f"n is {n}, and the index has {self.n_rows} rows; give at most {most}.")
        asked = self._queries(queries, "queries")
        ids = np.full((asked.shape[0], n), NO_ITEM, dtype=np.int64)
        scores = np.full(ids.shape, -np.inf)
        for i, (units, values) in enumerate(_rows_of(asked)):
            best, of_best = self._search(units, values, n)
            ids[i, : len(best)], scores[i, : len(best)] = best, of_best
        return ids, scores

    def explain(self, query: Any, row: int) -> SharedUnits:
        """Return which units a query and a row of the index share, and what each adds to their similarity.

        The contributions sum to the score that `search` gives. For ``"shared"`` it is their number that is the score,
        and their sum what equal numbers are ordered by.

        Parameters
        ----------
        query
            The code of one row, (K,) or (1, K).
        row
            A row of the index, such as an id that `search` returned.

        Examples
        --------
        >>> SparseIndex([[1.0, 0.0, 2.0, 3.0]]).explain([1.0, 1.0, 4.0, 0.0], 0)
        SharedUnits(units=array([2, 0]), contributions=array([8., 1.]))
        """
        if whole_number("row", row, least=0) >= self.n_rows:
            raise InvalidParameterError(
                f"row is {row}, and the index has rows 0 to {self.n_rows - 1}; give one of them."
            )
        asked = self._queries(_one_row(query), "query")
        if asked.shape[0] > 1:
            raise InvalidInputError(f"query has {asked.shape[0]} rows; give one of them.")
        units, values = next(_rows_of(asked))
        of_row = np.array([self._value(unit, row) for unit in units], dtype=np.float64)
        shared, products = units[of_row != 0], (values * of_row)[of_row != 0]
        order = np.argsort(-products, kind="stable")  # units are in order
        return SharedUnits(shared[order].astype(np.int64), products[order])

    def _search(self, units: np.ndarray, values: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the best rows of one query, and their scores."""
        products = np.zeros(self.n_rows)
        for unit, value in zip(units, values, strict=True):
            rows, of_rows = self._list(unit)
            np.add.at(products, rows, value * of_rows)
        if self.similarity != "shared":
            best = best_rows(products, n)
            return best, products[best]
        counts = np.zeros(self.n_rows, dtype=np.intp)
        for unit in units:
            np.add.at(counts, self._list(unit)[0], 1)
        best = best_counts(counts, products, n)
        return best, counts[best].astype(np.float64)

    def _list(self, unit: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows in which a unit is active, in order, and its values there."""
        part = slice(self._ends[unit], self._ends[unit + 1])
        return self._rows[part], self._values[part]

    def _value(self, unit: int, row: int) -> float:
        """Return the value of a unit in a row, 0 where it is not active."""
        rows, values = self._list(unit)
        place = int(np.searchsorted(rows, row))
        return float(values[place]) if place < len(rows) and rows[place] == row else 0.0

    def _queries(self, values: Any, name: str) -> Rows:
        """Return queries as the rows of the index are: active units only, of length 1 for cosines."""
        asked = _active(values, name)
        if asked.shape[1] != self.n_units:
            raise InvalidInputError(
                f"{name} has {asked.shape[1]} columns and the index {self.n_units} units; give codes of the same model."
            )
        asked = self._comparable(asked)
        largest = _largest(asked)
        if largest * self._largest * self.n_units == np.inf:
            raise InvalidInputError(
                f"{name} has values up to {largest:g} and the index up to {self._largest:g}, whose products are beyond "
                f"float64; divide both by a number."
            )
        return asked

    def _comparable(self, codes: Rows) -> Rows:
        return _of_length_one(codes) if self.similarity == "cosine" else codes


def _active(values: Any, name: str) -> Rows:
    """Return codes as CSR in float64, without stored zeros and with the units of each row in order."""
    codes = sp.csr_array(as_matrix(values, name))
    codes.eliminate_zeros()
    codes.sort_indices()
    return codes


def _one_row(query: Any) -> Any:
    """Return a single code as a matrix of one row; what is none is for the caller to refuse."""
    if sp.issparse(query):
        return query.reshape(1, -1) if query.ndim == 1 else query
    return np.asanyarray(query)[None] if np.ndim(query) == 1 else query  # a mask stays


def _rows_of(codes: Rows) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the active units of each row and their values."""
    for begin, end in zip(codes.indptr[:-1], codes.indptr[1:], strict=True):
        yield codes.indices[begin:end], codes.data[begin:end]


def _largest(codes: Any) -> float:
    return float(abs(codes.data).max(initial=0.0))


def _of_length_one(codes: Rows) -> Rows:
    """Return rows divided by their length, by their largest value first so that no square overflows."""
    rows = np.repeat(np.arange(codes.shape[0]), np.diff(codes.indptr))
    largest = np.zeros(codes.shape[0])
    np.maximum.at(largest, rows, abs(codes.data))
    data = codes.data / largest[rows]
    length = np.sqrt(np.bincount(rows, data**2, minlength=codes.shape[0]))
    return sp.csr_array((data / length[rows], codes.indices, codes.indptr), shape=codes.shape)
