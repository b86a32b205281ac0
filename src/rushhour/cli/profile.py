"""`rushhour profile`: how machines are prepared for experiments."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rushhour.cli import SETTINGS
from rushhour.cli.screen import echo, print_table, printer, tell_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushhour.lab.host.settings import Row
    from rushhour.lab.profile import Change, Found

SSH_CONFIG = "Instead of ~/.ssh/config."
SUDO = "Start the agent there by sudo, which must not ask for a password."
_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")


@click.group(context_settings=SETTINGS)
def profile() -> None:
    """Show how machines are prepared for experiments.

    A profile is a list of settings, each with its reason and its source. An inventory names one for each
    host (`profile = "measurement"`); it is applied for the time of the runs and put back by the host itself,
    whatever happens to the connection. `rushhour tune` makes settings for one path.

    Example: rushhour profile check alice measurement
    """


@profile.command("list")
@_JSON
def list_profiles(*, as_json: bool) -> None:
    """List the profiles that ship.

    Example: rushhour profile list
    """
    from rushhour.lab.profile import shipped

    found = shipped()
    if as_json:
        rows = [{"name": one.name, "title": one.profile.title, "sha256": one.sha256,
                 "changes": len(one.profile.change)} for one in found]  # fmt: skip
        tell_json(rows)
        return
    width = max(len(one.name) for one in found)
    for one in found:
        _say((one.name.ljust(width), "bold"), f"  {one.profile.title}")


@profile.command()
@click.argument("name")
@_JSON
def show(name: str, *, as_json: bool) -> None:
    """Show a profile: NAME, or a file.

    Example: rushhour profile show giannoulatos-3.3
    """
    from rushhour.lab.profile import find_profile

    found = find_profile(name)
    if as_json:
        tell_json(_document(found))
        return
    _say((found.profile.title, "bold"))
    for text in (found.profile.about.strip(), found.profile.source and f"Source: {found.profile.source}"):
        if text:
            echo(f"\n{text}")
    echo()
    for change in found.profile.change:
        _show_change(change)


@profile.command(short_help="Show what a profile would change at PLACE.")
@click.argument("place")
@click.argument("name")
@click.option("--device", metavar="DEV", help="The device for changes that name none.")
@click.option("--optional", is_flag=True, help="With the optional changes.")
@click.option("--ssh-config", type=click.Path(path_type=Path), metavar="FILE", help=SSH_CONFIG)
@click.option("--sudo", is_flag=True, help=SUDO)
@_JSON
def check(
    place: str, name: str, *, device: str | None, optional: bool, ssh_config: Path | None, sudo: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Show what the profile NAME would change at PLACE; nothing is changed.

    PLACE is `local`, `netns:NAME`, or a name for ssh. Exit code 0 if all of it can be made, 1 if not, 2 if
    the place cannot be reached.

    Example: rushhour profile check alice giannoulatos-3.3 --device eth1
    """
    from rushhour.lab.host import settings
    from rushhour.lab.host.session import Session
    from rushhour.lab.profile import find_profile

    found = find_profile(name)
    changes = found.profile.changes(device, optional=optional)
    with Session.open(place, ssh_config=ssh_config, sudo=sudo) as session:
        rows = settings.check(session, changes)
    if as_json:
        tell_json({"place": place, "profile": found.name, "rows": [_row(one) for one in rows]})
    else:
        table(rows)
    if any(row.error is not None and not row.skipped for row in rows):
        sys.exit(1)


def table(rows: Sequence[Row]) -> None:
    """Print the changes: before, after, and why one is left out."""
    from rich.text import Text

    headings = ("setting", "now", "becomes", "")
    shown = []
    for row in rows:
        note = Text("as it should be", "dim") if row.same else Text("")
        if row.error is not None:
            note = Text(f"left out: {row.error}", "dim") if row.skipped else Text(row.error, "red")
        after = Text(row.after, "" if row.skipped else "bold")
        shown.append((row.key, row.before, after, note))
    print_table(printer(highlight=False), headings, shown, wordy=headings[1:])


def _show_change(change: Change) -> None:
    from rushhour.lab.host import settings

    told = change.words_for_agent(change.dev)
    told = {key: value for key, value in told.items() if key != "dev" or value is not None}
    mark = "  (optional)" if change.optional else "  (where there is one)" if change.if_there else ""
    _say(f"{settings.about(told)} = ", (settings.wanted(told), "bold"), mark)
    source = f" [{change.source}]" if change.source else ""
    echo(f"    {change.reason}{source}")


def _say(*parts: str | tuple[str, str]) -> None:
    """Print one line of texts and of texts with a style; a profile may be a stranger's file."""
    from rich.text import Text

    printer(highlight=False).print(Text.assemble(*parts), soft_wrap=True)


def _document(found: Found) -> dict[str, object]:
    about = found.profile.model_dump(by_alias=True, exclude_unset=True)
    return {"name": found.name, "sha256": found.sha256, **about}


def _row(row: Row) -> dict[str, object]:
    return {"key": row.key, "change": dict(row.change), "now": row.before, "becomes": row.after,
            "same": row.same, "skipped": row.skipped, "error": row.error, "hint": row.hint}  # fmt: skip
