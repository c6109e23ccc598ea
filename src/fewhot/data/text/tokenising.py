"""From a text to its words: cleaning, and four ways to cut."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from fewhot.core.checks import one_of
from fewhot.core.errors import FewhotError, InvalidTypeError

Tokenise = Callable[[str], list[str]]

TOKENISERS = ("words", "plain", "spacy", "spaces")
"""The names that `tokenise` knows."""

_LINK = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)
_BETWEEN = re.compile(r"[\s\u2010-\u2015]+")
_DROPPED = re.compile(r"[^\x00-\x7f]|[\"'`,]")
_WORD_OR_MARK = re.compile(r"\w+|[^\w\s]")
_APOSTROPHE = re.compile(r"['’]")
_WORD = re.compile(r"\w*[^\W\d_]\w*")


def clean(text: str) -> str:
    """Return a text without hyperlinks, characters beyond ASCII, quotation marks and commas.

    White space and long dashes, which stand between words, become single spaces. That commas go is not in the paper,
    but in its files.

    References
    ----------
    Prokhorov, Li, Shareghi and Collier (2021), Learning sparse sentence encoding without supervision.

    Examples
    --------
    >>> clean("Can't we,  say “naïve”? See https://example.org/a?b=c now")
    'Cant we say nave? See now'
    """
    return " ".join(_DROPPED.sub("", _BETWEEN.sub(" ", _LINK.sub(" ", text))).split())


def tokenise(text: str, tokeniser: str = "plain") -> list[str]:
    """Return the words of a text.

    Parameters
    ----------
    text
        The text; one that is empty has no words.
    tokeniser
        "words" is for bags of words: lower-cased runs of letters and digits of any script, of two characters or more
        and with a letter among them; links, numbers and marks are left out. "plain" cleans the text and lower-cases it,
        and its words are runs of letters and digits, and single other marks. "spacy" cleans and lower-cases too, and
        cuts by spaCy's rules for English, as Prokhorov et al. (2021) did; it needs spaCy. "spaces" is for texts that
        were cut before: it splits them at white space and changes nothing else.

    Examples
    --------
    >>> tokenise("It's 3.5 km to Größe_7, isn't it? https://example.org", "words")
    ['its', 'km', 'to', 'größe_7', 'isnt', 'it']
    >>> tokenise("It's 3.5 km, isn't it?", "plain")
    ['its', '3', '.', '5', 'km', 'isnt', 'it', '?']
    >>> tokenise("already cut , you see _UNK", "spaces")
    ['already', 'cut', ',', 'you', 'see', '_UNK']
    """
    return tokeniser_called(tokeniser)(as_text(text))


def tokeniser_called(name: str) -> Tokenise:
    """Return the tokeniser of a name; spaCy is imported here, and nowhere earlier."""
    one_of("tokeniser", name, TOKENISERS)
    return _spacy() if name == "spacy" else {"words": _words, "plain": _plain, "spaces": str.split}[name]


def as_text(text: Any, what: str = "The text") -> str:
    """Return a text without halves of surrogate pairs, which no file can hold; anything but a string is refused."""
    if isinstance(text, bytes | bytearray):
        raise InvalidTypeError(f"{what} is bytes; decode it first, such as by .decode('utf-8').")
    if not isinstance(text, str):
        raise InvalidTypeError(f"{what} is of type {type(text).__name__}; give strings, and '' for one without words.")
    return text if text.isascii() else text.encode("utf-8", "ignore").decode("utf-8")


def _words(text: str) -> list[str]:
    bare = _APOSTROPHE.sub("", _LINK.sub(" ", text)).lower()
    return [word for word in _WORD.findall(bare) if len(word) > 1]


def _plain(text: str) -> list[str]:
    return _WORD_OR_MARK.findall(clean(text).lower())


@cache
def _spacy() -> Tokenise:
    try:
        import spacy  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise FewhotError(
            "tokeniser='spacy' needs spaCy, which is not installed; install it by pip install 'fewhot[text]', or give "
            "tokeniser='plain'."
        ) from error
    cut = spacy.blank("en").tokenizer

    def words(text: str) -> list[str]:
        return [token.text.lower() for token in cut(clean(text)) if not token.is_space]

    return words
