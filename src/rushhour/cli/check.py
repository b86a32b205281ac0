"""`rushhour check`: what does a change of the kernel do to those who use it?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rushhour.cli import INTERRUPTED, SETTINGS
from rushhour.cli.drill import drilling
from rushhour.cli.interrupted import SAME, interruption, sentence
from rushhour.cli.on import elsewhere, executing
from rushhour.cli.screen import console, echo, printer, say, tell_json
from rushhour.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rushhour.lab.base import Lab
    from rushhour.running.batch import Outcome
    from rushhour.running.executor import Executor

_KNOWN = f"what has run is known. {SAME}"


@click.command(
    context_settings=SETTINGS, short_help="Judge a kernel tree's changes, by the cells that run them."
)
@click.argument("tree", default=".", metavar="[TREE]")
@click.option("--base", metavar="REV", help="Judge each commit after this one; what is not committed, too.")
@click.option("--at-once", is_flag=True, help="With --base: all of it as one change, not commit by commit.")
@click.option("--committed", is_flag=True, help="Leave out what is not committed yet.")
@click.option(
    "--scenario", "scenarios", multiple=True, metavar="SCENARIO",
    help="What kernels run; default: the standard suite. May be repeated.",
)  # fmt: skip
@click.option("--whole", is_flag=True, help="Every cell, not a quick look at the scenarios.")
@click.option("--all", "everything", is_flag=True, help="Leave no cell out, nor end at the first worse.")
@click.option(
    "--with", "sanitizers", multiple=True, metavar="SANITIZER",
    help="Also run the changed kernel with kasan, ubsan, lockdep, debug-net or kmemleak. May be repeated.",
)  # fmt: skip
@click.option(
    "--coverage", type=click.Path(path_type=Path), metavar="INDEX",
    help="What cells execute, made by `rushhour coverage`; default: as known of the standard suite.",
)  # fmt: skip
@click.option(
    "--packetdrill", "scripts", multiple=True, type=click.Path(path_type=Path), metavar="PATH",
    help="Run packetdrill's scripts on both kernels, too: a .pkt file, or a folder. May be repeated.",
)  # fmt: skip
@drilling
@click.option("--watch", is_flag=True, help="Judge again whenever a file of the tree is saved.")
@click.option("--mail", is_flag=True, help="Print lines for a reply on a mailing list, with Tested-by.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the results; default: results/check/…",
)
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Runs at once; default: one per CPU.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
@elsewhere
@interruption(_KNOWN)
def check(
    tree: str,
    *,
    base: str | None,
    watch: bool,
    mail: bool,
    as_json: bool,
    on: str | None,
    audit: float,
    everything: bool,
    **options: Any,
) -> int:
    """Judge what the kernel TREE (a clone; by default the folder you are in) changes.

    Without --base it is what is not committed yet, against HEAD; if nothing is, the last commit. With --base
    every commit after it is judged against the one before. The clone is only read.

    Both kernels are built and run the suite, first the cells that execute what differs. The check ends at the
    first cell that is worse, and says so if no cell executes the change at all (docs/check.md). With
    --packetdrill the scripts run after the cells, and count as they do.

    \b
    Exit code:
        0    the same, or better
        1    worse, or it does not build
        2    it cannot be checked
        3    inconclusive, or nothing executes the change
        4    invalid: runs failed
        130  interrupted

    Example: rushhour check ~/linux --base origin/main
    """  # noqa: D301 - click wants the letter itself
    from rushhour.check import Options
    from rushhour.verdict.comparing import make_lab

    if (options["binary"] or options["source"]) and not options["scripts"]:
        raise UsageError("--binary and --source are for packetdrill's scripts", hint="add --packetdrill PATH")
    if options["at_once"] and base is None:
        raise UsageError("--at-once says nothing without --base", hint="name the revision: --base REV")
    if watch and (as_json or mail):
        raise UsageError("--watch goes on for ever, --json and --mail are one document", hint="leave one out")
    made = Options(all=everything, **options)
    lab = make_lab()
    with executing(on, audit, lab, console(stderr=True), jobs=made.jobs) as executor:
        if watch:
            return _watched(tree, base, made, lab, executor)
        document = _once(tree, base, made, lab, executor)
    if as_json:
        tell_json(document)
    elif mail:
        from rushhour.check.telling import mail as reply

        echo(reply(document, _who(tree)), nl=False)
    else:
        _tell(document)
    return int(document["exit"])


def _once(tree: str, base: str | None, options: Any, lab: Lab, executor: Executor | None) -> dict[str, Any]:
    from rushhour.check import check as judge
    from rushhour.cli.lasting import Screen

    with Screen(_KNOWN) as screen:
        return judge(
            tree, base, options=options, lab=lab, executor=executor, watch=_Told(screen.tell),
            tell=screen.tell, note=screen.note,
        )  # fmt: skip


def _watched(tree: str, base: str | None, options: Any, lab: Lab, executor: Executor | None) -> int:
    """Judge at each save, until Control-C."""
    from rushhour.check.steps import states
    from rushhour.errors import RushHourError

    words = console(stderr=True)

    def refused(error: RushHourError) -> None:
        say(words, str(error))
        words.print("waiting for the next save; Control-C ends", style="dim")

    try:
        for _ in states(tree, refused=refused):
            try:
                _tell(_once(tree, base, options, lab, executor))
            except RushHourError as error:
                refused(error)
            else:
                words.print("waiting for the next save; Control-C ends", style="dim")
    except KeyboardInterrupt as error:
        echo(f"\n{sentence(error)}", err=True)
    return INTERRUPTED


@dataclass
class _Told:
    """How runs go on, in the line that changes."""

    tell: Callable[[str], None]
    total: int = 0
    done: int = 0

    def more(self, count: int) -> None:
        self.total += count

    def show(self, outcome: Outcome) -> None:
        self.done += 1
        self.tell(f"run {self.done} of {self.total}: {outcome.batch.name} {outcome.run.cell.label}")


def _tell(document: dict[str, Any]) -> None:
    from rushhour.check import calls
    from rushhour.check.complaints import told
    from rushhour.check.whole import deciding
    from rushhour.verdict.vocabulary import SHOWN

    echo()
    like = {"broken": "worse", "unexercised": "inconclusive"}.get(document["verdict"], document["verdict"])
    say(printer(), document["sentence"], SHOWN[like].colour)
    for line in told(document):
        echo(line)
    for one in document["commits"]:
        watched = one.get("sanitizers", {})
        if report := (watched if watched.get("decides") else one).get("report"):
            echo(report)
    for line in calls.told(deciding(document["commits"])):
        echo(line)


def _who(tree: str) -> str:
    from rushhour.lab.kernel import git

    name, mail = (
        git.ask(Path(tree), "config", f"user.{key}", default="").strip() for key in ("name", "email")
    )
    return f"{name or 'NAME'} <{mail or 'ADDRESS'}>"
