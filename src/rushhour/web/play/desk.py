"""The desk: takes experiments in, runs as many at once as there are CPUs, and keeps what came out.

Equal experiments are run once, however many visitors wait for them; one that nobody waits for any more is
ended. A record is removed as soon as its answer is made: it can be made again, to the byte.
"""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from rushhour.errors import GuestError, LabError, RushHourError
from rushhour.files import cache, rooms
from rushhour.lab import kernel as kernels
from rushhour.lab.base import CancelledError
from rushhour.quantities.words import plural
from rushhour.record.record import Record
from rushhour.running.batch import of_one
from rushhour.running.conductor import Conductor
from rushhour.running.executor import Pool, Threads
from rushhour.web.answers import RefusedError
from rushhour.web.play.answer import Answer, answer
from rushhour.web.play.scenario import scenario
from rushhour.web.play.setup import Setup

if TYPE_CHECKING:
    from collections.abc import Callable

    from rushhour.lab.base import Lab
    from rushhour.lab.kernel import Kernel
    from rushhour.running.conductor import Watch
    from rushhour.spec import Scenario
    from rushhour.web.settings import Bounds

KEPT = 200
"""Answers kept in memory; one has some 20 kB."""
NAME = "playground"


@dataclass
class _Flight:
    """A run under way, and how many wait for it."""

    lab: Lab
    conductor: Conductor
    asked: Scenario
    kernel: Kernel
    future: Future[Any] = field(default_factory=Future)
    waiting: int = 0


class Desk:
    """See the module. To be used from one event loop; `make_lab` gives a lab for one run.

    `pool` is what all runs of the playground share: no more than its bounds allow go on at once.
    """

    def __init__(self, bounds: Bounds, make_lab: Callable[[], Lab], watch: Watch | None = None) -> None:
        self.bounds = bounds
        self.make_lab = make_lab
        self._answers: OrderedDict[str, Answer] = OrderedDict()
        self._flights: dict[str, _Flight] = {}
        self.pool = Pool(bounds.runs)
        self._watch = watch
        self._threads = ThreadPoolExecutor(bounds.runs, thread_name_prefix="play")
        # What the threads share.
        self._lock = Lock()
        self._going: list[_Flight] = []
        self._room: _Room | None = None
        self._closed = False

    async def ask(self, setup: Setup) -> tuple[Answer, bool]:
        """The answer to an experiment, and whether it was known.

        Raises:
            ScenarioError, KernelError, LabError: it makes no sense, or could not be carried out.
            RefusedError: too many wait already.
        """
        flight, name = self._prepare(setup)
        key = f"{flight.kernel.name} {name}"
        if key in self._answers:
            self._answers.move_to_end(key)
            return self._answers[key], True
        found: Answer = await self._wait(key, flight, answer)
        self._answers[key] = found
        if len(self._answers) > KEPT:
            self._answers.popitem(last=False)
        return found, False

    async def made(self, setup: Setup, make: Callable[[Record], Any]) -> Any:
        """What `make` makes of the experiment's record."""
        flight, name = self._prepare(setup)
        return await self._wait(f"{make.__qualname__} {name}", flight, make)

    def warm(self) -> None:
        """Run the first experiment once, unasked, so that nobody waits for imports."""
        with suppress(RushHourError):
            flight, _ = self._prepare(Setup())
            self._threads.submit(self._run, flight, answer).add_done_callback(_told)

    def stop(self) -> None:
        """End every run, and begin no other; waits for none."""
        with self._lock:
            self._closed = True
            for flight in self._going:
                flight.conductor.cancel()

    def close(self) -> None:
        """End every run, and remove what is left."""
        self.stop()
        self._threads.shutdown(cancel_futures=True)
        self.pool.close()
        if self._room is not None:
            self._room.remove()

    def _prepare(self, setup: Setup) -> tuple[_Flight, str]:
        """A run that may be wanted, and its key."""
        kernel = kernels.default() if setup.kernel is None else kernels.find(setup.kernel)
        lab, asked = self.make_lab(), scenario(setup, self.bounds)
        batch, run = of_one(NAME, asked, kernel, Path())
        # A lab and a conductor of its own: it can be ended alone.
        conductor = Conductor(lab, keep=False, executor=Threads(lab, self.pool), watch=self._watch)
        return _Flight(lab, conductor, asked, kernel), lab.key(batch.job(run))

    async def _wait(self, key: str, asked: _Flight, make: Callable[[Record], Any]) -> Any:
        flight = self._flights.get(key)
        if flight is None:
            if len(self._flights) >= self.bounds.runs + self.bounds.waiting:
                raise RefusedError(
                    503,
                    f"{plural(len(self._flights), 'experiment')} before this one",
                    hint="try again in some seconds",
                )
            flight = asked
            flight.future = self._threads.submit(self._run, flight, make)
            self._flights[key] = flight
        flight.waiting += 1
        try:
            outcome = asyncio.wrap_future(flight.future)
            outcome.add_done_callback(_seen)
            # Not by `shield`, which tells the terminal of what happens after its visitor left.
            await asyncio.wait([outcome])
            return outcome.result()
        finally:
            flight.waiting -= 1
            if flight.waiting == 0:
                self._flights.pop(key, None)
                if not flight.future.cancel():
                    flight.conductor.cancel()

    def _run(self, flight: _Flight, make: Callable[[Record], object]) -> object:
        room = self._begin(flight)
        try:
            with tempfile.TemporaryDirectory(dir=room, ignore_cleanup_errors=True) as folder:
                alone = of_one(NAME, flight.asked, flight.kernel, Path(folder))
                outcome = flight.conductor.one(*alone, Path(folder) / NAME)
                return make(Record.open(outcome.record))
        except CancelledError:
            raise RefusedError(503, "the run was ended before it was done", hint="try again") from None
        except LabError as error:
            raise _explained(error, self.bounds) from error
        finally:
            with self._lock:
                self._going.remove(flight)

    def _begin(self, flight: _Flight) -> Path:
        """Note that a run begins; the folder for it."""
        with self._lock:
            if self._closed:
                raise RefusedError(503, "the server ends", hint="try again when it is back")
            self._room = self._room or _Room()
            self._going.append(flight)
            return self._room.folder


def _told(outcome: Future[Any]) -> None:
    # What is wrong here will be said to the first visitor; only faults of ours are for the terminal.
    error = None if outcome.cancelled() else outcome.exception()
    if error is not None and not isinstance(error, RushHourError | RefusedError):
        logging.getLogger("uvicorn.error").error("the first run failed", exc_info=error)


def _seen(outcome: asyncio.Future[Any]) -> None:
    # Nobody may be there any more to see how it ended; that is no fault to be logged.
    if not outcome.cancelled():
        outcome.exception()


def _explained(error: LabError, bounds: Bounds) -> Exception:
    # On a busy machine the time can be over before the kernel is up: that is no other fault.
    if isinstance(error, GuestError) and error.hangs:
        return RefusedError(
            422, f"the run took more than {bounds.seconds} s", hint="shorten it, or lower the rate"
        )
    return error


class _Room:
    """A folder for runs, locked while this process lives; the next server removes it if it was killed."""

    def __init__(self) -> None:
        parent = cache.folder("play", "any").parent
        self.folder, self._lock = rooms.make(parent, rooms.SANDBOX)

    def remove(self) -> None:
        """Remove it."""
        rooms.remove(self.folder)
        os.close(self._lock)
