"""Options of TCP that both ends must have: a table of switches, each with what weighs its absence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushhour.causes.finding import Proof, finding
from rushhour.causes.telling import sentence
from rushhour.causes.thresholds import LETS_ENOUGH, SEGMENT_LIFETIME_S, UNSCALED
from rushhour.diagnosis.rules import common
from rushhour.diagnosis.rules.common import told
from rushhour.diagnosis.shown import plain
from rushhour.quantities.short import percent, rate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rushhour.causes.cause import Severity
    from rushhour.causes.finding import Finding
    from rushhour.diagnosis.case import Case
    from rushhour.diagnosis.facts import Number

_DIRECTIONS = ("a→b", "b→a")


@dataclass(frozen=True)
class Weight:
    """How grave it is on a path that an option is off, and what shows it; `proof` ends the title."""

    severity: Severity = "note"
    evidence: tuple[Proof, ...] = ()
    gain: str | None = None
    limited: float | None = None
    proof: str = ""


@dataclass(frozen=True)
class Switch:
    """A setting that is 0 or 1 at each end; `tune` switches all of them on.

    `weigh` gives None where its absence does not matter on the path; a `gain` of its weight comes before its
    own.
    """

    key: str
    sysctl: Number
    gain: str | None
    weigh: Callable[[Case], Weight | None]

    def found(self, case: Case) -> Iterator[Finding]:
        """The finding, if it is off at an end and that matters."""
        name = self.sysctl
        values = {end: facts.number(name) for end, facts in common.ends(case)}
        off = [end for end, value in values.items() if value == 0]
        weight = self.weigh(case) if off else None
        if weight is None:
            return
        hosts = " and ".join(common.name(case, end) for end in off)
        known = tuple(told(end, name, plain(value)) for end, value in values.items() if value is not None)
        yield finding(
            self.key,
            weight.severity,
            sentence(self.key, hosts=hosts, proof=weight.proof),
            off[0],
            evidence=known + weight.evidence,
            gain=weight.gain or self.gain,
            limited=weight.limited,
            fix=tuple(common.sysctl(end, name, 1) for end in off),
        )


def _scaling(case: Case) -> Weight:
    rtt = common.rtt_ns(case)
    flows = {direction: common.rate_bps(case, direction) or 0.0 for direction in _DIRECTIONS}
    direction = max(flows, key=lambda one: flows[one])
    limit = UNSCALED * 8e9 / rtt if rtt else None
    limited = common.limited(case, direction, "receiver")
    if limit is None:
        return Weight(limited=limited)
    proof = f", {rate(limit)} on this path"
    if limit >= LETS_ENOUGH * flows[direction] or common.is_full(case, direction):
        return Weight(limited=limited, proof=proof)
    gain = f"up to {rate(flows[direction])} instead of {rate(limit)}"
    return Weight("critical", gain=gain, limited=limited, proof=proof)


def _repair(case: Case) -> Weight:
    again = {direction: common.retransmitted(case, direction) for direction in _DIRECTIONS}
    direction = max(again, key=lambda one: again[one])
    if again[direction] <= 0:
        return Weight()
    return Weight("warning", (Proof(direction, "segments sent again", percent(again[direction])),))


def _wrapping(case: Case) -> Weight:
    fastest = max(common.rate_bps(case, direction) or 0.0 for direction in _DIRECTIONS)
    wraps_s = 2**32 * 8 / fastest if fastest else None
    if wraps_s is None or wraps_s >= SEGMENT_LIFETIME_S:
        return Weight()
    return Weight("warning", (told("a→b", "sequence numbers come round in", f"{wraps_s:.0f} s"),))


def _spurious(case: Case) -> Weight | None:
    lossy = any(common.retransmitted(case, direction) > 0 for direction in _DIRECTIONS)
    return Weight() if lossy else None


WINDOW_SCALING = Switch(
    "window-scaling-off",
    "net.ipv4.tcp_window_scaling",
    None,
    _scaling,
)
SACK = Switch(
    "sack-off",
    "net.ipv4.tcp_sack",
    "losses are repaired within one round trip",
    _repair,
)
TIMESTAMPS = Switch(
    "timestamps-off",
    "net.ipv4.tcp_timestamps",
    "better retransmission timeouts; spurious retransmissions are recognised",
    _wrapping,
)
DSACK = Switch(
    "dsack-off",
    "net.ipv4.tcp_dsack",
    "windows that were cut for nothing are restored",
    _spurious,
)
SWITCHES = (WINDOW_SCALING, SACK, DSACK, TIMESTAMPS)
