"""Where runs are carried out: threads on this machine, each with a CPU of its own.

A run is a function of its job, its kernel and the agent alone: another `Executor` may carry it out elsewhere.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from rushhour.lab import cpus
from rushhour.lab.base import CancelledError
from rushhour.record.manifest import VIRTUAL

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rushhour.lab.base import Job, Lab


class Executor(Protocol):
    """Carries out runs of one lab. May be used by several threads at once."""

    @property
    def capacity(self) -> int:
        """How many runs it carries out at once."""
        ...

    @property
    def measures(self) -> bool:
        """Whether the metrics of the records that it gives are known already (`summary.measured`)."""
        ...

    def submit(self, job: Job, destination: Path) -> Future[Path]:
        """Begin a run; its sealed record is at `destination` when the future is done.

        The future has the exception of a run that failed: a `LabError`.

        Raises:
            CancelledError: it takes no more runs.
        """
        ...

    def cancel(self) -> None:
        """End every run that goes on, and refuse new ones; their futures have a `CancelledError`."""
        ...


def execute(lab: Lab, job: Job, destination: Path, cpu: int | None) -> Path:
    """Carry out a run in a lab: the one place where that is done, whoever the executor is."""
    return lab.run(job, destination, cpu)


class Pool:
    """Threads and their CPUs; several labs may share it, and have no more runs at once together."""

    def __init__(self, count: int | None = None) -> None:
        """`count` runs at once; by default one for each CPU that is ours."""
        own = cpus.own()
        self.count = count or len(own)
        self._free: SimpleQueue[int] = SimpleQueue()
        for number in range(self.count):
            self._free.put(own[number % len(own)])
        self._threads = ThreadPoolExecutor(self.count, thread_name_prefix="lab")

    def submit(self, run: Callable[[int], Path]) -> Future[Path]:
        """Call `run` with a free CPU as soon as there is one.

        Raises:
            CancelledError: the pool is closed.
        """
        try:
            return self._threads.submit(self._with_cpu, run)
        except RuntimeError:
            raise CancelledError("stopped before it began") from None

    def close(self) -> None:
        """Begin no more runs, and wait for those that go on."""
        self._threads.shutdown(cancel_futures=True)

    def _with_cpu(self, run: Callable[[int], Path]) -> Path:
        cpu = self._free.get()
        try:
            return run(cpu)
        finally:
            self._free.put(cpu)


class Threads:
    """Runs the jobs of one lab in a pool of threads on this machine."""

    def __init__(self, lab: Lab, pool: Pool, *, measures: bool = False) -> None:
        """An executor; `measures`: the lab measures its records itself."""
        self._lab, self._pool, self._measures = lab, pool, measures
        self._lock = Lock()
        self._waiting: set[Future[Path]] = set()

    @property
    def capacity(self) -> int:
        """See `Executor.capacity`."""
        return self._pool.count

    @property
    def measures(self) -> bool:
        """See `Executor.measures`."""
        return self._measures

    def submit(self, job: Job, destination: Path) -> Future[Path]:
        """See `Executor.submit`."""
        # In real time the lab itself decides which CPU does what.
        virtual = self._lab.name in VIRTUAL
        run = self._pool.submit(lambda cpu: execute(self._lab, job, destination, cpu if virtual else None))
        with self._lock:
            self._waiting.add(run)
        run.add_done_callback(self._forget)
        return run

    def cancel(self) -> None:
        """See `Executor.cancel`."""
        self._lab.cancel()
        with self._lock:
            waiting = [*self._waiting]
        # The lab refuses them, too; but their turn may come late where others share the pool.
        for run in waiting:
            run.cancel()

    def _forget(self, run: Future[Path]) -> None:
        with self._lock:
            self._waiting.discard(run)
