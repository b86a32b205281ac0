"""`rushhour cache`: what is kept on this machine so that it need not be made again."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from rushhour.cli import SETTINGS
from rushhour.cli.screen import echo, tell_json

if TYPE_CHECKING:
    from rushhour.lab.cached import Kind

# What `clean` removes; `rushhour.lab.cached` says how.
KINDS = ("runs", "programs", "metrics", "fetched")


@click.group(context_settings=SETTINGS, invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
@click.pass_context
def cache(context: click.Context, *, as_json: bool) -> None:
    """Show what is kept on this machine, and how large it may grow.

    Runs are kept by what determines them, so that none is made twice: 10 GB of them, or as much as
    RUSHHOUR_CACHE_SIZE says (such as 50GB), and never more than half of the disk's room. Those that were used
    longest ago go first. A file that a folder of results has, too, takes its room only once.

    Example: rushhour cache
    """
    if context.invoked_subcommand is None:
        _show(as_json=as_json)


@cache.command()
@click.argument("kinds", nargs=-1, required=True, type=click.Choice(KINDS), metavar="KIND...")
@click.option(
    "--unused",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="DAYS",
    help="Only what was not used for so many days.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def clean(kinds: tuple[str, ...], unused: float, *, as_json: bool) -> None:
    """Remove what is kept of each KIND: runs, programs, metrics, fetched.

    Folders of results stay as they are, and so does what a command uses at this moment. What is asked for
    again is made again.

    Example: rushhour cache clean runs --unused 7
    """
    from rushhour.lab import cached
    from rushhour.quantities import short

    freed = {}
    for kind in cached.kinds():
        if kind.name in kinds:
            had = kind.size()
            kind.clean(unused)
            freed[kind.name] = max(had - kind.size(), 0)
    if as_json:
        tell_json(freed)
        return
    for name, size in freed.items():
        echo(f"{name}: {short.size(size)} removed" if size else f"{name}: there was nothing to remove")


def _show(*, as_json: bool) -> None:
    from rushhour.lab import cached

    kinds = [(kind, kind.size()) for kind in cached.kinds()]
    about = os.statvfs(cached.root())
    free = about.f_bavail * about.f_frsize
    if as_json:
        rows = [
            {"kind": one.name, "bytes": size, "holds": one.what, "limit": one.limit} for one, size in kinds
        ]
        tell_json({"folder": str(cached.root()), "free": free, "kinds": rows})
    else:
        _print(kinds, free)


def _print(kinds: list[tuple[Kind, int]], free: int) -> None:
    from rushhour.cli.screen import print_table, printer
    from rushhour.lab import cached
    from rushhour.quantities import short

    screen = printer()
    total = short.size(sum(size for _, size in kinds))
    screen.print(f"{cached.root()}: {total}; {short.size(free)} free on its disk", soft_wrap=True)
    headings = ("KIND", "SIZE", "HOLDS", "LIMIT OR COMMAND")
    rows = [(kind.name, short.size(size), kind.what, kind.limit) for kind, size in kinds if size]
    print_table(screen, headings, rows, wordy=headings[2:], right=("SIZE",))
