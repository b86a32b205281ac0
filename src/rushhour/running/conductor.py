"""The conductor: every run of this program goes through it, of sweeps as of single questions.

It looks up what is known, has the executor carry out the rest, keeps records and failures, tells who watches,
and stops everything on an error, an interrupt or `cancel`.

Thousands of runs may be under way at once, in a fleet. No thread waits for one of them: a few do what has to
be done before and after a run, for threads that take turns at Python's lock cost more than the work itself.
"""

from __future__ import annotations

import errno
from collections import deque
from concurrent import futures
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from queue import SimpleQueue
from threading import Condition
from typing import TYPE_CHECKING, Protocol, Self, cast

from rushhour.errors import FleetError, LabError, RushHourError, UsageError
from rushhour.lab.base import CancelledError
from rushhour.record.manifest import REAL_TIME
from rushhour.record.slim import WHOLE, Wanted
from rushhour.running.batch import Outcome, meant_for
from rushhour.running.executor import Pool, Threads
from rushhour.running.known import Known
from rushhour.running.spread import Spread
from rushhour.running.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator
    from pathlib import Path
    from types import TracebackType

    from rushhour.lab.base import Job, Lab, RealTimeLab
    from rushhour.lab.uml import UmlLab
    from rushhour.running.batch import Batch, Run
    from rushhour.running.executor import Executor

    Taking = Generator[tuple[Job, Path], Path, tuple[Path, bool]]

_FULL = (errno.ENOSPC, errno.EDQUOT)
# What does the work around runs; more only wait for each other, fewer for the disk.
_HANDS = 4


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

    def take(self, batch: Batch, one: Run, place: Path | None) -> Taking:
        """The steps to a record: gives a job that has to be carried out with its place, is sent its folder.

        Returns:
            The record's folder (`place`, or that of the batch), and whether it was there before.

        Raises:
            RushHourError: the run could not be carried out; also what it was sent.
        """
        ...

    def close(self) -> None:
        """No more runs come."""
        ...


@dataclass(eq=False)
class _Going:
    """A run under way: the steps that are left of it, and its outcome when there are none."""

    batch: Batch
    run: Run
    steps: Taking
    done: Future[Outcome] = field(default_factory=Future)

    def on(self, came: Future[Path] | None = None) -> tuple[Job, Path] | None:
        """Go on, with what came of the job; what has to be carried out next, None if it is done."""
        try:
            if came is None:
                return next(self.steps)
            if came.cancelled():
                return self.steps.throw(CancelledError("stopped before it began"))
            error = came.exception()
            return self.steps.send(came.result()) if error is None else self.steps.throw(error)
        except StopIteration as end:
            folder, cached = end.value
            self.done.set_result(Outcome(self.batch, self.run, folder, None, cached=cached))
        except RushHourError as error:
            self.done.set_result(Outcome(self.batch, self.run, None, error, cached=False))
        except BaseException as error:  # noqa: BLE001 - whoever waits for the outcome is told
            self.done.set_exception(error)
        return None


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
        measure: bool = True,
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
            measure: Measure new runs while others go on: their metrics are wanted afterwards.
            wanted: What is to be kept of runs; of those in real time whole records.
            executor: Carries the runs out, instead of threads on this machine; it stays the caller's.
            watch: Is told of every run.

        Raises:
            UsageError: the lab is in real time, and the executor makes several runs at once.
        """
        real_time = lab.name in REAL_TIME
        self._lab, self._watch = lab, watch
        self._pool = Pool(1 if real_time else jobs) if executor is None else None
        self._spread: Spread | None = None
        if self._pool is not None:
            self._executor = self._threads(lab, self._pool, measure=measure and keep and wanted.tables)
        else:
            self._executor = cast("Executor", executor)
        if real_time and self.capacity != 1:
            raise UsageError(
                f"a lab in real time makes one run at a time, and the executor makes {self.capacity}",
                hint="give it an executor with a capacity of 1",
            )
        self._way: Way
        if real_time:
            self._way = Turns(cast("RealTimeLab", lab), fresh=fresh)
        else:
            self._way = Known(
                lab, fresh=fresh, keep=keep, wanted=wanted,
                measured=lambda: not measure or self._executor.measures,
            )  # fmt: skip
        # While this machine's CPUs have runs, one more is made ready or measured: none waits for Python.
        self._ahead = 1 if self._pool is not None and not real_time else 0
        hands = min(self.capacity + self._ahead, _HANDS)
        self._hands = ThreadPoolExecutor(hands, thread_name_prefix="conductor")
        self._waiting: deque[_Going] = deque()
        self._going = 0
        self._closed = False
        self._changed = Condition()

    def _threads(self, lab: Lab, pool: Pool, *, measure: bool) -> Executor:
        """This machine's: of many runs at once each two have a process."""
        if Spread.serves(lab, pool.count):
            self._spread = Spread(cast("UmlLab", lab), pool.count, measure=measure)
        return Threads(self._spread or lab, pool, measures=self._spread is not None)

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
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: not self._going)
        self._hands.shutdown()
        self._way.close()
        if self._pool is not None:
            self._pool.close()
        if self._spread is not None:
            self._spread.close()

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
        waiting = 0
        while True:
            # A short queue: memory stays flat however many runs there are. A fleet's capacity may grow.
            for batch, run in islice(going, max(0, 2 * self.capacity - waiting)):
                waiting += 1
                self._begin(self._way_of(batch, run, None)).add_done_callback(done.put)
            if not waiting:
                return
            future = done.get()
            waiting -= 1
            yield self.enter(future.result())

    def one(self, batch: Batch, run: Run, place: Path | None = None) -> Outcome:
        """Carry out a single run in the thread that asks; its record goes to `place`, or into the batch.

        Raises:
            LabError: the disk is full, or nothing can go on for another reason.
            CancelledError: the run was stopped.
        """
        self.expect(1)
        going = self._way_of(batch, run, place)
        wanted = going.on()
        while wanted is not None:
            came = self._execute(*wanted)
            with suppress(futures.CancelledError):
                came.exception()
            wanted = going.on(came)
        return self.enter(going.done.result())

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

    def _way_of(self, batch: Batch, run: Run, place: Path | None) -> _Going:
        def steps() -> Taking:
            meant_for(run, self._lab)
            return (yield from self._way.take(batch, run, place))

        return _Going(batch, run, steps())

    def _begin(self, going: _Going) -> Future[Outcome]:
        """Have a run carried out, when it is its turn: about as many go on as the executor takes.

        An interrupt comes to the main thread between any two steps. So a hand counts what goes on, for which
        leaving waits: counted and never begun, it would wait for ever.
        """
        self._waiting.append(going)
        self._hands.submit(self._admit)
        return going.done

    def _admit(self) -> None:
        with self._changed:
            while self._waiting and self._going < self.capacity + self._ahead and not self._closed:
                self._going += 1
                self._hands.submit(self._go_on, self._waiting.popleft())

    def _go_on(self, going: _Going, came: Future[Path] | None = None) -> None:
        wanted = going.on(came)
        if wanted is not None:
            self._execute(*wanted).add_done_callback(partial(self._hands.submit, self._go_on, going))
            return
        with self._changed:
            self._going -= 1
            self._changed.notify_all()
        self._admit()

    def _execute(self, job: Job, place: Path) -> Future[Path]:
        try:
            return self._executor.submit(job, place)
        except Exception as error:  # noqa: BLE001 - whoever waits for the outcome is told
            refused: Future[Path] = Future()
            refused.set_exception(error)
            return refused


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
