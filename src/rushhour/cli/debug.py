"""`rushhour debug`: a run again, under gdb."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rushhour.cli import SETTINGS
from rushhour.cli.screen import echo


@click.command(context_settings=SETTINGS, short_help="Make a run again under gdb; time stands still with it.")
@click.argument("run", type=click.Path(path_type=Path), metavar="RUN")
@click.option("--at", metavar="TIME", help="Stop at this instant of the experiment: 1.5s.")
@click.option(
    "--break", "functions", multiple=True, metavar="FUNCTION",
    help="Stop at each call of a function, or at FILE:LINE. May be repeated.",
)  # fmt: skip
@click.option(
    "--last", multiple=True, metavar="FUNCTION",
    help="With --at or --divergence: stop at a function's last call until then; of several: at the latest.",
)  # fmt: skip
@click.option(
    "--flow", metavar="F", help="With --break and --last: only calls for this flow (its name, or a port)."
)
@click.option(
    "--divergence", type=click.Path(path_type=Path), metavar="OTHER",
    help="Stop just before the first event that differs from this run's.",
)  # fmt: skip
@click.option(
    "--complaint", is_flag=True,
    help="Stop where the kernel complains. Of a set of runs the first that failed is made again.",
)  # fmt: skip
@click.option(
    "--command", "script", multiple=True, metavar="COMMAND", help="A command of gdb. May be repeated."
)
@click.option("--batch", is_flag=True, help="End after these commands, without asking for others.")
@click.option(
    "--listen", type=click.IntRange(1, 65535), metavar="PORT",
    help="Serve another debugger, an editor's for example, at this port of this machine.",
)  # fmt: skip
@click.option("--build", is_flag=True, help="Compile the kernel's symbols if they are not there.")
def debug(run: Path, **asked: Any) -> int:
    """Make RUN (the folder of a record, or of a set of which a run failed) again under gdb, with symbols.

    Whoever stops it stops virtual time: the run ends with the same bytes as before, and the command says
    whether it did. After the last command, or `quit`, the run goes on to its end.

    In gdb: rush time, rush flows, rush tcp FLOW, rush skbs FLOW, rush qdisc, rush timers, rush place
    (docs/debug.md).

    \b
    Exit code:
        0    the run ended with the bytes of the record, or failed as before
        1    with others, or otherwise
        2    it cannot be debugged

    Example: rushhour debug results/my/latest/runs/000-* --break tcp_enter_recovery --flow long
    """  # noqa: D301 - click wants the letter itself
    from rushhour.debug import Asked
    from rushhour.debug import debug as begin

    ended = begin(run, Asked(**asked), lambda text: echo(text, err=True))
    if ended.failed and not ended.alike:
        echo(f"the run failed otherwise: {ended.now}" if ended.now else "the run did not fail", err=True)
        return 1
    if ended.failed:
        echo("the run has failed as before", err=True)
        return 0
    if ended.differ:
        echo(f"the run's bytes are not those of the record: {', '.join(ended.differ)}", err=True)
        return 1
    echo("the run has ended, with the bytes of the record", err=True)
    return 0
