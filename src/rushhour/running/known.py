"""Runs in virtual time: what is known by its key, here or in the cache, is not run again."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from rushhour.errors import UsageError
from rushhour.lab.manifest import relabel
from rushhour.record import kept

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rushhour.lab.base import Job, Lab
    from rushhour.running.batch import Batch, Run


class Known:
    """Looks a run up, then carries it out. See `rushhour.running.conductor.Way`."""

    def __init__(
        self,
        lab: Lab,
        execute: Callable[[Job, Path], Path],
        *,
        fresh: bool,
        keep: bool,
        measured: Callable[[], bool],
    ) -> None:
        self._lab, self._execute, self._fresh, self._keep = lab, execute, fresh, keep
        self._measured = measured

    def take(self, batch: Batch, one: Run, place: Path | None) -> tuple[Path, bool]:
        """The record of a run: the one in the folder, the cache's, or a new one that the cache then has."""
        job = batch.job(one)
        key = self._lab.key(job)
        place = place or batch.place(one, key)
        _same_program(batch, one, place)
        if not self._fresh and kept.is_whole(place, key):
            return place, True
        known = None if self._fresh else kept.find(key)
        if known is not None:
            return relabel(known, place, job), True
        folder = self._execute(job, place)
        if self._keep:
            kept.keep(key, folder)
            if not self._measured():
                _measure(folder)
        return folder, False


def _measure(folder: Path) -> None:
    """Measure a new run while others go on, so that its metrics are known when the index is written.

    Nobody knows them yet: to look for them would read every file of the record once more.
    """
    from rushhour.record.record import Record  # noqa: PLC0415 - numpy
    from rushhour.summary.measured import metrics_of  # noqa: PLC0415 - numpy

    with suppress(Exception):  # what is wrong with a record is told where its metrics are asked for
        metrics_of(Record.open(folder), fresh=True)


def _same_program(batch: Batch, one: Run, place: Path) -> None:
    """Refuse to put a run beside the same run of another agent: a set would have it twice."""
    other = batch.finished(one, place.name)
    if other is not None:
        raise UsageError(
            "another version of this program made this run in the folder",
            where=str(other),
            hint="name a new folder with --out: results are never mixed, and never overwritten",
        )
