"""What came from a worker: checked, laid beside its place, then put into it, or dropped."""

from __future__ import annotations

import math
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rushhour.errors import LabError, RushHourError
from rushhour.files import remembered, rooms
from rushhour.fleet import faults, packing
from rushhour.fleet.members import Item, Landed, Member
from rushhour.summary import measured

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from rushhour.metrics.value import MetricValue


def laid(  # noqa: PLR0917 - what came, from whom, and where it goes
    item: Item,
    member: Member,
    names: Sequence[str],
    pieces: Sequence[bytes],
    asked: Mapping[str, Any],
    room_for: Callable[[Path], Path],
) -> Landed | dict[str, Any]:
    """A record that came, or what is wrong with it; its metrics are the last piece.

    `room_for` gives a folder beside a record's place.

    Raises:
        LabError: it cannot be written here.
    """
    try:
        *files, values = pieces
        digest, manifest = packing.checked(names, files, asked)
    except RushHourError as error:
        return faults.document(error)
    room = room_for(item.destination.parent)
    return Landed(
        item, member, digest, packing.put(names, files, room), values, measured.key_of_manifest(manifest)
    )


def take_place(landed: Landed) -> None:
    """Put a record into its place; one that is there is replaced.

    Raises:
        LabError: it cannot be put there; the cause is the `OSError`.
    """
    target = landed.item.destination
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        rooms.take_place(landed.folder, target)
        if landed.member.measures:
            remembered.keep(landed.known_as, landed.values)
    except OSError as error:
        raise LabError(
            f"the run cannot be written: {error.strerror}",
            where=str(target),
            hint="check that the folder is writable and that there is space left",
        ) from error


def drop(landed: Landed) -> None:
    """Forget a record that came."""
    shutil.rmtree(landed.folder, ignore_errors=True)


def agree(first: Landed, second: Landed) -> bool:
    """Whether two workers measured the same of the same tables, but for the last digits of a sum."""
    if not (first.member.measures and second.member.measures) or first.values == second.values:
        return True
    one, other = measured.read(first.values), measured.read(second.values)
    return one is not None and other is not None and len(one) == len(other) and all(map(_close, one, other))


def _close(one: MetricValue, other: MetricValue) -> bool:
    if one.value is None or other.value is None:
        return one == other
    same = one.value == other.value or math.isclose(one.value, other.value, rel_tol=1e-9)
    return same and replace(one, value=None) == replace(other, value=None)
