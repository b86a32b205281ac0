"""The order of the experiments; the result of each decides what the next one does.

Takes whatever can run a phase and give its record, gives what was measured in both directions. A phase that
cannot be carried out is told and left out; the others go on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from rushhour.diagnosis import measure
from rushhour.diagnosis.case import DIRECTIONS
from rushhour.diagnosis.derive import measured
from rushhour.errors import LabError
from rushhour.lab.base import CancelledError

if TYPE_CHECKING:
    from rushhour.diagnosis.measure import Known, Phase
    from rushhour.diagnosis.measured import Measured
    from rushhour.record.record import Record

SEARCHES = 2
"""Times that the largest packet is searched for between two sizes, with ten steps each."""
CAREFUL = 1280
"""Every link of IPv6 carries this (RFC 8200, section 5), and so do the tunnels of IPv4."""
GONE = ("ended", "silent", "garbled", "reboot")
"""Kinds of errors after which an end answers no more."""
TRIES = 2
PATIENCE_NS = 400_000_000
"""What a path is taken for that answers no echo."""


class Bench(Protocol):
    """What carries out a phase."""

    def run(self, phase: Phase) -> Record:
        """Carry it out.

        Raises:
            LabError: it cannot be carried out.
        """
        ...


class Procedure:
    """One diagnosis' measurements; `records` by the phase's name, `failed` with why."""

    def __init__(self, bench: Bench, known: Known, *, rate_bps: float | None = None) -> None:
        self.bench, self.known, self.told_bps = bench, known, rate_bps
        self.records: dict[str, Record] = {}
        self.failed: dict[str, LabError] = {}
        self._found: dict[str, Measured] = {}

    def carry_out(self) -> dict[str, Measured]:
        """All experiments, in order."""
        self._idle()
        for direction in DIRECTIONS:
            self._single(direction)
        for direction in self._open():
            self._try(measure.several(self.known, direction))
        self._datagrams()
        self._sizes()
        if not self.known.quick and len(self._open()) == 2:
            self._try(measure.both(self.known))
            for direction in self._open():
                self._try(measure.short(self.known, direction))
        return self.measured()

    def measured(self) -> dict[str, Measured]:
        """What is known so far."""
        if not self._found:
            self._found = {direction: measured(self.records, direction) for direction in DIRECTIONS}
        return self._found

    def _idle(self) -> None:
        """The idle path; once more, and longer, if its round trip is as long as the wait for answers was."""
        for rtt_ns in (0, PATIENCE_NS):
            self.known = replace(self.known, rtt_ns=rtt_ns)
            phase = measure.idle(self.known)
            if phase is None:
                trips: list[int] = []
                break
            self._try(phase)
            trips = [one.idle_rtt_ns for one in self.measured().values() if one.idle_rtt_ns]
            if trips and max(trips) * 1e-9 < phase.seconds / 4:
                break
        self.known = replace(self.known, rtt_ns=max(trips, default=PATIENCE_NS // 10))

    def _sizes(self) -> None:
        """Where large packets vanish: how large they may be, to a few bytes."""
        for _ in range(1 if self.known.quick else SEARCHES):
            wanted: set[int] = set()
            for found in (one.sizes for one in self.measured().values()):
                if found.passed is not None and found.lost is not None and found.lost - found.passed > 1:
                    step = max(1, (found.lost - found.passed) // 10)
                    wanted |= set(range(found.passed + step, found.lost, step))
            if wanted:
                self._try(measure.sizes(self.known, wanted))

    def _single(self, direction: str) -> None:
        """One flow; once more, and longer, if its handshake was lost on a path that answers echoes."""
        phase = measure.single(self.known, direction)
        self._try(phase)
        one = self.measured()[direction]
        answers = one.ping_loss is not None and one.ping_loss < 1
        if answers and one.single is not None and one.single.error:
            self._try(measure.single(replace(self.known, patient=True), direction))

    def _datagrams(self) -> None:
        reached = self.measured()
        self.known = replace(self.known, mtu=min(self.known.mtu, *map(_whole, reached.values())))
        rates = {way: rate for way, one in reached.items() if (rate := self._below(one))}
        self._try(measure.udp(replace(self.known, rate_bps=rates)))
        for one in self.measured().values():
            if (phase := measure.line(self.known, one)) is not None:
                self._try(phase)

    def _below(self, one: Measured) -> float | None:
        """What TCP reached, or a little where it reached nothing, but not more than the user said."""
        tcp = [found for found in (one.single, one.several) if found is not None and found.goodput_bps]
        reached = max((found.steady_bps or found.goodput_bps for found in tcp), default=None)
        if reached is None and one.ping_loss is not None and one.ping_loss < 1:
            reached = 1e6
        return reached if self.told_bps is None or reached is None else min(reached, self.told_bps)

    def _open(self) -> list[str]:
        """The directions in which TCP gets through."""
        found = self.measured().items()
        return [way for way, one in found if one.single is not None and not _broken(one)]

    def _try(self, phase: Phase | None) -> None:
        """Carry out a phase; once more if it fails, for an end may have been late for a moment."""
        for _ in range(TRIES if phase is not None else 0):
            assert phase is not None
            try:
                self.records[phase.name] = self.bench.run(phase)
            except LabError as error:
                if isinstance(error, CancelledError) or getattr(error, "kind", None) in GONE:
                    raise
                self.failed[phase.name] = error
                continue
            self.failed.pop(phase.name, None)
            self._found = {}
            return


def _whole(one: Measured) -> int:
    """Largest packet that is known to get through: TCP's, or a small one where it did not."""
    if one.single is not None and one.single.pmtu and not one.single.stalled and one.single.goodput_bps:
        return one.single.pmtu
    return CAREFUL


def _broken(one: Measured) -> bool:
    return one.single is None or one.single.stalled or not one.single.goodput_bps
