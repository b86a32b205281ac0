"""`rushhour restore`: put back what was left changed at machines."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rushhour.cli import SETTINGS
from rushhour.cli.profile import SSH_CONFIG, SUDO
from rushhour.cli.screen import echo, tell_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.lab.host.answers import Journal, Undone

# What became of a change, in words; the last two are no success.
_WORDS = {
    "restored": "put back",
    "already": "was as before already",
    "gone": "is there no more",
    "changed": "left alone",
    "failed": "NOT put back",
}
_BAD = ("changed", "failed")


@click.command(context_settings=SETTINGS)
@click.argument("places", metavar="PLACE...", nargs=-1, required=True)
@click.option("--kept", is_flag=True, help="Also what `rushhour tune --apply` keeps there.")
@click.option("--look", is_flag=True, help="Only show what is changed there.")
@click.option("--ssh-config", type=click.Path(path_type=Path), metavar="FILE", help=SSH_CONFIG)
@click.option("--sudo", is_flag=True, help=SUDO)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def restore(
    places: tuple[str, ...], *, kept: bool, look: bool, ssh_config: Path | None, sudo: bool, as_json: bool
) -> None:
    """Put back settings that were left changed at each PLACE.

    A host puts its settings back by itself when a session ends, however it ends. Only if the agent and its
    keeper were killed together there is something left: its journal in /run/rushhour, which the next session
    that changes settings follows as well. Values that somebody else has changed since are left alone.

    Exit code 0 if everything is put back, 1 if not, 2 if a place cannot be reached.

    Example: rushhour restore alice bob --kept
    """
    from rushhour.lab.host import settings
    from rushhour.lab.host.session import Session

    left: dict[str, list[Journal]] = {}
    undone: dict[str, list[Undone]] = {}
    for place in places:
        with Session.open(place, ssh_config=ssh_config, sudo=sudo) as session:
            if look:
                left[place] = settings.left(session)
            else:
                undone[place] = settings.revert(session, kept=kept)
    if as_json:
        tell_json(left or undone)
    for place in () if as_json else places:
        _tell_left(place, left[place]) if look else tell_undone(place, undone[place])
    if any(left.values()) or failed(undone):
        sys.exit(1)


def failed(told: Mapping[str, list[Undone]]) -> bool:
    """Whether something was not put back."""
    return any(entry.outcome in _BAD for entries in told.values() for entry in entries)


def tell_undone(place: str, undone: list[Undone]) -> None:
    """Say what became of each change."""
    from rushhour.lab.host import settings

    if not undone:
        echo(f"{place}: nothing to put back")
    for entry in undone:
        detail = f": {entry.detail}" if entry.outcome in _BAD and entry.detail else ""
        echo(f"{place}: {settings.about(entry.change)} {_WORDS[entry.outcome]}{detail}")


def _tell_left(place: str, journals: list[Journal]) -> None:
    from datetime import UTC, datetime

    from rushhour.lab.host import settings

    if not journals:
        echo(f"{place}: nothing stands changed")
    for journal in journals:
        state = "in use" if journal.in_use else "kept" if journal.kept else "left behind"
        since = datetime.fromtimestamp(journal.since, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
        echo(f"{place}: {journal.who}, since {since} ({state})")
        for entry in journal.changes:
            before, after = settings.text(entry.before), settings.text(entry.after)
            echo(f"  {settings.about(entry.change)}: {before} -> {after}")
