"""`rushhour history`: a metric over kernels and time, and where it changed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from rushhour.cli import SETTINGS
from rushhour.cli.db import DB
from rushhour.cli.screen import echo, tell_json
from rushhour.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rushhour.history.series import Series

_DATE = re.compile(r"\d{4}(-\d\d(-\d\d([T ].*)?)?)?$")


@click.command(context_settings=SETTINGS, short_help="Show a metric over kernels, and where it changed.")
@click.argument("metric")
@click.argument("scenario", required=False)
@click.option("--where", "wheres", multiple=True, metavar="FACTOR=VALUE", help="Only cells of this factor.")
@click.option("--scope", metavar="SCOPE", help="Of this flow, end or group; default: the total.")
@click.option("--kernel", "kernels", multiple=True, metavar="K", help="Only this kernel; may be repeated.")
@click.option("--lab", metavar="LAB", help="Only what ran there.")
@click.option("--since", metavar="DATE", help="Only what was made since (2026-11-21, or its beginning).")
@click.option(
    "--by",
    type=click.Choice(["kernel", "time"]),
    default="kernel",
    show_default=True,
    help="A point for each.",
)
@DB
@click.option(
    "--limit", type=click.IntRange(1), default=50, show_default=True, help="At most so many series."
)
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), help="Write a page (.html) or a drawing (.svg)."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def history(
    metric: str,
    scenario: str | None,
    *,
    wheres: tuple[str, ...],
    scope: str | None,
    kernels: tuple[str, ...],
    lab: str | None,
    since: str | None,
    by: Literal["kernel", "time"],
    db: str | None,
    limit: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Show METRIC of a SCENARIO (or of a study, or of all) as the results database has it.

    Kernels are in the order of their versions, then of when they first ran. Virtual runs are exact:
    where values of equal seeds differ, something changed between these two kernels. In all labs,
    shifts of the mean are found as well.

    Example: rushhour history goodput_bps suite/slow-start --where cc=cubic
    """
    from rushhour.history import history as history_of
    from rushhour.store import Store

    _checked(since)
    with Store.open(db, create=False) as store:
        found = history_of(
            store, metric, scenario, _where(wheres), scope=scope, kernels=kernels, lab=lab, since=since,
            by=by, limit=limit + 1,
        )  # fmt: skip
        about = {"metric": metric, "where": store.where, "by": by}
    _tell(found[:limit], about if as_json else None, out)
    if len(found) > limit:
        echo(f"the first {limit} series; more with --limit, fewer with --where", err=True)


def _checked(since: str | None) -> None:
    """Refuse what is no date: as text it would sort somewhere among dates, and leave runs out."""
    if since is not None and not _DATE.match(since):
        hint = 'write for example "2026-11-21", or its beginning, "2026-11"'
        raise UsageError(f'--since: "{since}" is not a date', hint=hint)


def _tell(found: Sequence[Series], about: Mapping[str, str] | None, out: Path | None) -> None:
    """Write the page to `out`; print JSON that begins with `about`, or without both a table."""
    if out is not None:
        from rushhour.report.history import write

        write(found, out)
        echo(out, err=about is not None)
    if about is not None:
        tell_json({**about, "series": [one.document() for one in found]})
    elif out is None:
        from rushhour.cli.screen import printer
        from rushhour.report.history import show

        show(found, printer())


def _where(words: tuple[str, ...]) -> dict[str, list[str]]:
    from rushhour.errors import UsageError

    found: dict[str, list[str]] = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign or not name.strip():
            raise UsageError(f"{word!r} is not FACTOR=VALUE", hint="write for example --where cc=cubic")
        found.setdefault(name.strip(), []).append(value.strip())
    return found
