"""Two kernels, the same scripts: which of them went otherwise, and where first."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal

from rushhour.packetdrill import lines, packets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rushhour.packetdrill.outcome import Outcome
    from rushhour.packetdrill.packets import Packet

Word = Literal["same", "better", "departs", "worse", "invalid", "skipped"]

WORDS: dict[Word, str] = {
    "worse": "passed, and does not any more",
    "departs": "with the same outcome, other packets or times",
    "better": "did not pass, and does now",
    "invalid": "packetdrill itself failed on the base, or the guest did",
    "skipped": "not compared: a kernel, the machine or packetdrill lacks what it needs",
    "same": "the same outcome, packets and times",
}
"""What can be said of a script, the worst first."""

LEAST_NS = 10_000
"""By how much a packet's time has to differ to count, in ns: see `docs/packetdrill.md`."""
# What says nothing of TCP.
_NOT_JUDGED = {"program", "script", "newer"}


@dataclass(frozen=True)
class Trace:
    """A script's packets on one kernel; `zero_ns` is the begin of the script's time."""

    packets: Sequence[Packet]
    zero_ns: int = 0

    def time_s(self, packet: Packet) -> float:
        """A packet's time as a script has it."""
        return (packet.time_ns - self.zero_ns) / 1e9


@dataclass(frozen=True)
class Divergence:
    """The first packet that is not the same on both.

    `line` is the script's (0: it stands in none, or after the last that was reached); `what` says in a few
    words what differs; `base` and `candidate` are the packets with their times, empty where there is none.
    """

    line: int
    what: str
    base: str
    candidate: str
    base_s: float | None
    candidate_s: float | None
    minor: bool = False


@dataclass(frozen=True)
class Change:
    """A script with one kind of addresses, on both kernels.

    `divergence` is the first packet that differs; `later`, where that one is minor, the first that is not.
    """

    base: Outcome
    candidate: Outcome
    word: Word
    divergence: Divergence | None = None
    later: Divergence | None = None

    @property
    def reason(self) -> str:
        """What happened, in a few words; empty where it is the same."""
        if self.word == "same":
            return ""
        states = [_state(self.base), _state(self.candidate)]
        if states[0] == states[1]:
            return f"both {states[0]}"
        return f"{states[0]} → {states[1]}"


def compare(base: Outcome, candidate: Outcome, text: str, least_ns: int = LEAST_NS) -> Change:
    """Compare what came of a script on two kernels.

    Args:
        base: on the trusted one.
        candidate: on the judged one.
        text: the script.
        least_ns: the difference of a packet's times that counts.
    """
    first = later = None
    for one in divergences(base, candidate, text, least_ns):
        if first is None and one.minor:
            first = one
        elif not one.minor:
            first, later = (one, None) if first is None else (first, one)
            break
    return Change(base, candidate, _word(base, candidate, first), first, later)


def _word(base: Outcome, candidate: Outcome, parted: Divergence | None) -> Word:
    if {base.kind, candidate.kind} & _NOT_JUDGED or base.kind == "setting":
        return "skipped"
    if base.kind == "crash":
        return "invalid"
    passed = (base.status == "pass", candidate.status == "pass")
    if passed == (True, False):
        return "worse"
    if passed == (False, True):
        return "better"
    failures = [(one.kind, one.line) for one in (base, candidate)]
    return "departs" if parted is not None or failures[0] != failures[1] else "same"


def _state(outcome: Outcome) -> str:
    if outcome.status == "pass":
        return "passed"
    at = f" at line {outcome.line}" if outcome.line else ""
    return f"failed{at} ({outcome.kind})"


def divergences(base: Outcome, candidate: Outcome, text: str, least_ns: int) -> Iterator[Divergence]:
    """The packets that differ in what they say, or in time by more than `least_ns`, in order."""
    sides = (trace(base), trace(candidate))
    shift_ns = sides[1].zero_ns - sides[0].zero_ns
    if all(side.packets for side in sides):
        # Exact to the nanosecond between packets; where scripts begin is known to the microsecond.
        began = [side.packets[0].time_ns for side in sides]
        if abs(began[1] - began[0] - shift_ns) <= least_ns:
            shift_ns = began[1] - began[0]
    script = lines.Reader(text)
    for one, other in zip_longest(*(side.packets for side in sides)):
        what, minor = _differs(one, other, shift_ns, least_ns)
        first = one or other
        if what:
            line = _reached(script.line(sent=first.sent), (base, candidate))
            yield _told(sides, (one, other), what, line, minor=minor)
        script.take(first.size, sent=first.sent)


def trace(outcome: Outcome) -> Trace:
    """What was captured of a script."""
    found = packets.read(outcome.capture) if outcome.capture else []
    zero_ns = found[0].time_ns - outcome.first_ns if found and outcome.first_ns is not None else 0
    return Trace(found, zero_ns)


def _differs(one: Packet | None, other: Packet | None, shift_ns: int, least_ns: int) -> tuple[str, bool]:
    """What differs, in a few words (empty: nothing), and whether that is minor."""
    if one is None or other is None:
        return ("a packet more" if one is None else "a packet less"), False
    mine, theirs = (_parts(packet) for packet in (one, other))
    if mine[0] != theirs[0]:
        return "another packet", False
    apart_ns = other.time_ns - one.time_ns - shift_ns
    if abs(apart_ns) > least_ns:
        return f"{abs(apart_ns) / 1e6:.3f} ms {'later' if apart_ns > 0 else 'earlier'}", False
    if mine[1] != theirs[1]:
        return "another window", True
    return ("other options", True) if mine[2] != theirs[2] else ("", False)


def _parts(packet: Packet) -> tuple[object, str, str]:
    """What a packet is; the window that it announces; its options."""
    head, _, options = packet.text.partition(" <")
    what, _, window = head.partition(" win ")
    return (packet.sent, packet.connection, what), window, options


def _reached(line: int, outcomes: tuple[Outcome, Outcome]) -> int:
    """The line, unless a script failed before it."""
    failed = [one.line for one in outcomes if one.kind in ("packet", "time", "call") and one.line]
    return line if all(line <= one for one in failed) else 0


def _told(
    sides: tuple[Trace, Trace],
    pair: tuple[Packet | None, Packet | None],
    what: str,
    line: int,
    *,
    minor: bool,
) -> Divergence:
    times = [side.time_s(packet) if packet else None for side, packet in zip(sides, pair, strict=True)]
    words = [
        f"{time:.6f} {'>' if packet.sent else '<'} {packet.text}" if packet and time is not None else ""
        for packet, time in zip(pair, times, strict=True)
    ]
    return Divergence(line, what, words[0], words[1], times[0], times[1], minor)


def verdict(changes: Sequence[Change]) -> Word:
    """The word of all of them: the worst one's."""
    found = {change.word for change in changes} - {"skipped"}
    return next((word for word in WORDS if word in found), "invalid")
