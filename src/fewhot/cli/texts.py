"""Rows that are texts: how a fit is told to read them, and how a fitted model reads others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fewhot.core.errors import InvalidInputError, InvalidParameterError

if TYPE_CHECKING:
    from fewhot.cli.config import FitConfig
    from fewhot.data import Loaded, TextDataset

SETTINGS = ("tokeniser", "n_words", "max_length")
"""Settings of a fit that are about texts alone."""


def check_settings(config: FitConfig, rows: Loaded | None = None) -> None:
    """Refuse settings of texts that cannot be, or that were given for ``rows`` of numbers."""
    from fewhot.core.checks import one_of, whole_number
    from fewhot.data.text import TOKENISERS

    if rows is not None and not rows.holds_texts:
        given = next((name for name in SETTINGS if getattr(config, name) is not None), None)
        if given is not None:
            raise InvalidParameterError(
                f"{given} is {getattr(config, given)!r}, which is for texts, and {rows.name} holds rows of numbers; "
                f"leave it out{_way_to_texts(rows)}."
            )
    one_of("tokeniser", config.tokeniser, (None, *TOKENISERS))
    for name in ("n_words", "max_length"):
        if getattr(config, name) is not None:
            whole_number(name, getattr(config, name))


def rows_to_fit(config: FitConfig, rows: Loaded) -> Any:
    """Return what an estimator is fitted on: rows of numbers as they are, texts by their vocabulary.

    A corpus that brings its vocabulary is read by it, unless a number of words is given.
    """
    if not rows.holds_texts:
        return rows.X
    from fewhot.data import Vocabulary, text_dataset

    tokeniser = config.tokeniser or rows.tokeniser or config.estimator()._tokeniser
    known = rows.feature_names if config.n_words is None and tokeniser == rows.tokeniser else None
    vocabulary = None if known is None else Vocabulary(known, tokeniser, config.max_length)
    if vocabulary is not None:
        return text_dataset(iter(rows.X), vocabulary, name=rows.name)
    return text_dataset(
        iter(rows.X), tokeniser=tokeniser, n_words=config.n_words, max_length=config.max_length, name=rows.name
    )


def readable(estimator: Any, rows: Loaded) -> Any:
    """Return rows for a fitted model: numbers as they are, texts cut and numbered once for all that is measured."""
    return estimator._rows(rows.X) if rows.holds_texts else rows.X


def in_words(texts: TextDataset) -> str:
    """Return how many texts there are, of how many words, and how many words are known."""
    n_words = int(texts.lengths.sum()) - texts.n_rows  # every text has an end
    return f"{texts.n_rows:,} texts of {n_words:,} words, {len(texts.vocabulary.known):,} different ones known,"


def check_kind(folder: Path | str, of_texts: bool, rows: Loaded) -> None:
    """Refuse numbers where a run was fitted on texts, and texts where it was fitted on numbers."""
    if of_texts == rows.holds_texts:
        return
    if of_texts:
        raise InvalidInputError(
            f"{folder} was fitted on texts, and {rows.name} holds rows of numbers; give texts{_way_to_texts(rows)}."
        )
    way = ": leave out --texts" if rows.tokeniser is not None else ""
    raise InvalidInputError(
        f"{folder} was fitted on rows of numbers, and {rows.name} holds texts; give rows of numbers{way}."
    )


def _way_to_texts(rows: Loaded) -> str:
    return ", or add --texts" if rows.texts is not None else ""
