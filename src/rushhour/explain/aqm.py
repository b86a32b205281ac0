"""Queues that manage themselves, set for shorter round trips than the path's: they drop or mark too early."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from rushhour.causes.evidence import Shown
from rushhour.causes.finding import Remedy
from rushhour.causes.thresholds import CODEL_INTERVAL_S, PATIENT
from rushhour.explain.words import part
from rushhour.quantities.short import rounded_up, time
from rushhour.quantities.units import Duration, UnitError
from rushhour.quantities.words import happened
from rushhour.tc.kinds import INTERVAL

if TYPE_CHECKING:
    from rushhour.explain.evidence import RecordedFlow

MANAGED = "fq_codel"
TARGET_S = 0.005
TARGET_PART = 0.05
"""Target over interval; 5 to 10 % serve (RFC 8289, section 4.3)."""
_SETTINGS = re.compile(r"\s+(target|interval)\s+(\S+)")


def impatient(e: RecordedFlow) -> Shown | None:
    """What shows that CoDel takes a queue for a standing one that a sender has not even heard of."""
    if not patient(e) or not e.queue_drops + e.marked:
        return None
    what = (
        happened(e.marked, "segment", "taken for marked")
        if e.marked
        else happened(e.queue_drops, "packet", "dropped")
    )
    return Shown({
        "what": what, "where": f"at {e.bottleneck}", "interval": time(interval_s(e.queue)),
        "trip": time(e.base_rtt_s or 0), "held": part(e, "marks" if e.marked else "losses"),
    })  # fmt: skip


def more_patient(e: RecordedFlow, _: Remedy) -> Remedy:
    """The same queue with an interval that fits the path."""
    wanted = patient(e)
    advice = f"Give that queue an interval of a round trip, its target a part of that: {wanted}."
    overrides = {e.queue_key: wanted} if e.queue_key else {}
    needed = rounded_up(e.bdp or 0)
    if overrides and e.buffer_key and e.buffer is not None and e.buffer < needed:
        overrides[e.buffer_key] = f"{needed}B"
    return Remedy(advice, (), overrides)


def interval_s(queue: str) -> float:
    """The interval of a CoDel queue, in tc's words."""
    found = dict(_SETTINGS.findall(queue)).get("interval")
    if found is None:
        return CODEL_INTERVAL_S
    try:
        return Duration.parse(found).ns * 1e-9
    except UnitError:
        return CODEL_INTERVAL_S


def patient(e: RecordedFlow) -> str:
    """The words of the same queue with an interval of this path's round trip; empty where it has that."""
    trip = e.base_rtt_s or 0.0
    if e.queue.partition(" ")[0] not in INTERVAL or trip <= PATIENT * interval_s(e.queue):
        return ""
    return _SETTINGS.sub("", e.queue) + _settings(trip)


def managing(e: RecordedFlow) -> str:
    """The words of a queue that manages itself and separates flows, fit for this path's round trip."""
    trip = e.base_rtt_s or 0.0
    return MANAGED + (_settings(trip) if trip > CODEL_INTERVAL_S else "")


def target_s(e: RecordedFlow) -> float:
    """The target of such a queue: the wait that it lets stand."""
    return max(TARGET_S, TARGET_PART * (e.base_rtt_s or 0.0))


def _settings(trip: float) -> str:
    interval = math.ceil(trip * 1e3)
    return f" target {max(1, math.ceil(interval * TARGET_PART))}ms interval {interval}ms"
