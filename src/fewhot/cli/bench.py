"""``fewhot bench``: speed ratios against peers, in one run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fewhot.cli.console import note, say, say_json, say_table
from fewhot.cli.options import Device, Json

EXAMPLE = "Example: [bold]fewhot bench loop[/bold]"


def bench(
    name: Annotated[
        str | None, typer.Argument(help="The suite to run; none, or 'list', lists them.", show_default=False)
    ] = None,
    device: Device = "auto",
    commit: Annotated[str, typer.Option(help="The commit that is measured, for the record.")] = "unknown",
    out: Annotated[Path, typer.Option(help="The folder of the results.")] = Path("results/bench"),
    json: Json = False,
) -> None:
    """Measure speed against peers, as ratios within one run."""
    from fewhot.bench import SUITES, run_suite, suite_named

    if name in (None, "list"):
        if json:
            say_json([{"name": key, "about": suite.about, "minutes": suite.minutes} for key, suite in SUITES.items()])
            return
        say_table(
            ["suite", "compares", "minutes on 2 cores"],
            [[key, suite.about, f"{suite.minutes:g}"] for key, suite in SUITES.items()],
        )
        return
    note(f"Measuring {suite_named(name).about}; keep the machine free of other work.")
    result = run_suite(name, device=device, commit=commit, out=out)
    if json:
        say_json(result)
        return
    say(f"{result['what']}: {result['ratio']:.2f} (at least {result['bar']:g} is wanted), on {result['hardware']}.")
    say(f"Everything measured is in {out}.")
