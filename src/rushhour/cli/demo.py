"""`rushhour demo`: one experiment, one sentence, one page."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rushhour.cli import SETTINGS
from rushhour.cli.interrupted import SAME, interruption
from rushhour.cli.screen import console, echo, tell_json
from rushhour.quantities.words import plural

if TYPE_CHECKING:
    from rich.text import Text

    from rushhour.running.batch import Batch
    from rushhour.running.runner import Outcome

SCENARIO = "fairness/three-buffers"
INVALID = 4
WIDTH = 36
"""Letters of a bar."""


@click.command(context_settings=SETTINGS, short_help="BBR against CUBIC over three buffers, in seconds.")
@click.option("--kernel", metavar="K", help="The kernel; default: the latest version.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the results; default: results/…",
)
@click.option("--open/--no-open", "browse", default=None, help="Open the page in a browser, or do not.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
@interruption(f"what finished is kept. {SAME}")
def demo(*, kernel: str | None, out: Path | None, browse: bool | None, as_json: bool) -> int:
    """Run BBR against CUBIC over three buffers, say who got what, and open the page about it.

    It runs the scenario fairness/three-buffers in some seconds; known runs are not run again. The page
    opens if there is a terminal and a browser; --open and --no-open decide it.

    Example: rushhour demo --no-open
    """
    from rushhour.running import runner

    (batch,) = runner.prepare([SCENARIO], kernels=[kernel] if kernel else [], out=out)
    if not as_json:
        _tell_begin(batch)
    failed = next((outcome.error for outcome in _carry_out(batch) if outcome.error is not None), None)
    if failed is not None:
        raise failed
    told = _told(batch)
    if as_json:
        tell_json(told)
    else:
        _tell(told)
    if browse if browse is not None else not as_json and _to_be_seen():
        click.launch(Path(told["report"]).resolve().as_uri())
    return 0 if told["valid"] else INVALID


def _carry_out(batch: Batch) -> list[Outcome]:
    from rushhour.cli.progress import display
    from rushhour.running.runner import carry_out, make_lab

    with (
        display(console(stderr=True)) as screen,
        closing(carry_out([batch], make_lab("uml"), watch=screen)) as going,
    ):
        return list(going)


def _told(batch: Batch) -> dict[str, Any]:
    """What came of it, with the page written."""
    from rushhour.cli.waiting import read_by
    from rushhour.report import html
    from rushhour.report.answer import answer
    from rushhour.report.gather import views
    from rushhour.report.shares import share, sharers

    results = batch.results()
    with read_by(console(stderr=True), [results]):
        runs = list(views(results, curves=False))
        page = html.write(results, batch.folder / "report.html")
    return {
        "scenario": batch.name,
        "question": batch.scenario.question,
        "answer": answer(results.about, runs),
        "shares": [
            {"cell": run.label, "shares": {one.name: share(run, one) for one in sharers(runs)}}
            for run in runs
        ],
        "kernel": runs[0].kernel,
        "valid": all(run.valid for run in runs),
        "folder": str(batch.folder),
        "report": str(page),
    }


def _tell_begin(batch: Batch) -> None:
    """Say what is about to run: nobody should have to guess what the seconds go to."""
    runs = f"{plural(len(batch), 'run')} of {batch.scenario.span.ns / 1e9:g} s"
    echo(f"{batch.scenario.title}, {runs} of virtual time on {batch.kernels[0].name}", err=True)


def _tell(told: dict[str, Any]) -> None:
    from rich.text import Text

    from rushhour.cli.pages import program
    from rushhour.cli.screen import printer

    console = printer()
    state = "" if told["valid"] else " (invalid: the links were not what was asked)"
    console.print()
    console.print(Text(told["question"], "italic"))
    console.print(Text(told["answer"] + state, "bold"))
    console.print()
    if not console.options.ascii_only:
        for cell in told["shares"]:
            console.print(_bar(cell["cell"], cell["shares"]), soft_wrap=True)
        console.print()
    console.print(Text(f"Measured on {told['kernel']}; the same command gives the same bytes.", "dim"))
    console.print()
    for word, rest in (
        ("Page   ", told["report"]),
        ("Again  ", f"{program()} run {told['scenario']}     with tables and every number"),
        ("Yours  ", f"{program()} new mine.toml, then {program()} run mine.toml"),
    ):
        console.print(Text.assemble((f"{word}  ", "bold"), rest), soft_wrap=True)


def _bar(cell: str, shares: dict[str, float | None]) -> Text:
    """The shares of one cell as a bar, a piece for each flow; empty where they are not known."""
    from rich.text import Text

    looks = (("█", "blue"), ("▒", "red"), ("░", "green"), ("▚", "yellow"))
    bar, words = [], []
    for (name, part), (letter, colour) in zip(shares.items(), looks, strict=False):
        bar.append((letter * round(WIDTH * (part or 0)), colour))
        words.append(("" if part is None else f"  {name} {100 * part:.0f} %", colour))
    return Text.assemble(f"  {cell:<14}", *bar, *words)


def _to_be_seen() -> bool:
    """Whether somebody sits at a terminal with a screen on which a browser could appear."""
    from rushhour.files.places import has_screen

    return sys.stdout.isatty() and has_screen()
