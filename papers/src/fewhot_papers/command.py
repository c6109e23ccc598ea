"""``fewhot reproduce``: published tables and figures, ours beside theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from fewhot.cli.console import note, say, say_json, say_table
from fewhot.cli.exits import FAILED, INTERRUPTED
from fewhot.cli.options import DataDir, Json

EXAMPLE = """\
Examples:

[bold]fewhot reproduce list[/bold]

[bold]fewhot reproduce iclr2019-fig2 --quick[/bold]
"""

app = typer.Typer(name="reproduce", rich_markup_mode="rich", add_completion=False)


@app.command(epilog=EXAMPLE)
def reproduce(
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID...", help="Entries or papers to run; none, or 'list', lists them.", show_default=False
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few rows, few steps, one seed: shows that all runs, decides nothing.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Where results go.")] = Path("results"),
    cache: Annotated[Path, typer.Option(help="Where computed cells are kept.")] = Path("runs/reproduction"),
    shard: Annotated[
        str | None, typer.Option(help="Compute only part I of N, such as 0/4.", metavar="I/N", show_default=False)
    ] = None,
    limit_seconds: Annotated[
        float | None, typer.Option(help="Start nothing that would end later.", show_default=False)
    ] = None,
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """Run a published table or figure again and judge it by a rule written beforehand."""
    from fewhot_papers.reproduction import list_table, run
    from fewhot_papers.reproduction.catalogue import entries
    from fewhot_papers.reproduction.verdicts import UNDECIDED

    if not ids or ids == ["list"]:
        _list(list_table(out), out, as_json=json)
        return
    try:
        summary = run(
            ids, quick=quick, out=out, cache=cache, data_dir=data_dir, shard=shard, limit_seconds=limit_seconds
        )
    except KeyboardInterrupt:
        note("Interrupted. What was computed is kept; the same command goes on from there.")
        raise typer.Exit(INTERRUPTED) from None
    counts = {"computed": summary.computed, "kept": summary.kept, "failed": len(summary.failed), "left": summary.left}
    if json:
        say_json({"verdicts": summary.verdicts, **counts, "errors": [list(item) for item in summary.failed]})
    else:
        known = entries()
        for name, verdict in summary.verdicts.items():
            said = f"{verdict} (a quick run decides nothing)" if quick and verdict == UNDECIDED else verdict
            say(f"{name}: {said}. See {out / name / 'quick' if quick else out / name}.")
            missing = known[name].missing
            if missing is not None:
                say(missing)
        say(", ".join(f"{count} cells {what}" for what, count in counts.items()) + ".")
        if summary.waiting:
            say(f"{', '.join(summary.waiting)}: run it again when all shards have ended; it will need more cells.")
    if not summary.complete:
        raise typer.Exit(FAILED)


def _list(lines: Sequence[Mapping[str, object]], out: Path, *, as_json: bool) -> None:
    if as_json:
        say_json([dict(line) for line in lines])
        return
    say_table(
        ["entry", "verdict", "what it is"],
        [[str(line["id"]), str(line["verdict"] or _unjudged(line)), str(line["title"])] for line in lines],
    )
    say(f"Verdicts are those of the results in {out}.")
    say("Run one: fewhot reproduce ID (add --quick to see it work within minutes).")


def _unjudged(line: Mapping[str, object]) -> str:
    return "only run with --quick" if line["why"] else "not run"
