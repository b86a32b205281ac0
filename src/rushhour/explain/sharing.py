"""Causes where the path is full: of this flow as it should be, of a standing queue, or of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.explain.finding import Finding, Remedy
from rushhour.explain.words import percent, rate, time

if TYPE_CHECKING:
    from rushhour.explain.evidence import Evidence, Other

_MOST = 0.9
"""Share of a flow's time from which on nothing but the path limits it."""

STANDING_S = 0.02
"""A queue whose median wait is longer, and longer than the idle round trip, is bufferbloat: four times the
5 ms that CoDel aims at (RFC 8289)."""
UNFAIR = 0.6
"""Below this part of an equal share a flow counts as pushed aside; a fair queue gives it at least that."""
RTT_BIAS = 1.5
"""From this ratio of base RTTs on, the longer path explains the smaller share."""
MANAGED = "fq_codel"


def pushed_aside(e: Evidence) -> Finding | None:
    """The path is full, but of others."""
    fair = e.fair_bps
    if not e.others or fair is None or e.goodput_bps >= UNFAIR * fair:
        return None
    big = max(e.others, key=lambda other: other.goodput_bps)
    says = (
        f"{e.name} had {rate(e.goodput_bps)}, and an equal share is {rate(fair)}: {big.name} ({big.cc}) had "
        f"{rate(big.goodput_bps)}."
    )
    share = e.shares.get("path", 0.0)
    separate = f"separate the flows in the queue at {e.bottleneck} (fq_codel, cake, fq)."
    if big.cc != e.cc:
        remedy = Remedy(f"Use one algorithm on this path, or {separate}", "", _queue(e), UNFAIR * fair)
        return Finding("other_algorithm", share, f"{says} {e.cc} gives way to {big.cc}.", remedy)
    if _longer(e, big):
        says += (
            f" Its round trip is longer ({time(e.base_rtt_s or 0)}, not {time(big.base_rtt_s or 0)}), so its "
            "window grows more slowly."
        )
        remedy = Remedy(separate.capitalize(), "", _queue(e), UNFAIR * fair)
        return Finding("longer_path", share, says, remedy)
    return Finding("unequal", share, f"{says} The flows had not come to equal shares.")


def _longer(e: Evidence, other: Other) -> bool:
    return bool(e.base_rtt_s and other.base_rtt_s and e.base_rtt_s >= RTT_BIAS * other.base_rtt_s)


def _queue(e: Evidence) -> dict[str, str]:
    return {e.queue_key: MANAGED} if e.queue_key else {}


def bufferbloat(e: Evidence) -> Finding | None:
    """The path is full and its queue stands."""
    if e.queue_s is None or e.queue_s < max(STANDING_S, e.base_rtt_s or 0):
        return None
    says = (
        f"{_full(e)} Its queue at {e.bottleneck} makes everything behind it wait {time(e.queue_s)}, on an "
        f"idle round trip of {time(e.base_rtt_s or 0)}."
    )
    advice = (
        f"No rate is to be gained; for delay's sake let {e.bottleneck} manage its queue (fq_codel, cake)."
    )
    return Finding("bufferbloat", e.shares.get("path", 0.0), says, Remedy(advice, "", _queue(e)))


def sender_shaper(e: Evidence) -> Finding | None:
    """The bottleneck is a shaper on the sender, where TCP small queues hold back what would wait."""
    if not e.at_sender:
        return None
    possible = f" of {rate(e.possible_bps)}" if e.possible_bps else ""
    says = (
        f"{e.name} had {rate(e.goodput_bps)}{possible}: the shaper on {e.sender} itself is the limit. TCP "
        "small queues keep its queue short, so the window says nothing about the network behind."
    )
    return Finding("sender_shaper", e.shares.get("path", 0.0), says)


def full_path(e: Evidence) -> Finding | None:
    """As it should be."""
    return Finding("path", e.shares.get("path", 0.0), _full(e))


def _full(e: Evidence) -> str:
    if e.others:
        return (
            f"{e.name} had {rate(e.goodput_bps)}, and an equal share of {e.bottleneck} among "
            f"{1 + len(e.others)} flows is {rate(e.fair_bps or 0)}: the path was full."
        )
    possible = f" of {rate(e.possible_bps)}" if e.possible_bps else ""
    share = e.shares.get("path", 0.0)
    if share < _MOST:
        had = f"{e.name} had {rate(e.goodput_bps)}{possible}"
        return f"{had}: for {percent(share)} of its time the path was full."
    return f"{e.name} had {rate(e.goodput_bps)}{possible}: the path was full, nothing else limits."
