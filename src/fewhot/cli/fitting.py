"""A fit from its configuration to a finished run folder."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fewhot.cli.config import FILE, FitConfig, read_config, resolved, write_config
from fewhot.cli.console import note
from fewhot.cli.exits import INTERRUPTED
from fewhot.cli.interactions import COLUMNS
from fewhot.cli.rows import KnownColumns, Source, counted, n_columns, rows_in_words, source_of, without_label
from fewhot.cli.runs import (
    DATA,
    PREPARATION,
    Judgement,
    RunRows,
    finish,
    in_order,
    is_finished,
    read_rows,
    with_held_out,
)
from fewhot.cli.texts import check_settings, in_words, rows_to_fit
from fewhot.core.errors import InvalidParameterError, RunFolderError

if TYPE_CHECKING:
    from fewhot.data import Loaded, TableVectorizer

FEW_ROWS = 20
MIXED_FLOOR = 0.1
"""The least variance of a column beside levels, as a share of its own: nine tenths explained are enough."""


def fresh_folder(out: str | None) -> Path:
    """Return the folder of a new run; one that holds anything is refused."""
    if out is None:
        raise InvalidParameterError("No folder was given for the run; add --out, such as --out runs/first.")
    folder = Path(out).expanduser()
    if folder.is_file():
        raise RunFolderError(f"{folder} is a file; give --out a folder that does not exist yet.")
    if (folder / FILE).exists():
        raise RunFolderError(
            f"{folder} already holds a run; choose another --out, or go on with it: fewhot fit --resume {folder}."
        )
    if folder.is_dir() and any(folder.iterdir()):
        raise RunFolderError(f"{folder} exists and is not empty; choose another --out, so that nothing is lost.")
    return folder


def config_in(folder: Path) -> FitConfig:
    """Return the configuration of a run that was begun in ``folder``."""
    if not folder.is_dir():
        raise RunFolderError(f"There is no folder {folder}; give --resume the folder of a run.")
    if not (folder / FILE).is_file():
        raise RunFolderError(
            f"{folder} has no {FILE}, so there is no run of fewhot fit to go on with; begin one with --out."
        )
    return resolved(read_config(folder / FILE), where=f" in {folder / FILE}")


def rows_for(config: FitConfig) -> RunRows:
    """Read the rows to fit on and those to judge by."""
    check_settings(config)
    of_tables = {name: getattr(config, name) for name in ("columns", "drop", "prepare", "image_shape", *COLUMNS)}
    source = source_of(config.data, config.split, config.label, config.data_dir, config.text, config.texts, **of_tables)
    vectorizer = _new_vectorizer(config)
    train = source.open(vectorizer)
    check_settings(config, train)
    _require_several(train)
    other = _test_source(config, source, train.split)
    if other is None:
        return RunRows(train=train, train_source=source, vectorizer=vectorizer)
    known = KnownColumns.of(train, vectorizer)
    test = in_order(other.open_as(known), train.feature_names, train.name)
    if not len(test):
        raise InvalidParameterError(
            f"The split {other.split!r} of {other.data} has no rows: the table is too small to be split; leave out "
            f"--split, or name other rows with --test."
        )
    if test.holds_texts != train.holds_texts:
        kinds = [f"{rows.name} holds {'texts' if rows.holds_texts else 'rows of numbers'}" for rows in (train, test)]
        raise InvalidParameterError(f"{' and '.join(kinds)}; give --test rows of the same kind.")
    if n_columns(test) != n_columns(train):
        raise InvalidParameterError(
            f"{other.data} has {n_columns(test)} columns and {source.data} {n_columns(train)}; give --test rows with "
            f"the same columns."
        )
    return RunRows(train=train, train_source=source, test=test, test_source=other, vectorizer=vectorizer)


def _new_vectorizer(config: FitConfig) -> TableVectorizer | None:
    from fewhot.data import TableVectorizer

    return TableVectorizer() if config.prepare else None


def _require_several(rows: Loaded) -> None:
    """Refuse a single row, which differs from nothing."""
    if len(rows) < 2:
        raise InvalidParameterError(
            f"{rows.name} holds {counted(rows).removesuffix('s')}, and a model learns how rows differ; give at least 2 "
            f"rows, better {FEW_ROWS} or more."
        )


def run_fit(config: FitConfig, folder: Path, *, resume: bool, quiet: bool, rows: RunRows | None = None) -> Judgement:
    """Fit, then write everything a run folder holds; Ctrl-C leaves a folder that --resume takes."""
    from fewhot.estimators.below import SAID as BELOW
    from fewhot.training import RunFolder

    if rows is None:
        rows = read_rows(folder, config.data_dir) if resume else rows_for(config)
    X = _to_fit(config, rows)
    if rows.test is not None and rows.test_source is not None and not resume and not rows.test.holds_texts:
        _estimator_of(config, rows)._check_rows_to_come(rows.test.X, X, rows.test_source.data)
    run = RunFolder(folder, checkpoint_seconds=config.checkpoint_seconds, resume="auto" if resume else False)
    opening = _opening(folder, config, rows, X, resume=resume, quiet=quiet)
    estimator = _estimator_of(config, rows, verbose=0 if quiet else 1, callbacks=[run, opening])
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=BELOW)  # the summary says it, too, and what to try
            estimator.fit(X)
        _keep_names(estimator, rows.train, folder)
        if not quiet:
            if getattr(estimator, "recipe_", None) is not None and estimator.recipe is None:
                note(f"By what the rows are, the recipe was {estimator.recipe_}; --recipe names another.")
            if estimator.n_iter_ < opening.planned:
                note(f"Stopped at step {estimator.n_iter_:,}: the bound of held-out rows no longer rose.")
            note(f"Measuring {_to_measure(rows, estimator)}, and drawing the report.")
        return finish(folder, estimator, rows, X if rows.train.holds_texts else rows.train.X)
    except KeyboardInterrupt:
        if not (folder / FILE).exists():
            raise
        import typer

        note(f"To go on: fewhot fit --resume {folder}")
        raise typer.Exit(INTERRUPTED) from None


def _to_measure(rows: RunRows, estimator: Any) -> str:
    if rows.test is not None:
        return "test rows"
    if with_held_out(rows, estimator).held_out is not None:
        return "the rows that were held out for early stopping (--split train holds out a fifth of its own)"
    return "the rows of the fit, which flatters it (--split train holds out a fifth)"


def _to_fit(config: FitConfig, rows: RunRows) -> Any:
    """Return what an estimator is fitted on: images of files as images, so that it knows them for such.

    Those of a dataset are the rows in [0, 1] that others publish numbers of, which models take as probabilities.
    """
    from fewhot.data.pixels import folded

    X = rows_to_fit(config, rows.train)
    return X if rows.train_source.is_dataset or rows.train.holds_texts else folded(X, rows.train.image_shape)


def _is_mixed(config: FitConfig, rows: RunRows) -> bool:
    """Say whether prepared columns are of several kinds, and nothing is said of how they are scored."""
    mixed = rows.vectorizer is not None and rows.vectorizer.is_mixed
    return mixed and config.estimator().get_params(deep=False).get("likelihood") == "auto"


def _estimator_of(config: FitConfig, rows: RunRows, **given: Any) -> Any:
    """Return the estimator of a run.

    Ages, days and levels of mixed tables are no counts, though they are whole numbers. A level is 0 or 1, and a density
    of it has no limit but its floor: at the usual one levels are worth most of the nats, and codes keep them and leave
    out the numbers. So these columns have a larger one.
    """
    from fewhot.likelihoods import GaussianLikelihood

    estimator = config.estimator(**given)
    width = n_columns(rows.train)
    if width is not None and _is_mixed(config, rows):
        estimator.set_params(likelihood=GaussianLikelihood(width, floor=MIXED_FLOOR))
    return estimator


def _keep_names(estimator: Any, train: Loaded, folder: Path) -> None:
    """Let the saved model know its columns by name, as one fitted on a frame does; sparse rows have no names there."""
    import numpy as np
    import scipy.sparse as sp

    if train.feature_names is None or train.holds_texts or (sp.issparse(train.X) and train.users is None):
        return
    name = "feature_names_in_" if train.users is None else "items_"
    setattr(estimator, name, np.asarray(train.feature_names, dtype=object))
    estimator.save(folder)


def _announce(rows: RunRows, X: Any, device: str, resumed: Path | None) -> None:
    """Say what is fitted where, from which step a resumed run goes on, and what to expect of very few rows."""
    from fewhot.core.devices import resolve_device
    from fewhot.data.tables import pair_of_names

    train = rows.train
    if resumed is not None and is_finished(resumed):
        note(f"The fit in {resumed} is finished; no step is left to do.")
        return
    if rows.vectorizer is not None:
        n_before = rows.vectorizer.n_features_in_
        note(f"Prepared {n_before:,} columns as {n_columns(train):,} of numbers:")
        note("\n".join(f"  {line}" for line in rows.vectorizer.summary()))
    n_rows = len(train)
    what = in_words(X) if train.holds_texts else rows_in_words(train)
    note(f"Fitting {what} on {resolve_device(device)}.")
    if resumed is not None:
        steps = [int(path.name.removeprefix("step-")) for path in (resumed / "checkpoints").glob("step-*")]
        note(f"Going on from step {max(steps):,}." if steps else "No checkpoint had been written; beginning again.")
    pair = None if train.feature_names is None or train.users is not None else pair_of_names(train.feature_names)
    if pair is not None and not train.holds_texts:
        note(f"warning: {pair[0]} and {pair[1]} are fitted as numbers; are they who likes what: --user, --item?")
    unlabeled = without_label(train)
    if unlabeled is not None:
        note(f"warning: {unlabeled}")
    if n_rows < FEW_ROWS:
        note(f"warning: {counted(train)} are too few to learn from; the numbers of this run will mean little.")


def _opening(folder: Path, config: FitConfig, rows: RunRows, X: Any, *, resume: bool, quiet: bool) -> Any:
    """Return a callback that says and writes what the run is once its folder is taken, the configuration last."""
    from fewhot.core.files import write_json
    from fewhot.training import Callback

    class Opening(Callback):
        planned = 0

        def on_start(self, max_steps: int) -> None:
            self.planned = max_steps
            if not quiet:
                _announce(rows, X, config.arguments.get("device", "auto"), folder if resume else None)
            if (folder / FILE).exists():
                return
            write_json(folder / DATA, rows.to_dict())
            if rows.vectorizer is not None:
                write_json(folder / PREPARATION, rows.vectorizer.to_dict())
            write_config(folder / FILE, config)

    return Opening()


def _test_source(config: FitConfig, source: Source, fitted_split: str | None) -> Source | None:
    """Return where the rows to judge by are: named, or the split "test" beside "train"."""
    if config.test is None:
        return replace(source, split="test") if fitted_split in ("train", "fit") else None
    from fewhot.data.splits import SPLITS
    from fewhot.data.text.reading import is_lines

    if config.test in SPLITS:
        return replace(source, split=config.test)
    other = replace(source, data=config.test, split=None)
    if is_lines(Path(config.test)):
        return replace(other, label=None, text=None)
    return replace(other, text=None, texts=source.texts or source.text is not None) if other.is_dataset else other
