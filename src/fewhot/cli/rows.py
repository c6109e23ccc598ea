"""Rows by name or by file, and a record of them from which they can be found again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fewhot.core.errors import InvalidInputError, RunFolderError

if TYPE_CHECKING:
    from fewhot.data import Loaded


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
    """

    data: str
    split: str | None = None
    label: str | None = None
    data_dir: str | None = None
    text: str | None = None
    texts: bool = False

    @property
    def is_dataset(self) -> bool:
        """Whether the rows have a dataset's name."""
        from fewhot.data import dataset_names

        return self.data in dataset_names()

    def open(self) -> Loaded:
        """Read the rows."""
        from fewhot.data import open_data

        label: str | int | None = self.label
        if isinstance(label, str) and label.removeprefix("-").isdecimal():
            label = int(label)
        return open_data(
            self.data, split=self.split, data_dir=self.data_dir, label=label, text=self.text, texts=self.texts
        )

    def whole(self) -> Source:
        """Return the same source with a path that holds from any folder."""
        if self.is_dataset:
            return self
        return replace(self, data=str(Path(self.data).expanduser().resolve()), data_dir=None)


ALL_SEEN, SOME_SEEN, NONE_SEEN = "the ones it was fitted on", "some of which it was fitted on", "not seen in the fit"


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
    """Return how many rows or texts there are, in words."""
    return f"{len(rows):,} {'texts' if rows.holds_texts else 'rows'}"


def same_labels(one: Loaded, other: Loaded) -> tuple[Any, Any]:
    """Return the labels of two files so that the same label means the same in both: by their words if these differ."""
    lists = any(rows.y is None or rows.y.ndim > 1 for rows in (one, other))
    if lists or one.label_names == other.label_names:
        return one.y, other.y
    return _label_words(one), _label_words(other)


def _label_words(rows: Loaded) -> Any:
    import numpy as np

    y, names = rows.y, rows.label_names
    assert y is not None
    return np.array([str(label) if names is None else names[label] for label in y.tolist()])


def source_of(
    data: str,
    split: str | None,
    label: str | None,
    data_dir: Path | str | None,
    text: str | None = None,
    texts: bool = False,
) -> Source:
    """Return the source that flags describe."""
    folder = None if data_dir is None else str(data_dir)
    return Source(data=data, split=split, label=label, data_dir=folder, text=text, texts=texts)


def record_of(source: Source, rows: Loaded) -> dict[str, Any]:
    """Return what a run folder says about rows."""
    source = source.whole()
    return {
        "data": source.data,
        "split": source.split,
        "label": source.label,
        "text": source.text,
        "texts": source.texts,
        "data_dir": source.data_dir,
        "name": rows.name,
        "n_rows": len(rows),
        "n_columns": n_columns(rows),
        "digest": rows.digest,
        "image_shape": None if rows.image_shape is None else list(rows.image_shape),
        "feature_names": None if rows.holds_texts else rows.feature_names,
        "licence": rows.licence,
    }


def reopened(record: dict[str, Any], data_dir: Path | str | None = None) -> tuple[Source, Loaded]:
    """Return the rows that a record describes; rows that changed since are refused."""
    try:
        source = source_of(
            record["data"],
            record["split"],
            record["label"],
            data_dir or record["data_dir"],
            record.get("text"),
            bool(record.get("texts")),
        )
        digest = record["digest"]
    except (KeyError, TypeError, AttributeError) as error:
        raise RunFolderError("The run's data.json is damaged; fit again into another folder.") from error
    rows = source.open()
    if rows.digest != digest:
        raise InvalidInputError(
            f"{source.data} has changed since the run was fitted on it; give the rows as they were, or fit again."
        )
    return source, rows
