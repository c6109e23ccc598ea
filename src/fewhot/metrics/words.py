"""Which words a unit stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from fewhot.core.checks import whole_number
from fewhot.core.errors import InvalidInputError, InvalidParameterError
from fewhot.data.text import Vocabulary
from fewhot.data.text.vocabulary import N_SPECIAL
from fewhot.metrics.activity import USED_SHARE
from fewhot.metrics.examples import check_estimator, map_codes
from fewhot.metrics.libraries import library
from fewhot.metrics.matrices import as_counts, as_matrix, column_names, dense, in_order_of, is_sparse
from fewhot.metrics.proportions import decoder_module
from fewhot.metrics.sparsity import ACTIVE_VARIANCE
from fewhot.metrics.text_counts import as_texts, spelling, text_counts
from fewhot.metrics.traversal import chosen_units

LEAST_SHARE, MOST_SHARE, ENOUGH_WORDS = 0.01, 0.1, 6000
"""A side of a unit is judged by as many rows as hold so many words, within these shares of all rows: 50 posts of 120
words, 650 questions of 9 (docs/decisions/0038)."""
KEPT_WORDS = 25
"""How many words of each side a fit keeps."""
_UNITS_AT_ONCE = 64
_NO_WORD = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class TopWords:
    """The words of each unit, the most telling first.

    Attributes
    ----------
    units
        The units, (U,).
    columns_up, columns_down
        Columns of the words where the unit is large, and where it is below 0 or low, (U, n); -1 where there are fewer
        words. A unit with one side, such as one that is off or positive, has no words down.
    scores_up, scores_down
        Their scores in the same places; 0 where there is no word.
    vocabulary
        The words of all columns.
    gated
        Whether units can be off: then the two sides of a unit are values above and below 0, else high and low ones.
    """

    units: np.ndarray
    columns_up: np.ndarray
    scores_up: np.ndarray
    columns_down: np.ndarray
    scores_down: np.ndarray
    vocabulary: tuple[str, ...]
    gated: bool = False

    @property
    def up(self) -> list[list[str]]:
        """Words of rows in which the unit is large, or just on, a list a unit; none of a dead unit."""
        return self._words(self.columns_up)

    @property
    def down(self) -> list[list[str]]:
        """Words of rows in which the unit is below 0, or low where it has no gate, a list a unit."""
        return self._words(self.columns_down)

    @property
    def lists(self) -> list[list[int]]:
        """The columns of every list of words that there is: up and down, unit by unit."""
        both = zip(self.columns_up.tolist(), self.columns_down.tolist(), strict=True)
        found = [[column for column in side if column != _NO_WORD] for sides in both for side in sides]
        return [columns for columns in found if columns]

    @property
    def sides(self) -> tuple[str, str]:
        """What up and down mean for a unit that has both, in words."""
        return ("when above 0", "when below 0") if self.gated else ("when high", "when low")

    def in_words(self) -> list[dict[str, list[str]]]:
        """Return the words of each unit by what they are the words of: {"when high": [...], "when low": [...]}.

        A unit with one side has {"when on": [...]}, and a dead one nothing.
        """
        found: list[dict[str, list[str]]] = []
        for up, down in zip(self.up, self.down, strict=True):
            names = self.sides if up and down else ("when on", "when on")
            found.append({name: words for name, words in zip(names, (up, down), strict=True) if words})
        return found

    def of(self, units: np.ndarray, n: int) -> TopWords:
        """Return the first words of some units, which are places in ``units``."""
        return replace(
            self,
            units=self.units[units],
            columns_up=self.columns_up[units, :n],
            scores_up=self.scores_up[units, :n],
            columns_down=self.columns_down[units, :n],
            scores_down=self.scores_down[units, :n],
        )

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return everything but the words of columns, by name; `from_arrays` makes the same of it."""
        named = {"columns_up": self.columns_up, "columns_down": self.columns_down, "gated": np.array(self.gated)}
        columns = {name: np.asarray(value, dtype=np.int32) for name, value in named.items()}
        scores = {"scores_up": self.scores_up, "scores_down": self.scores_down}
        return columns | {name: np.ascontiguousarray(value, dtype=np.float32) for name, value in scores.items()}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> TopWords:
        """Return what `to_arrays` describes, of all units, its columns without words."""
        columns = {name: arrays[name].astype(np.int64) for name in ("columns_up", "columns_down")}
        scores = {name: arrays[name].astype(np.float64) for name in ("scores_up", "scores_down")}
        units = np.arange(len(columns["columns_up"]))
        return cls(units=units, **columns, **scores, vocabulary=(), gated=bool(arrays["gated"]))

    def __len__(self) -> int:
        return len(self.units)

    def __str__(self) -> str:
        lines: list[str] = []
        width = len(f"unit {self.units.max(initial=0)}")
        silent = 0
        for unit, said in zip(self.units, self.in_words(), strict=True):
            told = [f"{name}: {' '.join(words)}" if len(said) > 1 else " ".join(words) for name, words in said.items()]
            silent += not told
            for name, line in zip((f"unit {unit}", ""), told, strict=False):
                lines.append(f"{name:<{width}}  {line}")
        if silent:
            lines.append(f"{silent} {'unit' if silent == 1 else 'units'}  {no_words(self.gated)}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping: a record a unit, its words and their scores by side."""
        scores = zip(self.scores_up.tolist(), self.scores_down.tolist(), strict=True)
        records: list[dict[str, Any]] = []
        for unit, said, (up, down) in zip(self.units.tolist(), self.in_words(), scores, strict=True):
            sides = zip(said.items(), (up, down), strict=False)
            records.append({"unit": unit, "words": {name: _pairs(words, part) for (name, words), part in sides}})
        return {"units": records}

    def _words(self, columns: np.ndarray) -> list[list[str]]:
        return [[self.vocabulary[column] for column in row if column != _NO_WORD] for row in columns.tolist()]


def things_of(estimator: Any) -> str:
    """Return what the columns of counts are called: items of users, or words."""
    return "items" if getattr(estimator, "recipe_", None) == "likes" else "words"


def no_words(gated: bool) -> str:
    """Say why a unit has no words."""
    return "(hardly ever on)" if gated else "(hardly varies)"


def top_words(
    estimator: Any,
    n: int = 10,
    *,
    X: Any = None,
    units: Sequence[int] | None = None,
    vocabulary: Sequence[str] | None = None,
) -> TopWords:
    r"""Return the words of the rows in which each unit is largest.

    .. math:: s_{jv} = p_{jv} \log\frac{p_{jv}}{p_v}

    with :math:`p_v` the share of all rows that hold word v, and :math:`p_{jv}` the share of the rows in which unit j is
    largest: frequent words that are much more frequent there. These are as many rows as hold 6,000 words, at least 1 %
    and at most 10 % of all, and never rows in which the unit is off. A unit without a gate has words for its largest
    values and for its lowest ones; one with a gate for values above 0 and for values below, where it has both. A unit
    that is on in less than 0.5 % of the rows, or without a gate has a variance of at most 0.01, has none.

    The words say what goes together in the data, and not what the decoder does. The score was chosen of 26 by the
    coherence of the words in documents that were not looked at (docs/decisions/0038).

    Parameters
    ----------
    estimator
        A fitted estimator. One with topics (``topics_``), such as `fewhot.baselines.LDA`, has the most probable words
        of each, unless X is given.
    n
        How many words at most.
    X
        Counts of words, (n, V), or texts: what the estimator codes. None takes the words that the fit has kept, of at
        most 10,000 of its training rows; it keeps 25 of each side.
    units
        Which units; None takes all.
    vocabulary
        The word of each column; None takes the words of the texts that were fitted, ``feature_names_in_``, or else
        "column 0", "column 1", ... Of a model of texts, the columns of padding, end and unknown words are left out.

    See Also
    --------
    code_words : The same for codes that are there already, such as of embeddings.

    References
    ----------
    Tomokiyo and Hurst (2003), A language model approach to keyphrase extraction, for the score.

    Examples
    --------
    >>> import fewhot as fh
    >>> X = np.kron(np.eye(2, dtype=int), np.ones((60, 2), dtype=int))
    >>> nfa = fh.NFA(1, n_layers=1, hidden_layer_sizes=(8,), max_steps=200, random_state=0).fit(X)
    >>> print(top_words(nfa, 2, vocabulary=["orbit", "moon", "goal", "ice"]))
    unit 0  when high: orbit moon
            when low: goal ice
    """
    if X is not None:
        return _of_rows(estimator, X, n, units, vocabulary)
    topics = getattr(estimator, "topics_", None)
    if topics is not None:
        return _of_topics(estimator, topics, n, units, vocabulary)
    kept: TopWords | None = getattr(estimator, "_kept_words", None)
    if kept is None:
        decoder_module(estimator)  # says what is not fitted, and what has no units
        raise InvalidParameterError(
            f"This {type(estimator).__name__} has kept no words: they are kept by a fit of counts or texts. Give X, "
            f"rows of counts of words or texts."
        )
    of_texts: Vocabulary | None = getattr(estimator, "vocabulary_", None)
    given = spelling(of_texts) if vocabulary is None and of_texts is not None else vocabulary
    names = words_of_columns(estimator, given, estimator.data_spec_.n_columns)
    _check_number(n, len(names) - (0 if of_texts is None else N_SPECIAL))
    if n > kept.columns_up.shape[1]:
        raise InvalidParameterError(
            f"n is {n} and the fit has kept {kept.columns_up.shape[1]} words of each unit; ask for fewer, or give X."
        )
    return replace(kept.of(chosen_units(units, len(kept)), n), vocabulary=names)


def code_words(
    codes: Any,
    X: Any,
    n: int = 10,
    *,
    units: Sequence[int] | None = None,
    vocabulary: Sequence[str] | None = None,
) -> TopWords:
    """Return the words of the rows in which each unit of given codes is largest; see `top_words`.

    Parameters
    ----------
    codes
        Codes of the same rows, (n, K), from any model and of anything, such as embeddings. Where some are exactly 0,
        units are taken to be off there.
    X
        Counts of words of the rows, (n, V), or texts.
    n
        How many words at most.
    units
        Which units; None takes all.
    vocabulary
        The word of each column of counts; None takes the names of a frame's columns. Texts bring their words.

    Examples
    --------
    >>> codes = [[0.0, 2.0], [0.0, 1.0], [3.0, 0.0], [1.0, 0.0]]
    >>> texts = ["the sea is blue", "the blue sky", "the sun is hot", "the hot air"]
    >>> print(code_words(codes, texts, 1))
    unit 0  sun
    unit 1  sea
    """
    Z = as_matrix(codes, "codes")
    words = _read(X, None, vocabulary)
    gated = is_sparse(Z) or bool((Z == 0).any())
    return words_of_codes(Z, words, n, chosen_units(units, Z.shape[1]), gated=gated, least_variance=0.0)


class Words(NamedTuple):
    """Which words rows hold: counts (n, V), what their columns are called, and from which column on they are words."""

    counts: Any
    names: tuple[str, ...]
    first: int = 0


def words_of_codes(
    codes: Any, words: Words, n: int, units: np.ndarray, *, gated: bool, least_variance: float = ACTIVE_VARIANCE
) -> TopWords:
    """Return the words of units; of those without gates, of such as vary by more than ``least_variance``."""
    n_rows, n_words = words.counts.shape
    if codes.shape[0] != n_rows:
        raise InvalidInputError(f"codes has {codes.shape[0]} rows and X has {n_rows}; give the codes of these rows.")
    _check_number(n, n_words - words.first)
    present = library("scipy.sparse").csr_array(words.counts)
    present.data = np.ones_like(present.data, dtype=np.float64)
    share = np.bincount(present.indices, minlength=n_words) / n_rows
    most = _rows_asked(n_rows, present.nnz)
    columns = codes.tocsc() if is_sparse(codes) else codes
    found: list[list[tuple[np.ndarray, np.ndarray]]] = [[], []]
    for start in range(0, len(units), _UNITS_AT_ONCE):
        some = units[start : start + _UNITS_AT_ONCE]
        sides = [_sides(_column(columns, unit), most, gated, least_variance) for unit in some.tolist()]
        for side, ranked in enumerate(found):
            ranked.append(_ranked(present, [rows[side] for rows in sides], share, n, words.first))
    up, down = ([np.concatenate(part) for part in zip(*ranked, strict=True)] for ranked in found)
    return TopWords(
        units=units,
        columns_up=up[0],
        scores_up=up[1],
        columns_down=down[0],
        scores_down=down[1],
        vocabulary=words.names,
        gated=gated,
    )


def unnamed(n_words: int) -> list[str]:
    """Return what words are called whose names are not known."""
    return [f"column {column}" for column in range(n_words)]


def words_of_columns(estimator: Any, vocabulary: Sequence[str] | None, n_words: int) -> tuple[str, ...]:
    """Return the word of each column: those given, or the estimator's names of columns, or "column 0" and so on."""
    named: Sequence[str] = getattr(estimator, "feature_names_in_", unnamed(n_words))
    given = named if vocabulary is None else vocabulary
    if isinstance(given, str):
        raise InvalidParameterError("vocabulary is a text; give a list of words, one a column.")
    words = tuple(str(word) for word in given)
    if len(words) != n_words:
        raise InvalidParameterError(
            f"vocabulary has {len(words)} words and there are {n_words} columns; give one a column."
        )
    return words


def counts_of(estimator: Any, X: Any) -> Any:
    """Return the counts of words, (n, V), of rows or texts that an estimator codes, CSR."""
    return _read(X, estimator, None).counts


def _check_number(n: int, most: int) -> None:
    if whole_number("n", n) > most:
        raise InvalidParameterError(f"n is {n} and the vocabulary has {most} words; ask for at most as many.")


def _of_rows(estimator: Any, X: Any, n: int, units: Sequence[int] | None, vocabulary: Sequence[str] | None) -> TopWords:
    """Return the words of rows that are given, of an estimator that codes them."""
    if not hasattr(estimator, "topics_"):
        check_estimator(estimator)
    codes = map_codes(estimator, X)
    words = _read(X, estimator, vocabulary)
    chosen = chosen_units(units, codes.shape[1])
    module = getattr(estimator, "module_", None)
    gated = is_sparse(codes) or bool((codes == 0).any()) if module is None else bool(module.latent.gated)
    found = words_of_codes(codes, words, n, chosen, gated=gated, least_variance=ACTIVE_VARIANCE if module else 0.0)
    if getattr(estimator, "topics_", None) is None:
        return found
    return replace(found, columns_down=found.columns_down[:, :0], scores_down=found.scores_down[:, :0])


def _of_topics(
    estimator: Any, topics: np.ndarray, n: int, units: Sequence[int] | None, vocabulary: Sequence[str] | None
) -> TopWords:
    """Return the most probable words of topics, which have no other side."""
    n_topics, n_words = topics.shape
    names = words_of_columns(estimator, vocabulary, n_words)
    _check_number(n, n_words)
    chosen = chosen_units(units, n_topics)
    columns, scores = _largest(topics[chosen], n)
    nothing = (columns[:, :0], scores[:, :0])
    return TopWords(
        units=chosen,
        columns_up=columns,
        scores_up=scores,
        columns_down=nothing[0],
        scores_down=nothing[1],
        vocabulary=names,
    )


def _read(X: Any, estimator: Any, vocabulary: Sequence[str] | None) -> Words:
    """Return the words of rows or texts, in the order of the columns that an estimator knows."""
    texts = as_texts(X, getattr(estimator, "vocabulary_", None))
    if texts is not None:
        given = spelling(texts.vocabulary) if vocabulary is None else vocabulary
        return Words(text_counts(texts), words_of_columns(None, given, len(texts.vocabulary)), N_SPECIAL)
    known = getattr(estimator, "feature_names_in_", None)
    counts = as_counts(in_order_of(None if known is None else list(known), X, "X", "feature_names_in_"))
    named = column_names(X) if vocabulary is None and known is None else vocabulary
    return Words(counts, words_of_columns(estimator, named, counts.shape[1]))


def _column(codes: Any, unit: int) -> np.ndarray:
    return dense(codes[:, [unit]]).ravel()


def _rows_asked(n_rows: int, n_held: int) -> int:
    """Return by how many rows of ``n_rows``, which hold so many words together, a side of a unit is judged."""
    enough = ENOUGH_WORDS * n_rows / max(n_held, 1)
    return max(round(min(max(LEAST_SHARE * n_rows, enough), MOST_SHARE * n_rows)), 1)


def _sides(z: np.ndarray, most: int, gated: bool, least_variance: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows in which a unit is largest, one way and the other; a unit with one side has it first."""
    nothing = np.zeros(0, dtype=np.int64)
    if not gated:
        varies = len(z) > 1 and z.var() > least_variance
        return (_largest_rows(z, most), _largest_rows(-z, most)) if varies else (nothing, nothing)
    both = [_largest_rows(side, most, side > 0) for side in (z, -z) if _is_used(side > 0)]
    first, second, *_ = (*both, nothing, nothing)
    return first, second


def _is_used(on: np.ndarray) -> bool:
    return bool(on.any() and on.mean() >= USED_SHARE)


def _largest_rows(z: np.ndarray, most: int, among: np.ndarray | None = None) -> np.ndarray:
    """Return the rows of the largest values, those of equals that come first; of all rows, or of some."""
    rows = np.arange(len(z)) if among is None else np.flatnonzero(among)
    return rows[np.argsort(-z[rows], kind="stable")[:most]]


def _ranked(
    present: Any, rows: Sequence[np.ndarray], share: np.ndarray, n: int, first: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return columns and scores of the words of some rows, a set of rows a unit, (U, n) each."""
    sizes = np.array([len(some) for some in rows])
    sets = (np.ones(sizes.sum()), np.concatenate(rows), np.concatenate([[0], np.cumsum(sizes)]))
    chosen = library("scipy.sparse").csr_array(sets, shape=(len(rows), present.shape[0]))
    within = dense(chosen @ present) / np.maximum(sizes, 1)[:, None]  # (U, V)
    scores = np.zeros_like(within)
    there = within > 0
    scores[there] = within[there] * np.log((within / np.where(share > 0, share, 1.0))[there])
    scores[:, :first] = 0.0
    columns, best = _largest(scores, n)
    return np.where(best > 0, columns, _NO_WORD), np.maximum(best, 0.0)


def _largest(scores: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return columns and scores of the ``n`` largest of each row, largest first; of equals, the first column."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, :n]
    return order, np.take_along_axis(scores, order, axis=1)


def _pairs(words: list[str], scores: list[float]) -> list[dict[str, Any]]:
    return [{"word": word, "score": score} for word, score in zip(words, scores, strict=False)]
