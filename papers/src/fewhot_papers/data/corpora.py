"""Corpora of short texts with classes: as released for sparse sentence codes, and made anew from their sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from fewhot.core.checks import one_of, whole_number
from fewhot.core.errors import DataError
from fewhot.data.catalogue import DataFile, register_dataset
from fewhot.data.counting import count_words
from fewhot.data.files.table import Table
from fewhot.data.lines import bad_line, lines_of
from fewhot.data.splits import hashed_positions
from fewhot.data.text.reading import csv_rows
from fewhot.data.text.tokenising import tokeniser_called
from fewhot.data.text.vocabulary import N_WORDS, UNKNOWN_WORD, Vocabulary

TOPICS = (
    "Society & Culture",
    "Science & Mathematics",
    "Health",
    "Education & Reference",
    "Computers & Internet",
    "Sports",
    "Business & Finance",
    "Entertainment & Music",
    "Family & Relationships",
    "Politics & Government",
)
"""The classes of Yahoo's questions, in the order of their labels."""

KINDS = (
    "Company",
    "EducationalInstitution",
    "Artist",
    "Athlete",
    "OfficeHolder",
    "MeanOfTransportation",
    "Building",
    "NaturalPlace",
    "Village",
    "Animal",
    "Plant",
    "Album",
    "Film",
    "WrittenWork",
)
"""The classes of DBpedia's abstracts, in the order of their labels."""

_PARTS = ("fit", "validation", "test")
_WORDS_OF_PAPER = {"yahoo": (5, 30), "dbpedia": (1, 60)}
_ABSTRACTS = "CC BY-SA 3.0 (DBpedia and Wikipedia's authors)"
_QUESTIONS = "research use only (Yahoo! Answers Comprehensive Questions and Answers 1.0)"


def read_corpus(texts: Path, labels: Path, vocabulary: Path) -> Table:
    """Read texts that were cut into words and have their unknown words written ``_UNK``, as in Prokhorov et al. (2021).

    Parameters
    ----------
    texts
        A text a line, with spaces between words; every word is in the vocabulary.
    labels
        A whole number from 0 a line, the class of the text in the same line.
    vocabulary
        A word a line; lines without one are passed over.

    Returns
    -------
    Table
        Word counts (texts, words) as CSR, the classes, the words and the texts.

    References
    ----------
    Prokhorov, Li, Shareghi and Collier (2021), Learning sparse sentence encoding without supervision.
    """
    words = [line.strip() for _, line in lines_of(vocabulary) if line.strip()]
    known = set(words)
    cut: list[list[str]] = []
    for number, line in lines_of(texts):
        cut.append(line.split())
        stray = next((word for word in cut[-1] if word not in known), None)
        if stray is not None:
            raise bad_line(number, texts, f"has the word {stray!r}, which {vocabulary.name} has not")
    y = np.array(list(_labels(labels)), dtype=np.int64)
    if len(y) != len(cut):
        raise DataError(f"{labels} has {len(y)} lines for {len(cut)} texts; get the published files.")
    return _table(cut, y, words)


def read_labelled_texts(path: Path, vocabulary: Path | None = None) -> Table:
    """Read texts with their labels, ``label<tab>words with spaces between them`` a line, as He et al. (2019) have them.

    Parameters
    ----------
    path
        The texts.
    vocabulary
        The file whose words, the most frequent first, are the vocabulary: the training texts; None for ``path``.

    Returns
    -------
    Table
        Word counts (texts, words) as CSR, the labels, the words and the texts, with words outside the vocabulary
        written ``_UNK``.

    References
    ----------
    He, Spokoyny, Neubig and Berg-Kirkpatrick (2019), Lagging inference networks and posterior collapse in variational
    autoencoders.
    """
    labels, cut = zip(*_labelled_lines(path), strict=True)
    source = cut if vocabulary is None else [words for _, words in _labelled_lines(vocabulary)]
    known = Vocabulary.of(source, n_words=sum(map(len, source)) + 1)
    return _table(_replaced(cut, known), np.array(labels), [*known.known, UNKNOWN_WORD])


def read_sampled_texts(
    train: Path,
    test: Path | None = None,
    part: str = "fit",
    *,
    n_classes: int,
    cell: int,
    least_words: int = 1,
    most_words: int,
    n_fit: int = 10_000,
    n_held_out: int = 1000,
    n_words: int = N_WORDS,
    tokeniser: str = "spacy",
) -> Table:
    """Read a sample of as many texts of each class from tables of classes and texts, as Prokhorov et al. (2021) did.

    Which texts are taken is decided by a hash of their place, so that it is the same on every machine; it is not the
    published choice, which nobody has published. Texts with too few or too many words are passed over. The vocabulary
    has the most frequent words of the texts to fit, those of equal frequency in alphabetical order.

    Parameters
    ----------
    train
        A table without a header line: the class, from 1, and cells of text. Texts to fit and for validation are taken
        from it.
    test
        A table like it, for the part "test" only.
    part
        "fit", "validation" or "test".
    n_classes
        How many classes there are.
    cell
        Which cell of a row is the text; the class is cell 0.
    least_words, most_words
        How many words a text has.
    n_fit, n_held_out
        How many texts of each class there are to fit, and for validation and for test.
    n_words
        How many words the vocabulary has, ``_UNK`` included.
    tokeniser
        How words are cut, by a name that `tokenise` knows.

    Returns
    -------
    Table
        Word counts (texts, words) as CSR, the classes from 0, the words and the texts, with words outside the
        vocabulary written ``_UNK``.
    """
    one_of("part", part, _PARTS)
    whole_number("n_words", n_words, least=2)

    def chosen(path: Path, n_each: int) -> list[list[list[str]]]:
        return _sample(path, n_classes, cell, n_each, range(least_words, most_words + 1), tokeniser)

    classes = chosen(train, n_fit + n_held_out)
    known = Vocabulary.of((words for texts in classes for words in texts[:n_fit]), n_words - 1)
    if part == "test":
        if test is None:
            raise DataError("part is 'test', and there is no table of test texts; give one by test=.")
        classes = chosen(test, n_held_out)
    else:
        classes = [texts[:n_fit] if part == "fit" else texts[n_fit:] for texts in classes]
    y = np.repeat(np.arange(n_classes), [len(texts) for texts in classes])
    return _table(_replaced((words for texts in classes for words in texts), known), y, [*known.known, UNKNOWN_WORD])


def _sample(
    path: Path, n_classes: int, cell: int, n_each: int, lengths: range, tokeniser: str
) -> list[list[list[str]]]:
    """Return the words of ``n_each`` texts of every class, in the order of a hash of their places."""
    cut = tokeniser_called(tokeniser)
    rows = list(_classified(path, n_classes, cell))
    kept: list[list[list[str]]] = [[] for _ in range(n_classes)]
    for row in np.argsort(hashed_positions(len(rows), "sampled texts"), kind="stable"):
        label, text = rows[row]
        if len(kept[label]) < n_each:
            words = cut(text)
            kept[label] += [words] if len(words) in lengths else []
    short = next((label for label, texts in enumerate(kept) if len(texts) < n_each), None)
    if short is not None:
        raise DataError(
            f"{path} has {len(kept[short])} texts of class {short + 1} with {lengths.start} to {lengths.stop - 1} "
            f"words, and {n_each} are needed; get the published file, or ask for fewer."
        )
    return kept


def _classified(path: Path, n_classes: int, cell: int) -> Iterator[tuple[int, str]]:
    for number, row in csv_rows(path):
        if len(row) <= cell or not row[0].isdecimal() or not 1 <= int(row[0]) <= n_classes:
            raise bad_line(number, path, f"is not a class from 1 to {n_classes} and {cell} cells of text or more")
        yield int(row[0]) - 1, row[cell].replace("\\n", " ")  # so line ends are written there


def _labels(path: Path) -> Iterator[int]:
    for number, line in lines_of(path):
        if not line.strip().isdecimal():
            raise bad_line(number, path, "is not a whole number from 0")
        yield int(line)


def _labelled_lines(path: Path) -> list[tuple[int, list[str]]]:
    rows: list[tuple[int, list[str]]] = []
    for number, line in lines_of(path):
        label, tab, text = line.partition("\t")
        if not tab or not label.strip().isdecimal():
            raise bad_line(number, path, "is not a whole number, a tab and a text")
        rows.append((int(label), text.split()))
    if not rows:
        raise DataError(f"{path} has no texts; get the published file.")
    return rows


def _replaced(texts: Iterable[Sequence[str]], known: Vocabulary) -> list[list[str]]:
    return [[word if word in known else UNKNOWN_WORD for word in words] for words in texts]


def _table(texts: Sequence[Sequence[str]], y: np.ndarray, words: list[str]) -> Table:
    return Table(X=count_words(texts, words), y=y, feature_names=words, texts=[" ".join(text) for text in texts])


def _read_released(part: str, files: Mapping[str, Path]) -> Table:
    name = {"fit": "train", "validation": "valid"}.get(part, part)
    labels = files[f"{name}_class_label.txt"]
    texts = _training_texts(labels) if part == "fit" else files[f"{name}.txt"]
    return read_corpus(texts, labels, files["vocab.txt"])


def _training_texts(labels: Path) -> Path:
    """Return the training texts beside their labels, should somebody have them."""
    places = [labels.with_name(name) for name in ("train.txt", "train.txt.gz")]
    found = next((place for place in places if place.exists()), None)
    if found is None:
        raise DataError(
            f"The training texts of {labels.parent.name} were not released, only their labels; load the splits "
            f"'validation' and 'test', or put the texts into {places[0]}."
        )
    return found


def _read_yelp(part: str, files: Mapping[str, Path]) -> Table:
    train = files["yelp.train.txt"]
    path = {"fit": train, "validation": files.get("yelp.valid.txt", train), "test": files.get("yelp.test.txt", train)}
    return read_labelled_texts(path[part], train)


def _read_yahoo(part: str, files: Mapping[str, Path]) -> Table:
    return _sampled("yahoo", part, files, len(TOPICS), cell=1)


def _read_dbpedia(part: str, files: Mapping[str, Path]) -> Table:
    return _sampled("dbpedia", part, files, len(KINDS), cell=2)


def _sampled(name: str, part: str, files: Mapping[str, Path], n_classes: int, *, cell: int) -> Table:
    least, most = _WORDS_OF_PAPER[name]
    train, test = files["train.csv"], files.get("test.csv")
    return read_sampled_texts(train, test, part, n_classes=n_classes, cell=cell, least_words=least, most_words=most)


def _released(sha256: Mapping[str, str]) -> tuple[DataFile, ...]:
    """Return the files of a release; its training texts are not among them."""
    parts = {"train": "fit", "valid": "validation", "test": "test"}
    files = ((name, name.partition(".")[0].partition("_")[0], known) for name, known in sha256.items())
    return tuple(DataFile(name=name, sha256=known, part=parts.get(start)) for name, start, known in files)


def register() -> None:
    """Add the datasets to the catalogue."""
    register_dataset(
        "hsvae_yahoo",
        _read_released,
        title="Yahoo's questions of 10 topics, as released by Prokhorov et al. (2021) without the training texts",
        licence=f"none stated by the release; questions: {_QUESTIONS}",
        shapes={"fit": (100_000, 19_999), "validation": (10_000, 19_999), "test": (10_000, 19_999)},
        addresses=[
            "https://raw.githubusercontent.com/VictorProkhorov/HSVAE/acff4cadc945b89deae274faae06bd62c5bab4fb/Data/New_Yahoo/"
        ],
        files=_released(
            {
                "valid.txt": "7606bdb2ba45a93bb5d34f61be13f55bcc2fac4c50551651642ea0d017a6c589",
                "test.txt": "fec4ce3e72eea711eda9e1fd5722de8774be168f6dc1f54a411a7a643a27e0e6",
                "train_class_label.txt": "29275ceeb2a72406870843c1c8d3ae99955932025205f5f0c1b7dcf5482d6d29",
                "valid_class_label.txt": "e83ff91f64ebf38f9413ab07043768c070dbef5a60329fe8d285e54a4dc8cd2c",
                "test_class_label.txt": "3e83f5bb5eab810942ca0225ce49d0ecbe3c01dff438260ad636be00a27f59fe",
                "vocab.txt": "c8e82054092edbfc953bb9b8e52f6d983aefe57e853860ee88e9440f5a6dc706",
            },
        ),
        page="https://github.com/VictorProkhorov/HSVAE",
        label_names=TOPICS,
    )
    register_dataset(
        "hsvae_dbpedia",
        _read_released,
        title="DBpedia's abstracts of 14 kinds, as released by Prokhorov et al. (2021) without the training texts",
        licence=f"none stated by the release; abstracts: {_ABSTRACTS}",
        shapes={"fit": (140_000, 20_000), "validation": (14_000, 20_000), "test": (14_000, 20_000)},
        addresses=[
            "https://raw.githubusercontent.com/VictorProkhorov/HSVAE/924600127b3b02e61941eab24230c608ba5706b0/Data/New_DBPedia/"
        ],
        files=_released(
            {
                "valid.txt": "06765314fa2761a8f8ec716723cf9cae96b44aedcefe76b77ddc16f734650d9f",
                "test.txt": "a39faa91fedad14a4df9576c288d6f8569a66163cf6644ee88c355b13f1f9552",
                "train_class_label.txt": "45c98e778359d517320ca838be55e00f2e7306f7fee957cab46c4e4131697aa4",
                "valid_class_label.txt": "d605651fafa037419af6fabb9caf58f4c3e6584290a1696189addba6b81624ec",
                "test_class_label.txt": "d605651fafa037419af6fabb9caf58f4c3e6584290a1696189addba6b81624ec",
                "vocab.txt": "3853e00a6bd1011a5b266947f45d1d79bf6f4372d6cb4bc73c0131e3e67ffd5f",
            },
        ),
        page="https://github.com/VictorProkhorov/HSVAE",
        label_names=KINDS,
    )
    register_dataset(
        "yahoo",
        _read_yahoo,
        title="Yahoo's questions of 10 topics, 5 to 30 words, 20,000 words known, prepared as by "
        "Prokhorov et al. (2021)",
        licence=_QUESTIONS,
        shapes={"fit": (100_000, 20_000), "validation": (10_000, 20_000), "test": (10_000, 20_000)},
        files=[DataFile(name="train.csv", sha256=None), DataFile(name="test.csv", sha256=None, part="test")],
        folder="yahoo_answers_csv",
        page="https://drive.google.com/uc?export=download&id=0Bz8a_Dbh9Qhbd2JNdDBsQUdocVU, unpacked,",
        label_names=TOPICS,
    )
    register_dataset(
        "dbpedia",
        _read_dbpedia,
        title="DBpedia's abstracts of 14 kinds, up to 60 words, 20,000 words known, prepared as by "
        "Prokhorov et al. (2021)",
        licence=_ABSTRACTS,
        shapes={"fit": (140_000, 20_000), "validation": (14_000, 20_000), "test": (14_000, 20_000)},
        files=[DataFile(name="train.csv", sha256=None), DataFile(name="test.csv", sha256=None, part="test")],
        folder="dbpedia_csv",
        page="https://drive.google.com/uc?export=download&id=0Bz8a_Dbh9QhbQ2Vic1kxMmZZQ1k, unpacked,",
        label_names=KINDS,
    )
    register_dataset(
        "yelp",
        _read_yelp,
        title="Yelp's reviews with their stars, as distributed with He et al. (2019)",
        licence="Yelp's terms for its dataset: academic use, no redistribution",
        shapes={"fit": (100_000, None), "validation": (10_000, None), "test": (10_000, None)},
        files=[
            DataFile(name="yelp.train.txt", sha256=None),
            DataFile(name="yelp.valid.txt", sha256=None, part="validation"),
            DataFile(name="yelp.test.txt", sha256=None, part="test"),
        ],
        page="https://github.com/jxhe/vae-lagging-encoder",
    )
