"""Rows by name or by file, and a record of them from which they can be found again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fewhot.cli.interactions import COLUMNS, open_interactions, with_items
from fewhot.core.errors import InvalidInputError, RunFolderError, UnpreparedTableError

if TYPE_CHECKING:
    from fewhot.data import Loaded, TableVectorizer


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownColumns:
    """What a run remembers of the columns it was fitted on.

    Attributes
    ----------
    names
        Their names; None where the data had none.
    n_columns
        How many there are.
    label
        The column of labels; None for none.
    text
        The column of texts, for a run that was fitted on texts.
    vectorizer
        What turns words, dates and missing values into numbers; None for a table of plain numbers.
    image_shape
        How a row is an image; None for rows that are no images.
    levels
        What whole-number pixels were divided by.
    """

    names: list[str] | None = None
    n_columns: int | None = None
    label: str | int | None = None
    text: str | None = None
    vectorizer: TableVectorizer | None = None
    image_shape: tuple[int, ...] | None = None
    levels: int | None = None

    @classmethod
    def of(cls, train: Loaded, vectorizer: TableVectorizer | None) -> KnownColumns:
        """Return what is known of the rows that a fit reads."""
        from fewhot.data.pixels import levels_of

        X: Any = train.X
        return cls(
            names=train.feature_names,
            n_columns=n_columns(train),
            vectorizer=vectorizer,
            image_shape=train.image_shape,
            levels=None if train.image_shape is None else levels_of(X),
        )

    def text_column(self, data: str) -> str | None:
        """Return the column of texts in a file that can have one."""
        from fewhot.core.errors import DataError
        from fewhot.data.text.reading import text_ending

        try:
            return None if text_ending(Path(data)) == ".txt" else self.text
        except DataError:  # a file of something else, which is refused where it is read
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where rows come from.

    Attributes
    ----------
    data
        A dataset's name, or the whole path of a file.
    split
        The named split; None takes a dataset's "train", and all rows of a file.
    label
        The column of labels of a file.
    data_dir
        A folder with datasets already on disk.
    text
        The column of a file whose texts are the rows.
    texts
        Whether the rows of a dataset are its texts.
    columns, drop
        The columns of a table to keep, and those to leave out, with commas between them.
    prepare
        Whether words, dates and missing values of a table are turned into numbers.
    image_shape
        How flat rows are images, and what pictures are brought to, as it was asked for.
    user, item, weight
        The columns of a table of who has what, whose users are the rows.
    """

    data: str
    split: str | None = None
    label: str | None = None
    data_dir: str | None = None
    text: str | None = None
    texts: bool = False
    columns: str | None = None
    drop: str | None = None
    prepare: bool = False
    image_shape: str | None = None
    user: str | None = None
    item: str | None = None
    weight: str | None = None

    @property
    def is_dataset(self) -> bool:
        """Whether the rows have a dataset's name."""
        from fewhot.data import dataset_names

        return self.data in dataset_names()

    @property
    def of_pairs(self) -> bool:
        """Whether the rows are users, from a table with a row for each user and item."""
        return any(getattr(self, name) is not None for name in COLUMNS)

    def open(self, vectorizer: TableVectorizer | None = None) -> Loaded:
        """Read the rows; a vectorizer that is given is used, and fitted where it is not yet."""
        from fewhot.data import open_data

        if self.of_pairs:
            return open_interactions(self)
        return open_data(
            self.data,
            split=self.split,
            data_dir=self.data_dir,
            label=self.label_place,
            text=self.text,
            texts=self.texts,
            columns=self.columns,
            drop=self.drop,
            prepare=self.prepare if vectorizer is None else vectorizer,
            image_shape=self.image_shape,
        )

    def open_as(self, known: KnownColumns) -> Loaded:
        """Read the rows with the columns of a fit, matched by name; of a dataset, as it is."""
        from fewhot.data.files.selection import Selection
        from fewhot.data.opening import open_table
        from fewhot.data.pixels import Folding, parsed_shape

        if self.of_pairs:
            return with_items(open_interactions(self), known.names)
        if self.is_dataset:
            return self.open()
        names, vectorizer = known.names, known.vectorizer
        selection = Selection(
            label=known.label if self.label is None else self.label_place,
            label_may_lack=self.label is None,
            known=names if vectorizer is None else vectorizer.needed if vectorizer.has_names else None,
            n_known=known.n_columns if vectorizer is None else vectorizer.n_features_in_,
            as_text=() if vectorizer is None else vectorizer.spelled,
        )
        text = self.text or known.text_column(self.data)
        asked = None if self.image_shape is None else parsed_shape(self.image_shape)
        folding = Folding(asked=asked, fitted=known.image_shape, levels=known.levels)
        how: dict[str, Any] = {"text": text, "texts": self.texts, "vectorizer": vectorizer, "folding": folding}
        try:
            return open_table(self.data, selection, self.split, **how)
        except UnpreparedTableError as error:
            remedy = "The run was fitted on plain numbers; mend the file, or fit again with --prepare."
            raise UnpreparedTableError(error.listing, remedy) from error

    @property
    def label_place(self) -> str | int | None:
        """The label column, a whole number where it is given by its place."""
        return as_place(self.label)

    def whole(self) -> Source:
        """Return the same source with a path that holds from any folder."""
        if self.is_dataset:
            return self
        return replace(self, data=str(Path(self.data).expanduser().resolve()), data_dir=None)


def as_place(label: str | None) -> str | int | None:
    """Return a label column as it was typed, as a whole number where it is one.

    >>> as_place("-1"), as_place("kind")
    (-1, 'kind')
    """
    return int(label) if label is not None and label.removeprefix("-").isdecimal() else label


ALL_SEEN, SOME_SEEN, NONE_SEEN = "the ones it was fitted on", "some of which it was fitted on", "not seen in the fit"
HELD_OUT = "held out of the fit, which only chose its weights by them"


def share_rows(one: str, other: str) -> bool:
    """Say whether two splits share rows.

    >>> share_rows("train", "validation"), share_rows("train", "test")
    (True, False)
    """
    parts = {"train": {"fit", "validation"}, "all": {"fit", "validation", "test"}}
    return bool(parts.get(one, {one}) & parts.get(other, {other}))


def n_columns(rows: Loaded) -> int | None:
    """Return how many columns rows have; None for texts, which have none."""
    if rows.holds_texts:
        return None
    X: Any = rows.X
    return int(X.shape[1])


def counted(rows: Loaded) -> str:
    """Return how many rows, texts or users there are, in words."""
    return f"{len(rows):,} {'texts' if rows.holds_texts else 'rows' if rows.users is None else 'users'}"


def rows_in_words(rows: Loaded) -> str:
    """Return how many rows there are of what, as in "400 pictures of 112 x 92 pixels, 40 labels"."""
    n = len(rows)
    if rows.image_shape is None:
        return f"{n:,} rows of {n_columns(rows):,} columns"
    height, width, *channels = rows.image_shape
    color = " in color" if channels not in ([], [1]) else ""
    labels = "" if rows.label_names is None else f", {len(rows.label_names):,} labels"
    return f"{n:,} pictures of {height} x {width} pixels{color}{labels}"


def without_label_matrix(rows: Loaded) -> Loaded:
    """Return rows without labels where a row may have several, which are no classes for a probe or a picture."""
    return rows if rows.y is None or rows.y.ndim == 1 else replace(rows, y=None)


def without_label(rows: Loaded) -> str | None:
    """Return a sentence on rows without a label among labeled ones; None where every row has one, or none has."""
    from fewhot.core.records import UNLABELED

    n = 0 if rows.y is None or rows.y.ndim > 1 else int((rows.y == UNLABELED).sum())
    return f"{n:,} of {len(rows):,} rows of {rows.name} have no label; probes leave them out." if n else None


def same_labels(one: Loaded, other: Loaded) -> tuple[Any, Any]:
    """Return the labels of two files so that the same label means the same in both: by their words if these differ."""
    import numpy as np

    from fewhot.core.records import UNLABELED

    lists = any(rows.y is None or rows.y.ndim > 1 for rows in (one, other))
    if lists or one.label_names == other.label_names:
        return one.y, other.y
    words = [_label_words(rows) for rows in (one, other)]
    code_of = {word: code for code, word in enumerate(sorted({word for side in words for word in side if word}))}
    coded = [np.array([code_of.get(word, UNLABELED) for word in side]) for side in words]
    return coded[0], coded[1]


def _label_words(rows: Loaded) -> list[str]:
    """Return each row's label as a word, and an empty one for none."""
    from fewhot.core.records import UNLABELED

    assert rows.y is not None
    known = dict(enumerate(rows.label_names or [])) | {UNLABELED: ""}
    return [known.get(label, str(label)) for label in rows.y.tolist()]


def source_of(
    data: str,
    split: str | None,
    label: str | None,
    data_dir: Path | str | None,
    text: str | None = None,
    texts: bool = False,
    **of_tables: Any,
) -> Source:
    """Return the source that flags describe."""
    folder = None if data_dir is None else str(data_dir)
    return Source(data=data, split=split, label=label, data_dir=folder, text=text, texts=texts, **of_tables)


def record_of(source: Source, rows: Loaded) -> dict[str, Any]:
    """Return what a run folder says about rows."""
    source = source.whole()
    return {
        "data": source.data,
        "split": source.split,
        "label": source.label,
        "text": source.text,
        "texts": source.texts,
        "columns": source.columns,
        "drop": source.drop,
        "prepare": source.prepare,
        "asked_image_shape": source.image_shape,
        "user": source.user,
        "item": source.item,
        "weight": source.weight,
        "data_dir": source.data_dir,
        "name": rows.name,
        "n_rows": len(rows),
        "n_columns": n_columns(rows),
        "digest": rows.digest,
        "image_shape": None if rows.image_shape is None else list(rows.image_shape),
        "feature_names": None if rows.holds_texts else rows.feature_names,
        "licence": rows.licence,
    }


def reopened(
    record: dict[str, Any],
    data_dir: Path | str | None = None,
    vectorizer: TableVectorizer | None = None,
    known: KnownColumns | None = None,
) -> tuple[Source, Loaded]:
    """Return the rows that a record describes, with ``known`` columns if given; rows that changed are refused."""
    try:
        source = source_of(
            record["data"],
            record["split"],
            record["label"],
            data_dir or record["data_dir"],
            record.get("text"),
            bool(record.get("texts")),
            columns=record.get("columns"),
            drop=record.get("drop"),
            prepare=bool(record.get("prepare")),
            image_shape=record.get("asked_image_shape"),
            user=record.get("user"),
            item=record.get("item"),
            weight=record.get("weight"),
        )
        digest = record["digest"]
    except (KeyError, TypeError, AttributeError) as error:
        raise RunFolderError("The run's data.json is damaged; fit again into another folder.") from error
    rows = source.open(vectorizer) if known is None else source.open_as(known)
    if rows.digest != digest:
        raise InvalidInputError(
            f"{source.data} has changed since the run was fitted on it; give the rows as they were, or fit again."
        )
    return source, rows
