"""Causes at the two ends: what the rules of every flow say, opening a connection, and a short transfer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.causes.finding import Remedy
from rushhour.causes.rules import named
from rushhour.explain.words import found, part, told
from rushhour.quantities.short import rounded_up, time

if TYPE_CHECKING:
    from rushhour.causes.finding import Finding
    from rushhour.explain.evidence import RecordedFlow

FASTER = {
    "reader": ("read_bps", "read_rate"),
    "application": ("rate_bps", "rate"),
    "pacing": ("pacing_bps", "pacing"),
}
"""A rate that a scenario may set, and its key."""


def by_rule(e: RecordedFlow, limit: str) -> Finding | None:
    """What the rules of every flow say of a limit."""
    share = e.shares.get(limit, 0.0)
    one = named(e, limit, share)
    if one is None:
        return None
    finding = told(e, one, share)
    return replace(finding, remedy=_faster(e, finding.remedy, *FASTER[limit])) if limit in FASTER else finding


def _faster(e: RecordedFlow, remedy: Remedy | None, asked: str, key: str) -> Remedy | None:
    """A rate that the scenario sets, raised to twice what the path carries, so that it limits no more."""
    if remedy is None or asked not in e.asked or not e.possible_bps:
        return remedy
    return replace(remedy, overrides={f"{e.flow_key}.{key}": f"{rounded_up(2 * e.possible_bps)}bit"})


def receiver(e: RecordedFlow) -> Finding | None:
    """The receiver's window; not one that holds the idle path, where the round trip is long as ACKs wait."""
    finding = by_rule(e, "receiver")
    waits = e.acks_wait is not None and finding is not None and finding.remedy is None
    return None if waits else finding


def handshake(e: RecordedFlow) -> Finding | None:
    """Opening the connection took a good part of the time."""
    if not e.handshake_s:
        return None
    says = (
        f"It took {time(e.handshake_s)} of {time(e.handshake_s + e.length_s)} in all to open its connection"
    )
    if e.syns:
        times = "once, after a wait" if e.syns == 1 else f"{e.syns} times, each after a wait"
        says += f": its SYN was sent again {times} of 1 s or more."
        advice = (
            "Repair the link; a SYN has nothing to measure its timeout by. Keep connections open and use "
            "them again."
        )
    else:
        says += ": one round trip before the first byte."
        advice = "Keep connections open and use them again, or send data with the SYN (TCP Fast Open)."
    return found("handshake", e.shares.get("handshake", 0.0), says, Remedy(advice))


def slow_start(e: RecordedFlow) -> Finding | None:
    """The transfer was over before the window had grown."""
    trip = f" of {time(e.base_rtt_s)}" if e.base_rtt_s else ""
    says = (
        f"It was in slow start {part(e, 'slow_start')} ({time(e.length_s)} in all), its window not yet grown "
        f"to what the path holds. Each doubling takes a round trip{trip}."
    )
    if e.syns:
        says += (
            " A lost SYN sets the slow-start threshold as lost data would: the window is past it from the "
            "start, and grows by a segment a round trip."
        )
    advice = (
        "Keep connections open and use them again, or give the route a larger initial window "
        "(ip route change … initcwnd 20)."
    )
    return found("slow-start", e.shares["slow_start"], says, Remedy(advice))


def small_window(e: RecordedFlow) -> Finding | None:
    """The algorithm itself stays small: it follows delay, or paces."""
    finding = by_rule(e, "window")
    if finding is None or e.shares.get("window"):
        return finding
    says = f"{e.cc} takes the path's delay for congestion, and gives way to what fills the queue."
    return replace(finding, title=says)
