"""What time it is at a host: its CLOCK_MONOTONIC minus ours, and how exactly that is known.

One exchange bounds the offset: the host read its clock somewhere between our question and its answer, so the
middle is wrong by half the round trip at most, whatever the two ways took. The exchange with the smallest
round trip wins (the clock filter of NTP, RFC 5905, section 10). Clocks also run apart: 15 parts per million
are allowed for every second between measuring and use (PHI, ibid., section 7.2).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.lab.host.session import Timed

SAMPLES = 32
_FEWEST = 4
_WITHIN_NS = 500_000_000
_PHI_PPM = 15
_BOOT = Path("/proc/sys/kernel/random/boot_id")


class Asked(Protocol):
    """What is asked for its time: a `Session`."""

    @property
    def hello(self) -> Mapping[str, Any]:
        """Who answers (`rushhour.lab.host.answers.Hello`)."""

    def timed(self, verb: str) -> Timed:
        """An answer, and when it was asked for and heard."""
        ...


@dataclass(frozen=True)
class Offset:
    """A host's CLOCK_MONOTONIC minus ours: `ns`, known to ± `error_ns`, measured when ours was `at_ns`."""

    ns: int
    error_ns: int
    at_ns: int

    def theirs(self, ours_ns: int) -> int:
        """The host's clock at an instant of ours."""
        return ours_ns + self.ns

    def ours(self, theirs_ns: int) -> int:
        """Our clock at an instant of the host's."""
        return theirs_ns - self.ns


@dataclass(frozen=True)
class Clock:
    """A host's clock over a while, from its offset before and after."""

    before: Offset
    after: Offset

    @property
    def drift_ppm(self) -> float:
        """By how much it runs faster than ours, in parts per million; 0 where none could be seen."""
        change = self.after.ns - self.before.ns
        if abs(change) <= self.before.error_ns + self.after.error_ns:
            return 0.0
        return change / max(self.after.at_ns - self.before.at_ns, 1) * 1e6

    @property
    def error_ns(self) -> int:
        """How far off `ours` can be between the two measurements."""
        wander = (self.after.at_ns - self.before.at_ns) * _PHI_PPM // 2_000_000
        worst = max(self.before.error_ns, self.after.error_ns)
        return worst + wander if worst else 0

    def ours(self, theirs_ns: int) -> int:
        """Our clock at an instant of the host's: the offset goes from one measurement's to the other's."""
        begin, end = self.before.theirs(self.before.at_ns), self.after.theirs(self.after.at_ns)
        if end <= begin:
            return self.before.ours(theirs_ns)
        share = (theirs_ns - begin) / (end - begin)
        change = self.after.ns - self.before.ns
        return theirs_ns - self.before.ns - round(change * min(max(share, 0.0), 1.0))


def offset(session: Asked, samples: int = SAMPLES) -> Offset:
    """Measure a host's clock: up to so many exchanges within half a second.

    A host that is this machine has the offset 0, exactly, unless it has a clock of its own all the same
    (a time namespace).

    Raises:
        HostError: the host does not answer.
    """
    begin = time.monotonic_ns()
    found = [_exchange(session)]
    while len(found) < samples and (len(found) < _FEWEST or time.monotonic_ns() - begin < _WITHIN_NS):
        found.append(_exchange(session))
    best = min(found, key=lambda one: one.error_ns)
    aged = (found[-1].at_ns - best.at_ns) * _PHI_PPM // 1_000_000
    best = replace(best, error_ns=best.error_ns + aged)
    here = session.hello["boot_id"] == _BOOT.read_text(encoding="ascii").strip()
    return replace(best, ns=0, error_ns=0) if here and abs(best.ns) <= best.error_ns else best


def offsets(sessions: Mapping[str, Asked], samples: int = SAMPLES) -> dict[str, Offset]:
    """Measure the clocks of hosts; those that share one machine have one offset, the best known.

    Raises:
        HostError: a host does not answer.
    """
    found = {name: offset(session, samples) for name, session in sessions.items()}
    for name, own in found.items():
        boot = sessions[name].hello["boot_id"]
        same = [found[other] for other, session in sessions.items() if session.hello["boot_id"] == boot]
        shared = [one for one in same if abs(one.ns - own.ns) <= one.error_ns + own.error_ns]
        found[name] = min(shared, key=lambda one: one.error_ns)
    return found


def _exchange(session: Asked) -> Offset:
    answer = session.timed("clock")
    theirs = int(answer.value["monotonic_ns"])
    trip = answer.received_ns - answer.sent_ns
    middle = answer.sent_ns + trip // 2
    # Half a nanosecond was lost by halving.
    return Offset(theirs - middle, trip // 2 + 1, middle)
