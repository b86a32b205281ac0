"""Runs in virtual time: what is known by its key, here or in the cache, is not run again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.errors import LabError, RecordError, UsageError
from rushhour.files import storage
from rushhour.lab.manifest import may_serve, relabel
from rushhour.record import kept
from rushhour.record.slim import WHOLE, Wanted

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rushhour.lab.base import Job, Lab
    from rushhour.running.batch import Batch, Run
    from rushhour.running.conductor import Taking


class Known:
    """Looks a run up, then carries it out. See `rushhour.running.conductor.Way`."""

    def __init__(
        self,
        lab: Lab,
        *,
        fresh: bool,
        keep: bool,
        measured: Callable[[], bool],
        wanted: Wanted = WHOLE,
    ) -> None:
        self._lab, self._fresh, self._keep = lab, fresh, keep
        self._measured, self._wanted = measured, wanted
        self._keeper = kept.Keeper()

    def close(self) -> None:
        """Leave nothing behind."""
        self._keeper.close()

    def take(self, batch: Batch, one: Run, place: Path | None) -> Taking:
        """The record of a run: the one in the folder, the cache's, or a new one that the cache then has."""
        job = batch.job(one)
        key = self._lab.key(job)
        place = place or batch.place(one, key)
        _same_program(batch, one, place)
        if not self._fresh and kept.is_whole(place, key, self._wanted):
            return place, True
        known = None if self._fresh else kept.find(key, self._wanted)
        if (
            known is not None
            and (self._wanted.tables or may_serve(known, job))
            and _is_given(known, place, job)
        ):
            return place, True
        folder = yield job, place
        if not self._wanted.tables:
            _make_slim(folder, self._wanted)
        if self._keep:
            self._keeper.keep(key, folder)
            if self._wanted.tables and not self._measured():
                from rushhour.summary.measured import measure_new  # noqa: PLC0415 - numpy

                measure_new(folder)  # while others go on: it is known when the index is written
        return folder, False


def _is_given(known: Path, place: Path, job: Job) -> bool:
    """Put a known run in its place; not if another process removes it at this moment, for room."""
    try:
        relabel(known, place, job)
    except (LabError, RecordError):
        if known.is_dir():
            raise
        return False
    return True


def _make_slim(folder: Path, wanted: Wanted) -> None:
    """Keep of a new run what it measured; a fleet's worker has done so already."""
    from rushhour.record import afar  # noqa: PLC0415 - seldom needed
    from rushhour.record.record import Record  # noqa: PLC0415 - numpy
    from rushhour.record.slim import archive_of, content  # noqa: PLC0415 - as above
    from rushhour.summary.measured import rows_of  # noqa: PLC0415 - as above

    record = Record.open(folder)
    if record.is_whole:
        if wanted.storage is not None:
            storage.put(wanted.storage, archive_of(record.manifest), afar.archived(folder))
        kept.make_slim(folder, content(record.manifest, wanted, rows_of(record.metrics())))


def _same_program(batch: Batch, one: Run, place: Path) -> None:
    """Refuse to put a run beside the same run of another agent: a set would have it twice."""
    other = batch.finished(one, place.name)
    if other is not None:
        raise UsageError(
            "another version of this program made this run in the folder",
            where=str(other),
            hint="name a new folder with --out: results are never mixed, and never overwritten",
        )
