"""The conductor: every run of this program goes through it, of sweeps as of single questions.

It looks up what is known, has the executor carry out the rest, keeps records and failures, tells who watches,
and stops everything on an error, an interrupt or `cancel`.
"""

from __future__ import annotations

import errno
from concurrent import futures
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import islice
from queue import SimpleQueue
from typing import TYPE_CHECKING, Protocol, Self, cast

from rushhour.errors import FleetError, LabError, RushHourError, UsageError
from rushhour.lab.base import CancelledError
from rushhour.record.manifest import REAL_TIME
from rushhour.record.slim import WHOLE, Wanted
from rushhour.running.batch import Outcome, meant_for
from rushhour.running.executor import Pool, Threads
from rushhour.running.known import Known
from rushhour.running.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from types import TracebackType

    from rushhour.lab.base import Job, Lab, RealTimeLab
    from rushhour.running.batch import Batch, Run
    from rushhour.running.executor import Executor

_FULL = (errno.ENOSPC, errno.EDQUOT)


class Watch(Protocol):
    """Is told how runs go on."""

    def more(self, count: int) -> None:
        """So many runs are to come beyond those that were."""
        ...

    def show(self, outcome: Outcome) -> None:
        """A run has finished."""
        ...


class Way(Protocol):
    """How a run gets its record: `Known` in virtual time, by its key; `Turns` in real time, by its place."""

    def take(self, batch: Batch, one: Run, place: Path | None) -> tuple[Path, bool]:
        """The record's folder (`place`, or that of the batch), and whether it was there before.

        Raises:
            RushHourError: the run could not be carried out.
        """
        ...


class Conductor:
    """Carries out runs of a lab, as many at once as its executor takes.

    A context manager: leaving it by an error (or an interrupt) stops what runs. Several threads may use it.
    """

    def __init__(
        self,
        lab: Lab,
        jobs: int | None = None,
        *,
        fresh: bool = False,
        keep: bool = True,
        wanted: Wanted = WHOLE,
        executor: Executor | None = None,
        watch: Watch | None = None,
    ) -> None:
        """A conductor.

        Args:
            lab: Whose runs; its keys say which are known.
            jobs: Runs at once on this machine; by default one per CPU, and one in real time.
            fresh: Run also what is known.
            keep: Put records into the cache.
            wanted: What is to be kept of runs; of those in real time whole records.
            executor: Carries the runs out, instead of threads on this machine; it stays the caller's.
            watch: Is told of every run.

        Raises:
            UsageError: the lab is in real time, and the executor makes several runs at once.
        """
        real_time = lab.name in REAL_TIME
        self._lab, self._watch = lab, watch
        self._pool = Pool(1 if real_time else jobs) if executor is None else None
        self._executor = Threads(lab, self._pool) if self._pool is not None else cast("Executor", executor)
        if real_time and self.capacity != 1:
            raise UsageError(
                f"a lab in real time makes one run at a time, and the executor makes {self.capacity}",
                hint="give it an executor with a capacity of 1",
            )
        self._way: Way
        if real_time:
            self._way = Turns(cast("RealTimeLab", lab), self._execute, fresh=fresh)
        else:
            measured = partial(getattr, self._executor, "measures")
            options = {"fresh": fresh, "keep": keep}
            self._way = Known(lab, self._execute, **options, measured=measured, wanted=wanted)
        self._threads = ThreadPoolExecutor(self.capacity, thread_name_prefix="conductor")

    @property
    def capacity(self) -> int:
        """How many runs go on at once."""
        return self._executor.capacity

    def __enter__(self) -> Self:
        """Enter the block in which runs are carried out."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop what runs, if the block did not come to its end, and wait for it."""
        if kind is not None:
            self.cancel()
        self._threads.shutdown(cancel_futures=True)
        if self._pool is not None:
            self._pool.close()

    def cancel(self) -> None:
        """End every run that goes on, and refuse new ones."""
        self._executor.cancel()

    def expect(self, count: int) -> None:
        """Announce so many further runs to the progress display."""
        if self._watch is not None:
            self._watch.more(count)

    def outcomes(self, runs: Iterable[tuple[Batch, Run]]) -> Iterator[Outcome]:
        """Carry out runs in about this order; failures are kept in their batch.

        Raises:
            LabError: the disk is full, or nothing can go on for another reason.
            CancelledError: the runs were stopped.
        """
        going = iter(runs)
        done: SimpleQueue[Future[Outcome]] = SimpleQueue()

        def begin(count: int) -> int:
            begun = [self._submit(*one) for one in islice(going, count)]
            for future in begun:
                future.add_done_callback(done.put)
            return len(begun)

        # A short queue: memory stays flat however many runs there are.
        waiting = begin(2 * self.capacity)
        while waiting:
            future = done.get()
            waiting += begin(1) - 1
            yield self.enter(future.result())

    def one(self, batch: Batch, run: Run, place: Path | None = None) -> Outcome:
        """Carry out a single run in the thread that asks; its record goes to `place`, or into the batch.

        Raises:
            LabError: the disk is full, or nothing can go on for another reason.
            CancelledError: the run was stopped.
        """
        self.expect(1)
        return self.enter(self._take(batch, run, place))

    def enter(self, outcome: Outcome) -> Outcome:
        """Keep a failure in its batch, and tell who watches.

        Raises:
            LabError: every other run would fail alike.
        """
        if outcome.error is not None:
            _raise_if_fatal(outcome.error)
            outcome.batch.enter(outcome)
        if self._watch is not None:
            self._watch.show(outcome)
        return outcome

    def _submit(self, batch: Batch, run: Run) -> Future[Outcome]:
        return self._threads.submit(self._take, batch, run, None)

    def _take(self, batch: Batch, run: Run, place: Path | None) -> Outcome:
        try:
            meant_for(run, self._lab)
            folder, cached = self._way.take(batch, run, place)
        except RushHourError as error:
            return Outcome(batch, run, None, error, cached=False)
        return Outcome(batch, run, folder, None, cached=cached)

    def _execute(self, job: Job, place: Path) -> Path:
        try:
            return self._executor.submit(job, place).result()
        except futures.CancelledError:
            raise CancelledError("stopped before it began") from None


def _raise_if_fatal(error: RushHourError) -> None:
    """Stop where every other run would fail alike."""
    if isinstance(error, (CancelledError, FleetError)):
        raise error
    cause = error.__cause__
    if isinstance(cause, OSError) and cause.errno in _FULL:
        raise LabError(
            "the disk is full; what has finished is kept",
            where=error.where,
            hint="make room and give the same command again: it goes on where it stopped",
        ) from error
