"""Causes that keep a window small: losses and what they come from, timeouts, marks.

The rules on losses are those of every flow (`rushhour.causes.rules`); here is what a scenario can set.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.causes import rules
from rushhour.causes.evidence import DELAY_BASED
from rushhour.causes.finding import Remedy
from rushhour.causes.thresholds import BELOW_POLICER, LEAST_BURST, SHALLOW
from rushhour.explain import aqm
from rushhour.explain.caps import grown
from rushhour.explain.hosts import by_rule
from rushhour.explain.words import found, part, remedy, told
from rushhour.quantities.short import percent, rounded_up, size

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rushhour.causes.evidence import Named
    from rushhour.causes.finding import Finding
    from rushhour.explain.evidence import RecordedFlow

SETTLED_TRIPS, HEAVY_LOSS = 200, 0.02
KEPT = 0.8
"""Part of the path that such a sender fills at least."""
OF_POLICED = 0.8
"""Part of a policed rate that a flow paced below it gets at least."""
LIMITS = {"sack-off": "sack", "impatient-queue": "impatient"}
"""Causes whose remedy takes away another limit than the losses."""


def origin(e: RecordedFlow) -> Finding | None:
    """Where its losses come from."""
    return _told(e, rules.named(e, "losses", _share(e)))


def policer(e: RecordedFlow) -> Finding | None:
    """What a policer drops, whatever else there is."""
    return _told(e, rules.policer(e, _share(e)))


def random_loss(e: RecordedFlow) -> Finding | None:
    """What chance takes, whatever else there is."""
    return _told(e, rules.random_loss(e, _share(e)))


def no_sack(e: RecordedFlow) -> Finding | None:
    """Timeouts, because without SACK several losses in a window are not repaired in time."""
    return _told(e, rules.no_sack(e, _share(e)))


def impatient_queue(e: RecordedFlow) -> Finding | None:
    """Marks of a queue that is too quick for the path."""
    share = e.shares.get("losses", 0.0) + e.shares.get("marks", 0.0)
    finding = _told(e, rules.impatient_queue(e, share))
    return finding and replace(finding, limited=share)


def _told(e: RecordedFlow, one: Named | None) -> Finding | None:
    if one is None:
        return None
    finding = told(e, one, _share(e), LIMITS.get(one.key, ""))
    more = _SET.get(one.key)
    return finding if more is None else replace(finding, remedy=more(e, finding.remedy))


def _paced(e: RecordedFlow, given: Remedy | None) -> Remedy | None:
    """Every flow of the policer is paced; or the policer passes more at once."""
    if given is None:
        return None
    limit, sharing = e.policer_bps or 0, 1 + len(e.policed_too)
    burst = max(int(LEAST_BURST), rounded_up(limit * (e.base_rtt_s or 0) / 8))
    small = e.bucket is not None and e.bucket < burst
    or_burst = f"; or let the policer pass a burst of {size(burst)}, one BDP." if small else "."
    overrides = {
        key: value
        for name, value in given.overrides.items()
        for key in dict.fromkeys((name, *(f"flow.{group}.pacing" for group in e.policed_too)))
    }
    instead = {e.burst_key: f"{burst}B"} if e.burst_key and small else {}
    left = max(0.0, BELOW_POLICER * limit - e.taken_bps)
    expected = grown(e, OF_POLICED / BELOW_POLICER * left / sharing) or None
    return Remedy(given.advice[:-1] + or_burst, (), overrides, expected, instead=instead)


def _by_another(e: RecordedFlow, given: Remedy | None) -> Remedy | None:
    """What an algorithm that does not answer single losses brings."""
    if given is None or not given.overrides or not e.fair_bps:
        return given
    return replace(given, expected_bps=_by_bbr(e) * (1 - e.wire_loss) * e.fair_bps)


def _by_bbr(e: RecordedFlow) -> float:
    """Part of the path that BBR fills at least: losses end its startup early; it probes each 8 trips."""
    trips = e.length_s / max(e.base_rtt_s or 0.0, 1e-6)
    if trips >= SETTLED_TRIPS:
        return KEPT
    return 0.6 * KEPT if e.wire_loss < HEAVY_LOSS else 0.25 * KEPT


def _longer_queue(e: RecordedFlow, given: Remedy | None) -> Remedy | None:
    helps = bool(e.buffer_key) and e.cc not in DELAY_BASED  # those do not fill it
    return given and replace(given, overrides={e.buffer_key: f"{rounded_up(e.bdp or 0)}B"} if helps else {})


_SET: Mapping[str, Callable[[RecordedFlow, Remedy | None], Remedy | None]] = {
    "policer": _paced,
    "random-loss": _by_another,
    "impatient-queue": aqm.more_patient,
    "shallow-queue": _longer_queue,
}
"""Cause → its remedy with what the scenario can set, and what that brings."""


def would_overflow(e: RecordedFlow) -> Finding | None:
    """The queue at the bottleneck is too short for more, though nothing was dropped yet."""
    if e.buffer is None or e.buffer >= SHALLOW * (e.bdp or 0) or e.cc.startswith("bbr"):
        return None
    if e.asked.get("bytes", math.inf) <= e.buffer:
        return None  # all of it fits
    says = (
        f"Behind that, the queue at {e.bottleneck} holds {size(e.buffer)}, the path {size(e.bdp or 0)}: it "
        "would run over long before the window fills the path."
    )
    return found(
        "shallow-queue", 0.0, says, _longer_queue(e, remedy(e, rules.longer_queue(e))), limit="shallow"
    )


def timeouts(e: RecordedFlow) -> Finding | None:
    """Nothing came back that could have told of the loss; the sender waited."""
    where = f"; {percent(e.wire_loss)} of its packets were lost on the way" if e.wire_loss else ""
    where = f"; the queue at {e.bottleneck} dropped {e.queue_drops} packets" if e.queue_drops else where
    says = (
        f"It waited {part(e, 'timeouts')} for retransmission timeouts ({e.timeouts}), each of 200 ms and "
        f"more{where}."
    )
    advice = "Repair the link: timeouts come where a whole window, or its end, is lost."
    if e.queue_drops:
        advice = (
            "Fewer senders at a time, a longer queue there, or marks (ECN); within a data centre a shorter "
            "least timeout (ip route change … rto_min 5ms)."
        )
    return found("timeouts", e.shares.get("timeouts", 0.0), says, Remedy(advice))


def marked(e: RecordedFlow) -> Finding | None:
    """Marks keep the window low."""
    finding = by_rule(e, "marks")
    advice = f"Let the queue at {e.bottleneck} mark later; or send with dctcp, at both ends."
    return finding and replace(finding, remedy=Remedy(advice))


def _share(e: RecordedFlow) -> float:
    return e.shares.get("losses", 0.0) + e.shares.get("timeouts", 0.0)
