"""Runs in real time: cells that this kernel cannot run are skipped, the others run one by one in blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.errors import RushHourError, UsageError
from rushhour.files import rooms
from rushhour.running.batch import Batch, Outcome, Run, meant_for

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.lab.base import RealTimeLab
    from rushhour.running.conductor import Taking


def refused(batch: Batch, lab: RealTimeLab) -> list[Outcome]:
    """The runs of a batch that its lab cannot carry out, with the reasons; nothing has run then."""
    known: dict[int, RushHourError | None] = {}
    found = []
    for one in batch.runs():
        if one.cell.index not in known:
            known[one.cell.index] = _refusal(batch, one, lab)
        error = known[one.cell.index]
        if error is not None:
            found.append(Outcome(batch, one, None, error, cached=False))
    return found


def _refusal(batch: Batch, one: Run, lab: RealTimeLab) -> RushHourError | None:
    try:
        meant_for(one, lab)
        return lab.refusal(batch.job(one))
    except UsageError:
        raise
    except RushHourError as error:
        return error


class Turns:
    """One run at a time; remembers which blocks have begun. See `rushhour.running.conductor.Way`."""

    def __init__(self, lab: RealTimeLab, *, fresh: bool) -> None:
        self._lab, self._fresh = lab, fresh
        self._begun: set[tuple[int, int]] = set()

    def close(self) -> None:
        """Nothing of it is left."""

    def take(self, batch: Batch, one: Run, place: Path | None) -> Taking:
        """Carry out a run; one whose record is in its folder already is left as it is."""
        from rushhour.record.record import Record  # noqa: PLC0415 - numpy

        done = batch.finished(one)
        if done is not None and not self._fresh:
            # It cannot be made again: a changed one is said, and neither taken nor replaced.
            Record.verified(done)
            return done, True
        job = batch.job(one)
        block = (id(batch), one.repetition)
        if block not in self._begun:
            self._begun.add(block)
            self._lab.warm_up(job)
        folder = yield job, place or batch.place(one, self._lab.key(job))
        if done is not None and done != folder:
            rooms.remove(done)
        return folder, False
