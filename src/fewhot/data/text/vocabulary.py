"""The words that ids stand for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile

import numpy as np

from fewhot.core.checks import one_of, whole_number
from fewhot.core.errors import InvalidInputError, InvalidParameterError
from fewhot.core.parts import Configurable
from fewhot.core.records import END, PADDING
from fewhot.core.registry import VOCABULARIES
from fewhot.data.counting import most_frequent
from fewhot.data.text.tokenising import TOKENISERS, as_text

UNKNOWN = 2
"""The id of every word that a vocabulary does not have."""

UNKNOWN_WORD = "_UNK"
"""How unknown words are written, here and in corpora that were prepared elsewhere."""

N_SPECIAL = 3
N_WORDS = 20_000
"""How many words a vocabulary has unless told, as in Prokhorov et al. (2021)."""


@VOCABULARIES.register("words")
class Vocabulary(Configurable):
    """Words and their ids: 0 is padding, 1 the end of a text, 2 an unknown word, and the words follow in their order.

    Padding and end have no spelling, so that no word of a text can be mistaken for them; unknown words are written
    ``_UNK``.

    Parameters
    ----------
    known
        The words, each once; ``_UNK`` among them is passed over, for it has its id.
    tokeniser
        How texts are cut into such words, by a name that `tokenise` knows.
    max_length
        How many words of a text are read at most; None reads all.

    Examples
    --------
    >>> vocabulary = Vocabulary.of([["few", "hot", "few"], ["hot", "few", "cold"]], n_words=2)
    >>> vocabulary.known
    ['few', 'hot']
    >>> vocabulary.ids(["hot", "cold"]).tolist(), vocabulary.words([4, 2, 1, 0])
    ([4, 2, 1], ['hot', '_UNK'])
    """

    def __init__(self, known: Sequence[str], tokeniser: str = "plain", max_length: int | None = None) -> None:
        self.tokeniser: str = one_of("tokeniser", tokeniser, TOKENISERS)
        self.max_length = None if max_length is None else whole_number("max_length", max_length)
        self.known = [word for word in _checked(known) if word != UNKNOWN_WORD]
        if not self.known:
            raise InvalidParameterError("known has no word beside '_UNK'; give at least one.")
        numbered = enumerate(self.known, start=N_SPECIAL)
        self._id_of = {word: number for number, word in numbered} | {UNKNOWN_WORD: UNKNOWN}
        self._spelling = ["", "", UNKNOWN_WORD, *self.known]

    @classmethod
    def of(
        cls,
        texts: Iterable[Sequence[str]],
        n_words: int = N_WORDS,
        tokeniser: str = "plain",
        max_length: int | None = None,
    ) -> Vocabulary:
        """Return the vocabulary of the most frequent words, those of equal frequency in alphabetical order.

        Parameters
        ----------
        texts
            The texts, each as its words.
        n_words
            How many words there are at most, unknown words not counted.
        tokeniser, max_length
            How the texts were cut into words, and how many of them are read.
        """
        counts: Counter[str] = Counter()
        for words in texts:
            if isinstance(words, str):
                raise InvalidInputError(f"The text {words[:20]!r} is a string; give each as a list of its words.")
            counts.update(words)
        return cls.of_counts(counts, n_words, tokeniser, max_length)

    @classmethod
    def of_counts(
        cls,
        counts: Mapping[str, int],
        n_words: int = N_WORDS,
        tokeniser: str = "plain",
        max_length: int | None = None,
    ) -> Vocabulary:
        """Return the vocabulary of the most frequent words by how often each occurs; see `of`."""
        whole_number("n_words", n_words)
        known = most_frequent({word: n for word, n in counts.items() if word != UNKNOWN_WORD}, n_words)
        if not known:
            left_out = {"words": "numbers and marks", "plain": "what is not ASCII", "spacy": "what is not ASCII"}
            of_it = left_out.get(tokeniser)
            beyond = "" if of_it is None else f", or tokeniser='spaces': {tokeniser!r} leaves out {of_it}"
            raise InvalidInputError(f"The texts have no words to choose from; give texts with words{beyond}.")
        return cls(known, tokeniser, max_length)

    def ids(self, words: Iterable[str]) -> np.ndarray:
        """Return the ids of a text's words and of its end, (n + 1,), int32; no words give the end alone.

        Of texts that are cut into "words", those that the vocabulary does not have are passed over: a bag of words has
        no places to keep for them.
        """
        found = [self._id_of.get(word, UNKNOWN) for word in words]
        if self.tokeniser == "words":
            found = [number for number in found if number != UNKNOWN]
        return np.array([*found, END], dtype=np.int32)

    def id_of(self, word: str) -> int:
        """Return the id of a word, that of unknown words for one that the vocabulary does not have."""
        return self._id_of.get(word, UNKNOWN)

    def words(self, ids: Iterable[int]) -> list[str]:
        """Return the words of some ids up to the end of the text, without padding."""
        kept = takewhile(lambda number: number != END, map(int, ids))
        return [self._spelling[self._known(number)] for number in kept if number != PADDING]

    def text(self, ids: Iterable[int]) -> str:
        """Return the words of some ids with spaces between them."""
        return " ".join(self.words(ids))

    def __len__(self) -> int:
        return len(self._spelling)

    def __contains__(self, word: object) -> bool:
        return word in self._id_of

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Vocabulary) and self._settings == other._settings)

    def __hash__(self) -> int:
        return hash(tuple(self.known))

    def __repr__(self) -> str:
        return f"Vocabulary({len(self.known)} words)"

    @property
    def _settings(self) -> tuple[list[str], str, int | None]:
        return self.known, self.tokeniser, self.max_length

    def _known(self, number: int) -> int:
        if not 0 <= number < len(self):
            raise InvalidInputError(f"The id {number} has no word; give ids from 0 to {len(self) - 1}.")
        return number


def _checked(known: Sequence[str]) -> list[str]:
    """Refuse what could not come back from a text that is split at spaces."""
    if isinstance(known, str):
        raise InvalidParameterError(f"known is the text {known[:20]!r}; give a list of words.")
    checked = [as_text(word, f"Word {place} of the vocabulary") for place, word in enumerate(known)]
    broken = next((word for word in checked if word.split() != [word]), None)
    if broken is not None:
        raise InvalidParameterError(f"known has {broken!r}; a word is not empty and has no white space.")
    if len(set(checked)) < len(checked):
        twin = next(word for word, times in Counter(checked).items() if times > 1)
        raise InvalidParameterError(f"known has {twin!r} more than once; give each word once.")
    return checked
