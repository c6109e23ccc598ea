"""``fewhot demo``: from nothing to a report in under a minute, without a network."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fewhot.cli.console import note, say
from fewhot.cli.options import Device, Quiet

if TYPE_CHECKING:
    from fewhot.cli.config import FitConfig

EXAMPLE = "Example: [bold]fewhot demo[/bold]"

FOLDER = Path("runs") / "demo"
UNITS, ACTIVE = 16, 4
_FIRST = ("bound", "active", "used", "dead", "always_on", "overlap", "calibration", "probe_map")
_FREE = ("max_steps", "device")
_FILES = {
    *("references.safetensors", "words.safetensors"),
    *(".lock", "checkpoints", "config.json", "model.safetensors", "history.jsonl", "fit.yaml"),
    *("data.json", "metrics.json", "codes.npz", "report.html", "samples.png"),
}


def demo(
    out: Annotated[Path, typer.Option(help="The run folder; an earlier demo in it is replaced.")] = FOLDER,
    max_steps: Annotated[int, typer.Option(help="Optimisation steps.")] = 4000,
    device: Device = "auto",
    quiet: Quiet = False,
) -> None:
    """Learn sparse codes of small handwritten digits, and explain what came out."""
    import torch

    from fewhot.cli.config import FitConfig
    from fewhot.cli.fitting import rows_for, run_fit
    from fewhot.cli.runs import REPORT
    from fewhot.cli.showing import show_numbers

    torch.set_num_threads(1)  # as fast as several for so small a model, and not slowed by other programs
    arguments = {"n_components": UNITS, "l0": float(ACTIVE), "max_steps": max_steps, "device": device}
    config = FitConfig(data="digits", model="vsc", seed=0, arguments=arguments)
    config.estimator(verbose=0, callbacks=[])._check_parameters()
    rows = rows_for(config)
    folder = _folder(out, config)
    note(
        f"Fitting {len(rows.train):,} images of digits, 8 by 8 pixels: {UNITS} units to choose from, about {ACTIVE} of "
        f"them on in each image. It takes less than a minute."
    )
    judgement = run_fit(config, folder, resume=False, quiet=quiet, rows=rows)
    show_numbers(judgement.summary, judgement.alarms, judgement.about, only=_FIRST)
    say("A value is a mean over the images, ± its standard error; the report says by which rule each verdict is given.")
    say(f"Report: {folder / REPORT}")
    say(f"Next: fewhot sample {folder}, fewhot evaluate {folder} digits --probe, or fewhot fit with data of your own.")


def _folder(out: Path, config: FitConfig) -> Path:
    """Return a free folder: an earlier demo makes room, anything else stays and the demo goes beside it."""
    if not out.exists():
        return out
    if _is_demo(out, config):
        note(f"{out} holds an earlier demo, which is replaced.")
        shutil.rmtree(out)
        return out
    number = 2
    while (beside := out.with_name(f"{out.name}-{number}")).exists():
        number += 1
    note(f"{out} holds something else, which stays; this demo goes to {beside}.")
    return beside


def _is_demo(folder: Path, config: FitConfig) -> bool:
    """Say whether a folder holds nothing but a run that this command makes again."""
    from fewhot.cli.config import FILE, read_config
    from fewhot.core.errors import FewhotError

    try:
        known = read_config(folder / FILE)
    except FewhotError:
        return False
    wanted = config.to_mapping()
    ours = {path.name for path in folder.iterdir()} <= _FILES
    return ours and all(known.get(name) == value for name, value in wanted.items() if name not in _FREE)
