"""Ends a fleet: on every machine that could have something of it, whatever became of who started it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import HostError, LabError
from rushhour.fleet import state
from rushhour.fleet.login import Login
from rushhour.lab.host.place import Place
from rushhour.lab.host.transport import give_up

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rushhour.fleet.state import Fleet, Member

MOST_AT_ONCE = 32


def down(
    name: str, *, purge: bool = False, forget: bool = False, tell: Callable[[str], None] = lambda _text: None
) -> int:
    """End a fleet and forget it; how many processes were ended.

    Args:
        name: Which.
        purge: Remove from its hosts also what is kept for the next time.
        forget: Forget it even if a host cannot be reached.
        tell: Is told what was done where.

    Raises:
        UsageError: there is no such fleet, or another command is at it.
        LabError: a host could not be reached; the others were ended, and it can be tried again.
    """
    with state.held(name):
        fleet = state.known(name)
        ended, lost = end(fleet, fleet.members.values(), purge=purge, tell=tell)
        if not lost or forget:
            state.forget(name)
            return ended
        for member in fleet.members.values():
            if member.name not in lost:
                fleet = fleet.without(member.name)
        state.keep(fleet)
        places = ", ".join(fleet.members[one].at for one in lost)
        raise LabError(
            "\n".join(str(error) for error in lost.values()),
            hint=f"give the command again when {places} can be reached, or with --forget: "
            "workers end by themselves when they lose their scheduler",
        )


def end(
    fleet: Fleet, members: Iterable[Member], *, purge: bool = False, tell: Callable[[str], None]
) -> tuple[int, dict[str, HostError]]:
    """End these members, all at once: how many processes were ended, and who could not be reached."""
    lost: dict[str, HostError] = {}
    ended = 0
    possible = [one for one in members if one.state != "aside" or purge]
    with ThreadPoolExecutor(MOST_AT_ONCE) as pool:
        asked = {one: pool.submit(_stop, fleet, one, purge=purge) for one in possible}
        try:
            for member, answer in asked.items():
                try:
                    count, left = answer.result()
                except HostError as error:
                    if member.state != "aside":
                        lost[member.name] = error
                    continue
                ended += count
                if left:
                    message = f"processes that do not end: {' '.join(left)}"
                    lost[member.name] = HostError(message, where=member.at, hint="end them by hand")
                tell(f"{member.name}: {count} process{'es' * (count != 1)} ended")
        except BaseException:
            give_up([*asked.values()])
            raise
    return ended, lost


def login(fleet: Fleet, member: Member) -> Login:
    """How to give orders to a member."""
    config = Path(fleet.ssh_config) if fleet.ssh_config else None
    return Login(Place.parse(member.at), config, member.python or None)


def _stop(fleet: Fleet, member: Member, *, purge: bool) -> tuple[int, list[str]]:
    about = {"fleet": fleet.id, "name": member.name, "purge": purge}
    try:
        answer = login(fleet, member).order("stop", about)
    except HostError as error:
        if error.kind != "python" or not member.python:
            raise
        # What it was started with may be gone, and any other will do.
        answer = login(fleet, replace(member, python="")).order("stop", about)
    return answer["ended"], answer["left"]
