"""Runs of a machine with many CPUs, in several processes of this program.

Python does one thing at a time in a process, and a run takes some 15 ms of it (its checks, its seal, its
metrics) beside 25 ms and more of its guest. So one process keeps two or three guests busy, however many CPUs
there are. Here each two runs at once have a process, `python -m rushhour.running.spread`, with the sandboxes
and the guests that they would have here.

Nothing depends on these processes: a run whose process is not there yet, does not start or is killed is made
here.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from rushhour.lab.base import CancelledError
from rushhour.lab.beside import Beside, GoneError, serve
from rushhour.lab.uml import UmlLab
from rushhour.running.executor import execute

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rushhour.lab.agent import Agent
    from rushhour.lab.base import Job, Lab
    from rushhour.lab.confine import Limits

EACH = 2
"""Runs at once of a process; where there are no more at once, this one makes them."""
FIRST = 4
"""Of each that goes on at once, so many are made here before processes are started: that costs a second."""


class Spread:
    """A `UmlLab` whose runs several processes make; see `rushhour.lab.base.Lab`. To be closed."""

    name = UmlLab.name

    def __init__(self, lab: UmlLab, runs: int, *, measure: bool = True) -> None:
        """Processes are started when many runs have come.

        Args:
            lab: Whose runs.
            runs: So many at once.
            measure: Measure each record as soon as it is sealed.
        """
        self._lab, self._runs = lab, runs
        self._asked = _Asked(lab.limits, lab.agent, lab.durable, measure)
        self._most = -(-runs // EACH)
        self._crews: list[_Crew] = []
        self._came = 0
        self._ended = False
        self._lock = Lock()

    @classmethod
    def serves(cls, lab: Lab, runs: int) -> bool:
        """Whether it is of use for so many runs at once of a lab: one whose runs another process can make."""
        return runs > EACH and type(lab) is UmlLab and lab.is_plain

    def key(self, job: Job) -> str:
        """See `Lab.key`."""
        return self._lab.key(job)

    def run(self, job: Job, destination: Path, cpu: int | None = None) -> Path:
        """See `Lab.run`."""
        crew = self._seat()
        if crew is not None:
            try:
                made: Path | None = crew.process.ask(job, self.key(job), destination, cpu)
            except GoneError:
                if self._ended:
                    raise CancelledError(
                        "stopped", where=f"{job.kernel.name}, seed {job.plan.seed}"
                    ) from None
            else:
                if made is not None:
                    return made
            finally:
                with self._lock:
                    crew.going -= 1
        return _made(self._lab, job, destination, cpu, measure=self._asked.measure)

    def cancel(self) -> None:
        """See `Lab.cancel`."""
        self._lab.cancel()
        self._end()

    def close(self) -> None:
        """End the processes, and wait for them."""
        self._end()
        for crew in self._crews:
            crew.process.wait()

    def _end(self) -> None:
        with self._lock:
            self._ended = True
        for crew in self._crews:
            crew.process.dismiss()

    def _seat(self) -> _Crew | None:
        """A process with room for a run; None: it is made here."""
        with self._lock:
            self._came += 1
            if self._ended or self._came <= FIRST * self._runs:
                return None
            if len(self._crews) < self._most:
                self._start()
            ready = [crew for crew in self._crews if crew.process.is_ready and crew.going < EACH]
            if not ready:
                return None
            crew = min(ready, key=lambda one: one.going)
            crew.going += 1
            return crew

    def _start(self) -> None:
        try:
            self._crews.append(_Crew(Beside(__name__, self._asked)))
        except OSError:  # no memory, or no more processes are allowed
            self._most = len(self._crews)


@dataclass(eq=False)
class _Crew:
    """A process, and how many runs it has."""

    process: Beside
    going: int = 0


@dataclass(frozen=True)
class _Asked:
    """What a process is told first: the lab that it shall have, and whether it measures."""

    limits: Limits
    agent: Agent
    durable: bool
    measure: bool


def _made(lab: UmlLab, job: Job, destination: Path, cpu: int | None, *, measure: bool) -> Path:
    folder = execute(lab, job, destination, cpu)
    if measure:
        from rushhour.summary.measured import measure_new  # noqa: PLC0415 - numpy

        measure_new(folder)
    return folder


def _begin(asked: _Asked) -> tuple[Callable[..., Path | None], Callable[[], None]]:
    lab = UmlLab(asked.limits, given=asked.agent, durable=asked.durable)

    def answer(job: Job, key: str, destination: Path, cpu: int | None) -> Path | None:
        """The record; None where the job would be another run here."""
        if lab.key(job) != key:
            return None
        return _made(lab, job, destination, cpu, measure=asked.measure)

    return answer, lab.cancel


if __name__ == "__main__":
    serve(_begin, EACH)
