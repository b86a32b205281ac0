"""One experiment on several machines: all prepare, all begin at one instant, all hand over what they saw.

    prepare of all ─barrier─▶ clocks ─▶ run, all from one start ─▶ clocks ─▶ fetch of all

While the experiment runs nothing is said to a machine but, every few seconds, that we are still here. If one
fails, the others are stopped, and forget what they prepared; so they do when they hear no more of us.
"""

from __future__ import annotations

import time
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING, Any

from rushhour.errors import HostError, UnsupportedError
from rushhour.lab.base import CancelledError
from rushhour.lab.host import clocks
from rushhour.lab.host.answers import Tables, typed
from rushhour.lab.host.merge import Alignment, Half
from rushhour.record.document import read
from rushhour.record.result_file import ResultFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from rushhour.lab.host.company import Company
    from rushhour.lab.host.session import Session
    from rushhour.record.plan_file import PlanFile

LEADS_NS = (60_000_000, 400_000_000, 2_000_000_000)
"""From the word to begin until the start: so that it has reached every machine, and threads have woken up.

Where it came too late (a busy machine, a slow connection) all is prepared again, and more time is given.
"""
SAMPLES = 8
PREPARE_S = 120.0
"""Within this a machine must be ready: its echo requests wait for answers that may not come."""
STOP_S = 20.0
"""Within this a machine must have stopped, or put everything back."""
AFTER_S = 60.0
"""Within this after the end a machine must have told its result."""
_FRESH_NS = 20 * 10**9
_LOOK_S = 0.2


@dataclass
class Experiments:
    """Carries out plans on a company, one at a time; remembers clocks between them."""

    company: Company
    stopped: Event = field(default_factory=Event)
    _offsets: dict[str, clocks.Offset] = field(default_factory=dict)
    _going: dict[Future[Any], str] = field(default_factory=dict)

    def carry_out(self, plan: PlanFile, folder: Path) -> tuple[list[Half], dict[str, clocks.Clock]]:
        """Carry out a plan; the raw tables of each machine are in `folder`, in a folder of its name.

        Raises:
            HostError: a machine failed, or went away; the others have been stopped.
            UnsupportedError: a machine's kernel lacks what its part needs.
            CancelledError: it was stopped.
        """
        for lead_ns in LEADS_NS[:-1]:
            try:
                return self._carry_out(plan, folder, lead_ns)
            except HostError as error:
                if error.kind != "late":
                    raise
        return self._carry_out(plan, folder, LEADS_NS[-1])

    def _carry_out(
        self, plan: PlanFile, folder: Path, lead_ns: int
    ) -> tuple[list[Half], dict[str, clocks.Clock]]:
        names = [node.name for node in plan.nodes]
        with self._forgotten(names):
            self._prepare(plan, names)
            sessions = self.company.sessions(names)
            before = self._clocks(sessions)
            start = time.monotonic_ns() + lead_ns + 2 * max(one.error_ns for one in before.values())
            starts = {name: before[name].theirs(start) for name in names}
            results = self._run(sessions, starts, plan.duration_ns)
            after = clocks.offsets(sessions, SAMPLES)
            self._offsets = after
            kept = {name: clocks.Clock(before[name], after[name]) for name in names}
            halves = self.company.each(lambda name, session: _collect(name, session, folder), names)
        length = plan.duration_ns
        found = [
            Half(name, halves[name], results[name], aligned(kept[name], starts[name], start, length))
            for name in names
        ]
        return found, kept

    def _prepare(self, plan: PlanFile, names: list[str]) -> None:
        """Everyone gets ready; who emulates first, so that the others measure the path as it will be."""
        emulating = {entry.node for entry in plan.egress}
        for group in ([n for n in names if n in emulating], [n for n in names if n not in emulating]):
            self._look()
            self.company.each(lambda name, session: _prepare(name, session, plan), group)

    def _clocks(self, sessions: Mapping[str, Session]) -> dict[str, clocks.Offset]:
        """Offsets measured after the experiment before, if that is not long ago."""
        now = time.monotonic_ns()
        known = self._offsets
        if set(sessions) <= set(known) and all(now - known[name].at_ns < _FRESH_NS for name in sessions):
            return {name: known[name] for name in sessions}
        return clocks.offsets(sessions, SAMPLES)

    def _run(
        self, sessions: Mapping[str, Session], starts: Mapping[str, int], length_ns: int
    ) -> dict[str, ResultFile]:
        for name, session in sessions.items():
            self._going[session.begin("run", start_clock_ns=starts[name])] = name
        deadline = time.monotonic() + length_ns / 1e9 + AFTER_S
        waiting = set(self._going)
        while waiting:
            done, waiting = wait(waiting, _LOOK_S, FIRST_COMPLETED)
            self._look()
            for future in done:
                error = future.exception()
                if isinstance(error, HostError):
                    raise self.company.named(self._going[future], error) from error
                if error is not None:
                    raise error
            if waiting and time.monotonic() > deadline:
                raise HostError(
                    f"no result {AFTER_S:g} s after the end of the experiment",
                    where=", ".join(sorted(self._going[future] for future in waiting)),
                    hint="is the machine very busy, or out of memory?",
                )
        return {name: read(ResultFile, future.result(), name) for future, name in self._going.items()}

    def _look(self) -> None:
        if self.stopped.is_set():
            raise CancelledError("stopped")

    @contextmanager
    def _forgotten(self, names: list[str]) -> Iterator[None]:
        """Whatever happens inside, no machine keeps what it prepared.

        Raises:
            UnsupportedError: instead of a machine's refusal of this kind.
        """
        self._going = {}
        try:
            yield
        except BaseException as error:
            self._say("stop", names)
            # A machine that runs has nothing to forget yet.
            wait(self._going, STOP_S)
            if isinstance(error, HostError) and error.kind == "unsupported":
                raise UnsupportedError(error.message, where=error.where, hint=error.hint) from error
            raise
        finally:
            self._say("forget", names)

    def _say(self, verb: str, names: list[str]) -> None:
        asked = []
        for name in names:
            session = self.company.known(name)
            with suppress(HostError):
                if session is not None:
                    asked.append(session.begin(verb))
        for answer in asked:
            # Who does not answer is gone, and stops by itself.
            with suppress(HostError, TimeoutError):
                answer.result(STOP_S)


def aligned(clock: clocks.Clock, started_ns: int, start_ns: int, length_ns: int) -> Alignment:
    """How a machine's stamps, which count from its own start, lie to the common start on our clock."""
    begin = clock.ours(started_ns) - start_ns
    end = clock.ours(started_ns + length_ns) - start_ns
    return Alignment(begin, (end - begin - length_ns) / length_ns, clock.error_ns)


def _prepare(name: str, session: Session, plan: PlanFile) -> None:
    session.call("prepare", plan=plan, here=name, timeout_s=PREPARE_S)


def _collect(name: str, session: Session, folder: Path) -> Path:
    mine = folder / name.replace("*", "+")
    mine.mkdir()
    for table in typed(Tables, session.call("tables")).tables:
        path = mine / table.name.rpartition("/")[2]
        session.download(table.name, path)
    return mine
