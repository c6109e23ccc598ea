"""The program: its commands, its version, its way of failing."""

from __future__ import annotations

import logging
import sys
import warnings
from typing import Annotated, Any

import typer

from fewhot.cli import bench, data, demo, encode, evaluate, fit, recommend, report, sample
from fewhot.cli.exits import DEBUG, in_flags
from fewhot.cli.program import Program
from fewhot.core.version import __version__

app = typer.Typer(
    name="fewhot",
    cls=Program,
    invoke_without_command=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command(epilog=demo.EXAMPLE)(demo.demo)
app.command(epilog=fit.EXAMPLE)(fit.fit)
app.command(epilog=encode.EXAMPLE)(encode.encode)
app.command(epilog=evaluate.EXAMPLE)(evaluate.evaluate)
app.command(epilog=recommend.EXAMPLE)(recommend.recommend)
app.command(epilog=sample.EXAMPLE)(sample.sample)
app.command(epilog=report.EXAMPLE)(report.report)
app.command(epilog=bench.EXAMPLE)(bench.bench)
app.command(epilog=data.EXAMPLE)(data.data)


@app.callback()
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.", is_eager=True)] = False,
    debug: Annotated[bool, typer.Option(DEBUG, help="Show the whole traceback of an error; at any place.")] = False,
) -> None:
    """Few-hot codes: sparse representations, learned and explained. Begin with [bold]fewhot demo[/bold]."""
    # Commands put columns in order by name before a model sees them, as plain arrays.
    warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
    warnings.filterwarnings("ignore", r"None of the \d+ units", UserWarning)  # an alarm beside the numbers tells it
    if version:
        typer.echo(f"fewhot {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run() -> None:
    """Run the program; warnings and log lines are one line each on stderr."""
    logging.basicConfig(level=logging.WARNING, format="fewhot: %(message)s")
    warnings.showwarning = _one_line_warning
    app(prog_name="fewhot")


def _one_line_warning(message: Any, *_: Any, **__: Any) -> None:
    sys.stderr.write(f"fewhot: warning: {in_flags(' '.join(str(message).split()))}\n")
