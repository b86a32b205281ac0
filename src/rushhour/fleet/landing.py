"""What came from a worker: checked, laid beside its place, then put into it, or dropped."""

from __future__ import annotations

import math
import os
import shutil
from collections import Counter
from concurrent.futures import InvalidStateError
from contextlib import nullcontext, suppress
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any

from rushhour.errors import RecordError, RushHourError
from rushhour.files import remembered, rooms
from rushhour.fleet import faults, packing
from rushhour.fleet.members import Landed
from rushhour.record import slim
from rushhour.record.seal import METRICS, unwritten
from rushhour.record.slim import WHOLE
from rushhour.summary import measured

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rushhour.fleet.members import Gave, Item, Member
    from rushhour.metrics.value import MetricValue
    from rushhour.record.manifest import Manifest
    from rushhour.record.slim import Wanted


# Rooms that are kept though nothing lies in them: the next run has the same parent most likely.
_SPARE = 8
# Bytes of a record; the checksums of larger ones are worth a processor of their own.
_SMALL = 1 << 20


class Runway:
    """Where records lie until they have their place: beside it, on its file system. Of several threads."""

    def __init__(self, wanted: Wanted = WHOLE) -> None:
        self.wanted = wanted
        self._rooms: dict[Path, tuple[Path, int]] = {}
        self._used: Counter[Path] = Counter()
        self._lock = Lock()
        self._turn = Lock()
        self._placed: list[Landed] = []

    def close(self) -> None:
        """Remove what still lies there."""
        self.settle()
        for parent in [*self._rooms]:
            self._remove(parent)

    def lay(
        self,
        item: Item,
        member: Member,
        names: Sequence[str],
        pieces: Sequence[bytes],
        asked: Mapping[str, Any],
    ) -> Landed | dict[str, Any]:
        """A record that came, or what is wrong with it; its metrics are the last piece.

        Raises:
            LabError: it cannot be written here.
        """
        # Of small records one at a time: threads that take turns at Python's lock cost more than they save.
        with self._turn if sum(map(len, pieces)) < _SMALL else nullcontext():
            try:
                *files, values = pieces
                digest, manifest = packing.checked(names, files, asked, tables=self.wanted.tables)
                names, files = self._with_values(names, files, manifest, values)
            except RushHourError as error:
                return faults.document(error)
            room = self._room(item.destination.parent)
            known_as = measured.key_of_manifest(manifest)
            return Landed(digest, values, item, member, packing.put(names, files, room), known_as)

    def _with_values(
        self, names: Sequence[str], files: list[bytes], manifest: Manifest, values: bytes
    ) -> tuple[Sequence[str], list[bytes]]:
        """The files of a record as it is kept: a slim one has its values beside it."""
        if self.wanted.tables:
            return names, files
        read = measured.read(values)
        if read is None:
            raise RecordError("the metrics that came make no sense")
        return [*names, METRICS], [*files, slim.content(manifest, self.wanted, measured.rows_of(read))]

    def take_place(self, landed: Landed) -> None:
        """Put a record into its place; one that is there is replaced. It is given out by `settle`.

        Raises:
            LabError: it cannot be put there; the cause is the `OSError`.
        """
        target = landed.item.destination
        try:
            rooms.take_place(landed.folder, target)
        except OSError as error:
            raise unwritten(error, target) from error
        self._placed.append(landed)
        self._leave(target.parent)

    def settle(self) -> None:
        """Give out what has got its place; its metrics are remembered then, so that nobody measures again."""
        placed, self._placed = self._placed, []
        if self.wanted.tables:
            remembered.keep_all([(one.known_as, one.values) for one in placed if one.member.measures])
        for landed in placed:
            with suppress(InvalidStateError):  # it was stopped meanwhile
                landed.item.place.set_result(landed.item.destination)

    def drop(self, landed: Landed) -> None:
        """Forget a record that came."""
        shutil.rmtree(landed.folder, ignore_errors=True)
        self._leave(landed.item.destination.parent)

    def _room(self, parent: Path) -> Path:
        with self._lock:
            if parent not in self._rooms:
                try:
                    parent.mkdir(parents=True, exist_ok=True)
                    self._rooms[parent] = rooms.make(parent)
                except OSError as error:
                    raise unwritten(error, parent) from error
            self._used[parent] += 1
            return self._rooms[parent][0]

    def _leave(self, parent: Path) -> None:
        with self._lock:
            self._used[parent] -= 1
            unused = [one for one in self._rooms if not self._used[one]]
            for one in unused[:-_SPARE]:
                self._remove(one)

    def _remove(self, parent: Path) -> None:
        room, lock = self._rooms.pop(parent)
        del self._used[parent]
        rooms.remove(room)
        os.close(lock)


def same(first: Gave, second: Gave, wanted: Wanted) -> bool:
    """Whether two machines gave the same; where only metrics come, these, too: nobody measures them again."""
    return first.digest == second.digest and (wanted.tables or agree(first.values, second.values))


def agree(first: bytes, second: bytes) -> bool:
    """Whether two machines measured the same of the same tables, but for the last digits of a sum."""
    if first == second:
        return True
    one, other = measured.read(first), measured.read(second)
    return one is not None and other is not None and len(one) == len(other) and all(map(_close, one, other))


def _close(one: MetricValue, other: MetricValue) -> bool:
    if one.value is None or other.value is None:
        return one == other
    same = one.value == other.value or math.isclose(one.value, other.value, rel_tol=1e-9)
    return same and replace(one, value=None) == replace(other, value=None)
