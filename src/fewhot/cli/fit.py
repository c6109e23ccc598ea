"""``fewhot fit``: a model, its codes, its numbers and its report, in one folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fewhot.cli.console import note, say, say_json
from fewhot.cli.exits import INTERRUPTED
from fewhot.cli.options import DATA_HELP, DataDir, Item, Json, Label, Quiet, Split, Text, Texts, User, Weight

EXAMPLE = """\
Examples:

[bold]fewhot fit digits --model vsc --l0 4 --max-steps 4000 --out runs/first[/bold]

[bold]fewhot fit counts.mtx --density 0.05 --set max_active=10 --out runs/counts[/bold]

[bold]fewhot fit customers.csv --prepare --label segment --split train --out runs/customers[/bold]

[bold]fewhot fit likes.csv --user user_id --item film --weight stars --out runs/likes[/bold]

[bold]fewhot fit faces/ --l0 10 --split train --out runs/faces[/bold]

[bold]fewhot fit reviews.csv --text review --label stars --model hsvae --out runs/reviews[/bold]

[bold]fewhot fit --config runs/first/fit.yaml --seed 1 --out runs/second[/bold]

[bold]fewhot fit --resume runs/first[/bold]
"""

_MODEL, _TRAINING, _IMAGES, _TABLES, _TEXTS = "The model", "Training", "Images", "Tables", "Texts"


def _option(text: str, panel: str, *names: str) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=panel, show_default=False)


def fit(
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA",
            help=DATA_HELP,
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        str | None, typer.Option(help="The run folder to write; it must not exist yet.", show_default=False)
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="A YAML file of settings, one a line; flags take precedence.", show_default=False),
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Go on with the run in this folder where it stopped.", show_default=False)
    ] = None,
    model: Annotated[
        str | None,
        _option(
            "sparse codes: vsc (the default), hsvae, sdlgm, gumbelvae; dense: vae, betatcvae, matvae; of counts and "
            "likes: nfa (the default with --user and --item).",
            _MODEL,
        ),
    ] = None,
    n_components: Annotated[int | None, _option("Units to choose from; 64 unless told.", _MODEL)] = None,
    density: Annotated[float | None, _option("Mean share of active units to hold.", _MODEL)] = None,
    l0: Annotated[float | None, _option("Mean number of active units to hold.", _MODEL, "--l0")] = None,
    alpha: Annotated[float | None, _option("A fixed on-rate of the prior instead.", _MODEL)] = None,
    likelihood: Annotated[
        str | None, _option("How rows are scored: bernoulli, gaussian, poisson, ...; else by the data.", _MODEL)
    ] = None,
    observation: Annotated[
        str | None, _option("What is done to rows first: as-is, unit-norm, stochastic-binarise.", _MODEL)
    ] = None,
    hidden_layer_sizes: Annotated[
        str | None, _option("Widths of the hidden layers, such as 400,200.", _MODEL, "--hidden-layer-sizes", "--hidden")
    ] = None,
    recipe: Annotated[str | None, _option("A named set of published choices, such as iclr2019.", _MODEL)] = None,
    max_steps: Annotated[int | None, _option("Most steps; by default 100 passes, 3,000 to 20,000.", _TRAINING)] = None,
    max_epochs: Annotated[int | None, _option("Most passes over the rows.", _TRAINING)] = None,
    batch_size: Annotated[int | None, _option("Rows a step; 200 unless told, 500 with nfa.", _TRAINING)] = None,
    learning_rate: Annotated[float | None, _option("Adam's rate; 0.001 unless told.", _TRAINING)] = None,
    seed: Annotated[int | None, _option("One seed for everything that is drawn; 0 unless told.", _TRAINING)] = None,
    device: Annotated[str | None, _option("auto, cpu or cuda.", _TRAINING)] = None,
    checkpoint_seconds: Annotated[float | None, _option("Time between checkpoints; 60.", _TRAINING)] = None,
    set_: Annotated[
        list[str] | None,
        _option("Any other argument of the model: --set name=value, as often as needed.", _TRAINING, "--set"),
    ] = None,
    split: Split = None,
    test: Annotated[
        str | None,
        typer.Option(
            help="Rows for the numbers: a split, or another file. Else the split test, or the fitted rows.",
            show_default=False,
        ),
    ] = None,
    label: Label = None,
    image_shape: Annotated[
        str | None,
        _option(
            "How flat rows are images, such as 112x92, or 28x20x3 for color; pictures of a folder are brought to it.",
            _IMAGES,
            "--image-shape",
        ),
    ] = None,
    prepare: Annotated[
        bool,
        _option(
            "Turn words, dates, decimal commas and missing values into numbers; encode and evaluate do the same.",
            _TABLES,
            "--prepare",
        ),
    ] = False,
    columns: Annotated[str | None, _option("The columns to keep, with commas between them.", _TABLES)] = None,
    drop: Annotated[str | None, _option("The columns to leave out, with commas between them.", _TABLES)] = None,
    text: Text = None,
    texts: Texts = False,
    user: User = None,
    item: Item = None,
    weight: Weight = None,
    tokeniser: Annotated[
        str | None,
        _option(
            "How texts are cut: words (for bags of words), plain (with marks and numbers), spacy, spaces.",
            _TEXTS,
        ),
    ] = None,
    n_words: Annotated[int | None, _option("Most words to know; 20,000 unless told.", _TEXTS)] = None,
    max_length: Annotated[
        int | None,
        _option("Most words to read of a text; 500 unless told, all where texts bring a vocabulary.", _TEXTS),
    ] = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Fit a model to DATA and write weights, codes, numbers and a report to a folder."""
    flags: dict[str, Any] = {
        "data": data,
        "out": out,
        "model": model,
        "n_components": n_components,
        "density": density,
        "l0": l0,
        "alpha": alpha,
        "likelihood": likelihood,
        "observation": observation,
        "hidden_layer_sizes": hidden_layer_sizes,
        "recipe": recipe,
        "max_steps": max_steps,
        "max_epochs": max_epochs,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "seed": seed,
        "device": device,
        "checkpoint_seconds": checkpoint_seconds,
        "split": split,
        "test": test,
        "label": label,
        "image_shape": image_shape,
        "prepare": prepare or None,
        "columns": columns,
        "drop": drop,
        "text": text,
        "texts": texts or None,
        "user": user,
        "item": item,
        "weight": weight,
        "tokeniser": tokeniser,
        "n_words": n_words,
        "max_length": max_length,
        "data_dir": None if data_dir is None else str(data_dir),
    }
    given = {name: value for name, value in flags.items() if value is not None}
    try:
        judgement, folder = _fitted(given, set_ or [], config, resume, quiet=quiet)
    except KeyboardInterrupt:  # one that comes later leaves a folder to go on with
        note("Interrupted before the fit began; nothing was written.")
        raise typer.Exit(INTERRUPTED) from None
    _tell(judgement, folder, json=json)


def _fitted(
    given: dict[str, Any], set_: list[str], config: Path | None, resume: Path | None, *, quiet: bool
) -> tuple[Any, Path]:
    """Return what is to be told of the fit, and its folder."""
    from fewhot.cli.config import assignments
    from fewhot.cli.fitting import run_fit

    values, texts = assignments(set_)
    settings, folder = _settle({**given, **values}, texts, config, resume)
    return run_fit(settings, folder, resume=resume is not None, quiet=quiet), folder


def _settle(given: dict[str, Any], texts: dict[str, str], config: Path | None, resume: Path | None) -> tuple[Any, Path]:
    """Return the configuration and the folder of a new run, or of the one to resume."""
    from dataclasses import replace

    from fewhot.cli.config import merged, read_config, resolved
    from fewhot.cli.fitting import config_in, fresh_folder
    from fewhot.core.errors import InvalidParameterError

    if resume is None:
        file = {} if config is None else read_config(config)
        settings = resolved(
            merged(file, given), texts=texts, where="" if config is None else f" (in {config} or a flag)"
        )
        return settings, fresh_folder(settings.out)
    others = sorted(set(given) - {"device", "data_dir"}) + (["config"] if config is not None else [])
    if others:
        raise InvalidParameterError(
            f"--resume goes on with the settings in {resume}, and {', '.join(others)} was given too; leave it out, or "
            f"begin another run with --out."
        )
    known = config_in(resume)
    arguments = {**known.arguments, **({"device": given["device"]} if "device" in given else {})}
    return replace(known, arguments=arguments, data_dir=given.get("data_dir", known.data_dir)), resume


def _tell(judgement: Any, folder: Path, *, json: bool) -> None:
    from fewhot.cli.runs import REPORT
    from fewhot.cli.showing import FIRST, as_json, show_numbers

    if json:
        places = {"run": str(folder), "report": str(folder / REPORT), "rows": judgement.about}
        say_json({**places, **as_json(judgement.summary, judgement.alarms)})
        return
    show_numbers(judgement.summary, judgement.alarms, judgement.about, only=FIRST)
    n_more = sum(number.name not in FIRST for number in judgement.summary.numbers)
    say(f"Report, with {n_more} more numbers: {folder / REPORT}")
