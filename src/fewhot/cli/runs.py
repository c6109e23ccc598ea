"""The files that a command leaves in a run folder beside those of the estimator."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fewhot.cli.console import finite
from fewhot.cli.interactions import like_the_fit, with_items
from fewhot.cli.rows import (
    ALL_SEEN,
    HELD_OUT,
    NONE_SEEN,
    SOME_SEEN,
    KnownColumns,
    Source,
    as_place,
    counted,
    record_of,
    reopened,
    same_labels,
    share_rows,
    without_label_matrix,
)
from fewhot.cli.texts import check_kind, readable
from fewhot.core.errors import InvalidInputError, RunFolderError

if TYPE_CHECKING:
    import numpy as np

    from fewhot.data import Loaded, TableVectorizer
    from fewhot.metrics import Alarm, Summary

DATA, METRICS, CODES, REPORT = "data.json", "metrics.json", "codes.npz", "report.html"
PREPARATION = "preparation.json"
LEAST_JUDGED = 20
"""Held-out rows from which on the numbers of a fit are about these, and not about the rows it learned from."""


@dataclass(frozen=True, kw_only=True)
class RunRows:
    """The rows a run was fitted on and, where they are others, those its numbers are about.

    ``vectorizer`` is what made numbers of the columns of a table that had others. ``held_out`` are those of the rows
    from which the fit learned nothing, and only chose when to stop: they are judged where no other rows are given.
    """

    train: Loaded
    train_source: Source
    test: Loaded | None = None
    test_source: Source | None = None
    vectorizer: TableVectorizer | None = None
    held_out: np.ndarray | None = None

    @cached_property
    def judged(self) -> Loaded:
        """The rows that the numbers are about."""
        if self.test is not None:
            return self.test
        return self.train if self.held_out is None else self.train.take(self.held_out)

    @property
    def learned(self) -> Loaded:
        """The rows that the fit learned from."""
        if self.held_out is None:
            return self.train
        import numpy as np

        return self.train.take(np.setdiff1d(np.arange(len(self.train)), self.held_out))

    @property
    def judged_words(self) -> str:
        """How a sentence calls those rows."""
        n_rows = counted(self.judged)
        if self.test is None:
            return f"{n_rows} of {self.train.name}, {ALL_SEEN if self.held_out is None else HELD_OUT}"
        split = f", split {self.test.split!r}" if self.test.split else ""
        return f"{n_rows} of {self.test.name}{split}, {self._seen_in_the_fit(self.test)}"

    def _seen_in_the_fit(self, tested: Loaded) -> str:
        if tested.digest == self.train.digest:
            return ALL_SEEN
        same = self.test_source is not None and self.test_source.whole().data == self.train_source.whole().data
        return SOME_SEEN if same and share_rows(self.train.split or "all", tested.split or "all") else NONE_SEEN

    def to_dict(self) -> dict[str, Any]:
        """Return what data.json holds."""
        record = record_of(self.train_source, self.train)
        tested = None
        if self.test is not None and self.test_source is not None:
            tested = record_of(self.test_source, self.test)
        return record | {"test": tested}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A run's numbers, what to worry about, and the page that shows both."""

    about: str
    summary: Summary
    alarms: list[Alarm]
    page: str


def load_run(folder: Path, device: str) -> Any:
    """Return the fitted estimator of a run; one that was interrupted is to be finished first."""
    from fewhot.cli.config import FILE
    from fewhot.estimators import LatentEstimator, load

    if (folder / FILE).is_file() and not is_finished(folder):
        raise RunFolderError(
            f"{folder} holds a fit that is not finished; finish it first: fewhot fit --resume {folder}."
        )
    estimator = load(folder, device=device)
    if not isinstance(estimator, LatentEstimator):
        raise RunFolderError(
            f"{folder} holds {type(estimator).__name__}, a baseline without codes; use fewhot.load in Python."
        )
    return estimator


def is_finished(folder: Path) -> bool:
    """Say whether the model of a run has been saved, which is the last that a fit does."""
    return (folder / "config.json").exists()


def read_rows(folder: Path, data_dir: Path | str | None = None) -> RunRows:
    """Return the rows that a run folder names, read again."""
    record = read_json(folder / DATA)
    vectorizer = vectorizer_in(folder)
    source, train = reopened(record, data_dir, vectorizer)
    if record.get("test") is None:
        return RunRows(train=train, train_source=source, vectorizer=vectorizer)
    known = KnownColumns.of(train, vectorizer)
    test_source, test = reopened(record["test"], data_dir, vectorizer, known)
    return RunRows(train=train, train_source=source, test=test, test_source=test_source, vectorizer=vectorizer)


def vectorizer_in(folder: Path) -> TableVectorizer | None:
    """Return what turned the columns of a run's table into numbers; None for a table of plain numbers."""
    from fewhot.data import TableVectorizer

    path = folder / PREPARATION
    if not path.exists():
        return None
    try:
        return TableVectorizer.from_dict(read_json(path))
    except InvalidInputError as error:
        raise RunFolderError(f"{path} is damaged; fit again into another folder.") from error


def rows_as_in(folder: Path, estimator: Any, source: Source) -> Loaded:
    """Read rows for a run, as those of its fit were read.

    Columns are matched by name and prepared as they were then; the column of labels, and that of texts, is the fit's
    where no other is given and the data have it.
    """
    record = read_json(folder / DATA) if (folder / DATA).exists() else {}
    from fewhot.data.pixels import BYTE

    of_texts = getattr(estimator, "vocabulary_", None) is not None
    image_shape = _image_shape_of(record, estimator)
    known = KnownColumns(
        names=None if of_texts else _columns_of(folder, estimator),
        n_columns=estimator.n_features_in_,
        label=as_place(record.get("label")),
        text=record.get("text") if of_texts else None,
        vectorizer=vectorizer_in(folder),
        image_shape=image_shape,
        levels=None if image_shape is None else BYTE if estimator.data_spec_.unit_interval else 1,
    )
    if not source.is_dataset:
        source = replace(source, image_shape=record.get("asked_image_shape"))
    return in_order_of(folder, estimator, like_the_fit(source, record).open_as(known))


def _image_shape_of(record: dict[str, Any], estimator: Any) -> tuple[int, ...] | None:
    """Return how a row of a run is an image: as its data were, or as the model was fitted in Python."""
    shape = record.get("image_shape") or getattr(estimator, "image_shape_", None)
    return None if shape is None else tuple(shape)


def in_order_of(folder: Path, estimator: Any, rows: Loaded) -> Loaded:
    """Return rows with their columns as the run knew them, told by name where both have names.

    Texts have no columns; they are refused where the run was fitted on numbers, and numbers where it was on texts.
    """
    check_kind(folder, getattr(estimator, "vocabulary_", None) is not None, rows)
    return in_order(rows, _columns_of(folder, estimator), f"the fit in {folder}")


def in_order(rows: Loaded, known: list[str] | None, fitted: str) -> Loaded:
    """Return rows with the ``known`` columns in their order where both have names; ``fitted`` is who knows them."""
    if rows.users is not None:
        return with_items(rows, known)
    if rows.holds_texts or not known or not rows.feature_names or known == rows.feature_names:
        return rows
    missing = next((name for name in known if name not in rows.feature_names), None)
    if missing is not None:
        raise InvalidInputError(f"{rows.name} lacks the column {missing!r}; give all columns of {fitted}.")
    extra = next((name for name in rows.feature_names if name not in known), None)
    if extra is not None:
        raise InvalidInputError(
            f"{rows.name} has the column {extra!r}, which is not one of {fitted}; leave it out, or name it with "
            f"--label if it holds labels."
        )
    columns = [rows.feature_names.index(name) for name in known]
    return replace(rows, X=rows.X[:, columns], feature_names=known)


def _columns_of(folder: Path, estimator: Any) -> list[str] | None:
    """Return the names that the model knows; else those of the rows in data.json, as for a fit on sparse rows."""
    for names in ("items_", "feature_names_in_"):
        if hasattr(estimator, names):
            return getattr(estimator, names).tolist()
    return read_json(folder / DATA).get("feature_names") if (folder / DATA).exists() else None


def read_json(path: Path) -> dict[str, Any]:
    """Return the mapping in one of a run's files."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise RunFolderError(
            f"{path.parent} has no {path.name}: it was not written by fewhot fit; name the data yourself."
        ) from error
    except (OSError, ValueError) as error:
        raise RunFolderError(f"{path} cannot be read; fit again into another folder.") from error
    if not isinstance(content, dict):
        raise RunFolderError(f"{path} is damaged; fit again into another folder.")
    return content


def with_held_out(rows: RunRows, estimator: Any) -> RunRows:
    """Return the rows of a run with those named that the numbers of a fit without test rows are about.

    Where fewer than `LEAST_JUDGED` were held out, numbers are about all rows, and flatter.
    """
    if rows.test is not None:
        return rows
    held_out = estimator.held_out_rows(len(rows.train))
    return replace(rows, held_out=held_out) if len(held_out) >= LEAST_JUDGED else rows


def judge(estimator: Any, rows: RunRows, facts: dict[str, Any], fitted: Any = None) -> Judgement:
    """Measure a fitted model and draw its page; ``fitted`` is what the model reads of its rows, if that is known."""
    from fewhot.metrics import alarms, summarise
    from fewhot.report import build_report

    train, judged = without_label_matrix(rows.train), without_label_matrix(rows.judged)
    taught = rows.judged is not rows.train and judged.y is not None and train.y is not None
    learned = rows.learned if taught else train
    y_train, y = same_labels(learned, judged) if taught else (None, judged.y)
    known = fitted is not None and learned is rows.train
    X_train = (fitted if known else readable(estimator, learned)) if taught else None
    X = fitted if rows.judged is rows.train and fitted is not None else readable(estimator, judged)
    summary = summarise(estimator, X, y, X_train, y_train)  # untaught, a probe learns from half of the rows it has
    found = list(alarms(summary))
    page = build_report(estimator, judged, summary=summary, alarms=found, facts=facts)
    return Judgement(about=rows.judged_words, summary=summary, alarms=found, page=page)


def facts_of(estimator: Any, rows: RunRows, folder: Path) -> dict[str, Any]:
    """Return what the page says about how the run came to be."""
    import platform

    import torch

    from fewhot.report.page import ABOUT

    device = next(estimator.module_.parameters()).device
    hardware = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
    prepared = {} if rows.vectorizer is None else {"Columns": "; ".join(rows.vectorizer.summary())}
    return {
        "Run": folder.name,
        "Fitted on": f"{counted(rows.train)} of {rows.train.name}{_held_out_words(rows)}",
        **prepared,
        ABOUT: rows.judged_words,
        "Hardware": f"{hardware}, {torch.get_num_threads()} threads",
    }


def _held_out_words(rows: RunRows) -> str:
    return "" if rows.held_out is None else f", {len(rows.held_out):,} of them held out for early stopping"


def finish(folder: Path, estimator: Any, rows: RunRows, fitted: Any) -> Judgement:
    """Write codes, metrics and report into the folder of a run; ``fitted`` is what the model was fitted on."""
    from fewhot.core.files import write_json
    from fewhot.data import write_matrix
    from fewhot.report import write_report

    write_matrix(folder / CODES, estimator.transform(fitted))
    rows = with_held_out(rows, estimator)
    judgement = judge(estimator, rows, facts_of(estimator, rows, folder), fitted)
    write_json(folder / METRICS, finite({"rows": rows.judged_words, **judgement.summary.to_dict()}))
    write_report(folder / REPORT, judgement.page)
    return judgement
