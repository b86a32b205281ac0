"""`rushhour bisect`: which commit changed what a scenario measures?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rushhour.cli import SETTINGS
from rushhour.cli.on import elsewhere, executing, keeping
from rushhour.cli.screen import console, printer, say, tell_json


@click.command(context_settings=SETTINGS, short_help="Find the commit that changed what a scenario measures.")
@click.argument("scenario")
@click.argument("metric", default="-")
@click.option("--tree", required=True, metavar="LINUX", help="Git repository of the kernel.")
@click.option("--good", required=True, metavar="A", help="A revision before the change.")
@click.option("--bad", required=True, metavar="B", help="A revision after it.")
@click.option("--flow", metavar="F", help="The metric of this flow.")
@click.option("--minimum", metavar="5%", help="Least change that matters; an amount, too: 1ms.")
@click.option("--improved", is_flag=True, help="Find what made it better, not worse.")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Override a key of the scenario.")
@click.option("--quick", is_flag=True, help="A quick look at the scenario.")
@click.option("--seeds", type=click.IntRange(1, 100), default=5, show_default=True, help="Runs of a commit.")
@click.option(
    "--max-seeds", type=click.IntRange(1, 100), default=40, show_default=True,
    help="Runs of a commit that is hard to decide.",
)  # fmt: skip
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Runs at once; default: one per CPU.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the results; default: results/bisect/…",
)
@click.option("--resume", is_flag=True, help="Go on with a bisection that was interrupted.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
@elsewhere
@keeping
def bisect(
    scenario: str,
    metric: str,
    *,
    tree: str,
    good: str,
    bad: str,
    as_json: bool,
    on: str | None,
    audit: float,
    keep: str | None,
    store: str | None,
    **options: Any,
) -> int:
    """Find the commit between A and B after which METRIC of SCENARIO is as in B and no longer as in A.

    METRIC is a metric's name, or - for whatever the scenario is judged by. Each step builds a commit, runs
    one cell of the scenario, and decides; the repository's files, index and branches are left alone.

    With --keep metrics the tables of a run are not kept once it is measured, but for the two runs in which
    the commit's first divergence shows. With --store whoever makes a run puts its record there.

    \b
    Exit code:
        0    the commit was found
        2    A and B do not differ, or an argument is invalid
        3    several commits are left that cannot be built, run or decided
        130  interrupted; --resume goes on

    Example: rushhour bisect --tree ~/linux --good v6.11 --bad v6.12 suite/slow-start goodput_bps
    """  # noqa: D301 - click wants the letter itself
    from rushhour import bisect as bisecting
    from rushhour.cli.interrupted import SAME
    from rushhour.cli.lasting import Screen
    from rushhour.running import runner

    options["sets"] = tuple(options["sets"])
    wanted = runner.keeping("uml", keep, store)
    lab = runner.make_lab("uml")
    with (
        executing(on, audit, lab, console(stderr=True), jobs=options["jobs"], wanted=wanted) as executor,
        Screen(f"what is known is kept. {SAME} with --resume") as screen,
    ):
        document = bisecting.bisect(
            tree,
            good,
            bad,
            scenario,
            metric,
            options=bisecting.Options(**options, wanted=wanted),
            lab=lab,
            executor=executor,
            tell=screen.tell,
            note=screen.note,
        )
    if as_json:
        tell_json(document)
    else:
        from rushhour.bisect.telling import told

        say(printer(), told(document))
    return int(document["exit"])
