"""What came from a worker: checked, laid beside its place, then put into it, or dropped."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from rushhour.errors import LabError, RushHourError
from rushhour.files import rooms
from rushhour.fleet import faults, packing
from rushhour.fleet.members import Item, Landed, Member

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path


def laid(  # noqa: PLR0917 - what came, from whom, and where it goes
    item: Item,
    member: Member,
    names: Sequence[str],
    pieces: Sequence[bytes],
    asked: Mapping[str, Any],
    room_for: Callable[[Path], Path],
) -> Landed | dict[str, Any]:
    """A record that came, or what is wrong with it; `room_for` gives a folder beside a record's place.

    Raises:
        LabError: it cannot be written here.
    """
    try:
        digest = packing.checked(names, pieces, asked)
    except RushHourError as error:
        return faults.document(error)
    room = room_for(item.destination.parent)
    return Landed(item, member, digest, packing.put(names, pieces, room))


def take_place(landed: Landed) -> None:
    """Put a record into its place; one that is there is replaced.

    Raises:
        LabError: it cannot be put there; the cause is the `OSError`.
    """
    target = landed.item.destination
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        rooms.take_place(landed.folder, target)
    except OSError as error:
        raise LabError(
            f"the run cannot be written: {error.strerror}",
            where=str(target),
            hint="check that the folder is writable and that there is space left",
        ) from error


def drop(landed: Landed) -> None:
    """Forget a record that came."""
    shutil.rmtree(landed.folder, ignore_errors=True)
