"""``fewhot evaluate``: how good a fitted model is on given rows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fewhot.cli.console import note, say, say_json
from fewhot.cli.options import Data, DataDir, Device, Item, Json, Label, Run, Split, Text, Texts, User, Weight
from fewhot.cli.rows import ALL_SEEN, NONE_SEEN, SOME_SEEN, counted, same_labels, share_rows, without_label
from fewhot.core.errors import InvalidInputError

if TYPE_CHECKING:
    from fewhot.cli.comparing import Evaluated
    from fewhot.cli.rows import Source
    from fewhot.data import Loaded
    from fewhot.metrics import Summary, TopWords

EXAMPLE = """\
Examples:

[bold]fewhot evaluate runs/first digits[/bold]

[bold]fewhot evaluate runs/first held-out.csv --label kind --probe --json[/bold]

[bold]fewhot evaluate runs/reviews held-out.csv --text review --label stars --probe[/bold]

[bold]fewhot evaluate runs/first digits --against runs/second[/bold]
"""


def evaluate(
    run: Run,
    data: Data,
    against: Annotated[
        list[Path] | None,
        typer.Option(help="Another run, to stand beside this one; as often as needed.", show_default=False),
    ] = None,
    probe: Annotated[
        bool,
        typer.Option(
            "--probe",
            help="Train a classifier on the codes too, linear or, for texts, a small network; needs labels.",
        ),
    ] = False,
    split: Split = None,
    label: Label = None,
    text: Text = None,
    texts: Texts = False,
    user: User = None,
    item: Item = None,
    weight: Weight = None,
    data_dir: DataDir = None,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Print the numbers of a fitted model on DATA: a dataset's test rows, all rows of a file, or what --split says."""
    from fewhot.cli.rows import source_of
    from fewhot.cli.runs import load_run, rows_as_in
    from fewhot.metrics.words import things_of
    from fewhot.report.words import kept_words

    source = source_of(data, split, label, data_dir, text, texts, user=user, item=item, weight=weight)
    if split is None and source.is_dataset:
        source = source_of(data, "test", label, data_dir, text, texts)
    folders = _apart([run, *(against or [])])
    estimators = [load_run(folder, device) for folder in folders]
    of_run = {folder: rows_as_in(folder, model, source) for folder, model in zip(folders, estimators, strict=True)}
    rows = of_run[run]
    if label is not None and not probe and not all(model.labelled for model in estimators):
        note("The labels are set aside; add --probe to train a classifier on the codes.")
    seen = {folder: _seen_in_the_fit(folder, source.whole(), of_run[folder]) for folder in folders}
    found = [
        _measure(folder, model, of_run[folder], data_dir, seen[folder], probe=probe, compared=bool(against))
        for folder, model in zip(folders, estimators, strict=True)
    ]
    about = f"{counted(rows)} of {rows.name}" + (f", split {rows.split!r}" if rows.split else "")
    if against:
        _show_side_by_side(found, about + _seen_by(seen), json=json)
    else:
        _show_alone(
            found[0],
            kept_words(estimators[0], rows),
            things_of(estimators[0]),
            about + (f", {seen[run]}" if seen[run] else ""),
            json=json,
        )


def _apart(folders: list[Path]) -> list[Path]:
    """Return the folders; one that is named twice is refused."""
    places = [folder.expanduser().resolve() for folder in folders]
    twice = next((folder for i, folder in enumerate(folders) if places[i] in places[:i]), None)
    if twice is not None:
        raise InvalidInputError(f"{twice} would be compared with itself; give --against another run.")
    return folders


def _measure(
    folder: Path, estimator: Any, rows: Loaded, data_dir: Path | None, seen: str, *, probe: bool, compared: bool
) -> Evaluated:
    from fewhot.cli.comparing import Evaluated
    from fewhot.cli.rows import n_columns
    from fewhot.cli.texts import readable
    from fewhot.metrics import alarms, summarise
    from fewhot.metrics.ranking_numbers import ndcg_of_hidden

    if not rows.holds_texts and n_columns(rows) != estimator.n_features_in_:
        turned = f": it has {len(rows)} rows and looks transposed" if len(rows) == estimator.n_features_in_ else ""
        raise InvalidInputError(
            f"{rows.name} has {n_columns(rows)} columns and {folder} was fitted on {estimator.n_features_in_}{turned}; "
            f"give rows with the same columns."
        )
    X = readable(estimator, rows)
    if estimator.labelled:
        summary = summarise(estimator, X, _label_matrix(rows, folder, estimator))
    else:
        labels = _labels(rows, folder, estimator, data_dir, seen) if probe else ()
        summary = summarise(estimator, X, *labels, probe="marginal" if rows.holds_texts else "linear")
    bounds = estimator.score_samples(X) if compared and _has_elbo(summary) else None
    words = getattr(estimator, "vocabulary_", None)
    columns = () if rows.holds_texts else sorted(rows.feature_names or ())
    ranked = ndcg_of_hidden(estimator, X) if compared else None
    return Evaluated(
        folder=folder,
        summary=summary,
        alarms=list(alarms(summary)),
        bounds=bounds,
        words=words,
        columns=columns,
        digest=rows.digest,
        ndcg=None if ranked is None else ranked[0].values,
    )


def _has_elbo(summary: Summary) -> bool:
    return summary.get("bound") is not None


def _label_matrix(rows: Loaded, run: Path, estimator: Any) -> Any:
    """Return the labels that a model of labels is to predict, a row of them for each row."""
    if rows.y is None or rows.y.ndim != 2:
        kind = type(estimator).__name__
        raise InvalidInputError(
            f"{rows.name} has no matrix of labels, by which {kind} is measured; save one beside the rows, "
            f"np.savez('rows.npz', X=X_new, Y=Y_new), or in Python: "
            f"fewhot.metrics.summarise(fewhot.load('{run}'), X_new, Y_new)."
        )
    return rows.y


def _seen_in_the_fit(run: Path, source: Source, rows: Loaded) -> str:
    """Say whether the run was fitted on these rows, or on some of them; nothing where that is not known."""
    from fewhot.cli.runs import DATA, read_json

    record = read_json(run / DATA) if (run / DATA).exists() else {}
    if record.get("digest") == rows.digest:
        return ALL_SEEN
    if (record.get("test") or {}).get("digest") == rows.digest:
        return NONE_SEEN
    fitted = record.get("split") or ("train" if source.is_dataset else "all")
    same = record.get("data") == source.data
    return SOME_SEEN if same and share_rows(fitted, source.split or "all") else ""


def _seen_by(seen: dict[Path, str]) -> str:
    """Say of each of several runs what is known of these rows and its fit."""
    told = [f"{run}: {words}" for run, words in seen.items() if words]
    return f" ({'; '.join(told)})" if told else ""


def _show_alone(found: Evaluated, top: TopWords | None, things: str, about: str, *, json: bool) -> None:
    from fewhot.cli.showing import as_json, show_numbers, show_words

    if json:
        words = {} if top is None else {"words": top.to_dict()["units"]}
        say_json({"run": str(found.folder), "rows": about, **as_json(found.summary, found.alarms), **words})
        return
    show_numbers(found.summary, found.alarms, about)
    if top is not None:
        show_words(top, things)


def _show_side_by_side(found: Sequence[Evaluated], about: str, *, json: bool) -> None:
    from fewhot.cli.comparing import as_json, differences, ndcg_differences, show_table

    told, ranked = differences(found), ndcg_differences(found)
    if json:
        say_json({"rows": about, **as_json(found, told, ranked)})
        return
    show_table(found, about)
    for difference in [*ranked, *told]:
        say(difference.sentence)


def _labels(rows: Loaded, run: Path, estimator: Any, data_dir: Path | None, seen: str) -> tuple[Any, ...]:
    """Return the labels and, where the run knows labelled rows that are others, those: the classifier learns from them.

    ``seen`` is what is known of these rows and the fit.
    """
    import numpy as np

    from fewhot.cli.runs import DATA, read_rows
    from fewhot.cli.texts import readable
    from fewhot.core.records import UNLABELED

    if rows.y is not None and rows.y.ndim > 1:
        raise InvalidInputError(
            f"{rows.name} has several labels a row, and --probe is for one class a row; leave it out, or fit "
            f"SDLGMClassifier in Python, which predicts such labels."
        )
    if rows.y is None:
        raise InvalidInputError(f"{rows.name} has no labels, and --probe needs them; name their column with --label.")
    unlabeled = without_label(rows)
    if unlabeled is not None:
        note(unlabeled)
    with warnings.catch_warnings():  # the fit told of its rows
        warnings.simplefilter("ignore")
        others = (run / DATA).exists() and seen not in (ALL_SEEN, SOME_SEEN)
        train = read_rows(run, data_dir).train if others else None
    if train is None or train.y is None:
        if (np.unique(rows.y[rows.y != UNLABELED], return_counts=True)[1] > 1).sum() < 2:
            raise InvalidInputError(
                f"The labels of {rows.name} allow no --probe; give two classes at least, with two rows each."
            )
        note("The classifier learns from one half of these rows and is tested on the other.")
        return (rows.y,)
    y_train, y = same_labels(train, rows)
    return (y, readable(estimator, train), y_train)
