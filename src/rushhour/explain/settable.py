"""What a scenario can set against a cause, and what that brings: remedies of the rules as `--set`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.causes.evidence import DELAY_BASED
from rushhour.causes.finding import Remedy
from rushhour.causes.thresholds import BELOW_POLICER, LEAST_BURST, UNFAIR, USUAL_INITCWND
from rushhour.explain import aqm
from rushhour.explain.caps import MANAGED_TRIP_S, grown, plain
from rushhour.quantities.short import rounded_up, size

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rushhour.explain.evidence import RecordedFlow
    from rushhour.series.waits import Wait

    Settable = Callable[[RecordedFlow, Remedy], Remedy | None]

SETTLED_TRIPS, HEAVY_LOSS = 200, 0.02
KEPT = 0.8
"""Part of the path that such a sender fills at least."""
OF_POLICED = 0.8
"""Part of a policed rate that a flow paced below it gets at least."""
TARGETS, MANAGED_PACKETS, PACKET_BITS = 3, 3, 12112
"""The median wait that fq_codel keeps: three of its targets, and a few packets of every flow."""
LEAST_BUFFER = 60_000
"""A queue that separates flows needs room for tens of packets, bytes."""


def _faster(asked: str, key: str) -> Settable:
    """A rate that the scenario sets, raised to twice what the path carries, so that it limits no more."""

    def raised(e: RecordedFlow, given: Remedy) -> Remedy:
        if asked not in e.asked or not e.possible_bps:
            return given
        return replace(given, overrides={f"{e.flow_key}.{key}": f"{rounded_up(2 * e.possible_bps)}bit"})

    return raised


def _paced(e: RecordedFlow, given: Remedy) -> Remedy:
    """Every flow of the policer is paced; or the policer passes more at once."""
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


def _by_another(e: RecordedFlow, given: Remedy) -> Remedy:
    """What an algorithm that does not answer single losses brings."""
    if not given.overrides or not e.fair_bps:
        return given
    return replace(given, expected_bps=_by_bbr(e) * (1 - e.wire_loss) * e.fair_bps)


def _by_bbr(e: RecordedFlow) -> float:
    """Part of the path that BBR fills at least: losses end its startup early; it probes each 8 trips."""
    trips = e.length_s / max(e.base_rtt_s or 0.0, 1e-6)
    if trips >= SETTLED_TRIPS:
        return KEPT
    return 0.6 * KEPT if e.wire_loss < HEAVY_LOSS else 0.25 * KEPT


def _longer_queue(e: RecordedFlow, given: Remedy) -> Remedy:
    helps = bool(e.buffer_key) and e.cc not in DELAY_BASED  # those do not fill it
    return replace(given, overrides={e.buffer_key: f"{rounded_up(e.bdp or 0)}B"} if helps else {})


def _separated(e: RecordedFlow, given: Remedy) -> Remedy:
    """The bottleneck's queue separates flows, unless it does."""
    expected = UNFAIR * (e.fair_bps or 0)
    if not e.queue_key or not plain(e.queue):
        return replace(given, expected_bps=expected)
    wanted = max(LEAST_BUFFER, rounded_up(e.bdp or 0))
    short = e.buffer_key and e.buffer is not None and e.buffer < wanted
    overrides = {e.queue_key: aqm.managing(e)} | ({e.buffer_key: f"{wanted}B"} if short else {})
    return replace(given, overrides=overrides, expected_bps=expected)


def _acks_pass(e: RecordedFlow, given: Remedy) -> Remedy:
    """The queue in which ACKs wait separates flows, unless it does."""
    there = e.acks_wait
    if there is None or not there.queue_key or not plain(there.queue):
        return given
    return replace(given, overrides={there.queue_key: aqm.managing(e)})


def _managed(e: RecordedFlow, given: Remedy) -> Remedy | None:
    """The queue that stands manages itself; None where that would not be shorter."""
    longest = e.data_wait
    waited = (e.queue_s if longest is None else longest.median_s) or 0.0
    key, queue = (e.queue_key, e.queue) if longest is None else (longest.queue_key, longest.queue)
    overrides = {key: aqm.managing(e)} if key and plain(queue) else {}
    most = _managed_wait_s(e, longest) if overrides else None
    if overrides and most is None and (e.base_rtt_s or 0) > MANAGED_TRIP_S:
        # Nothing is certain of the wait, and on so long a path a queue that drops early costs rate.
        return replace(given, advice=f"{given.advice} On so long a path that costs part of the rate.")
    if most is not None and most >= waited:
        return None
    return replace(given, overrides=overrides, expected_wait_s=most)


def _managed_wait_s(e: RecordedFlow, wait: Wait | None) -> float | None:
    """The median wait that fq_codel keeps at most; None where senders do not answer it, or the link stops."""
    deaf = [e.cc, *(other.cc for other in e.others)]
    if e.beside or any(cc.startswith("bbr") for cc in deaf) or not e.possible_bps:
        return None
    streams = 1 + len(e.others) if wait is None else wait.streams
    rate_bps = e.possible_bps if wait is None or not wait.rate_bps else wait.rate_bps
    if wait is not None and wait.least_bps is not None:
        if not wait.least_bps:
            return None
        rate_bps = wait.least_bps  # half of the time it may be that slow
    return TARGETS * aqm.target_s(e) + MANAGED_PACKETS * streams * PACKET_BITS / rate_bps


def _window_already_larger(e: RecordedFlow, given: Remedy) -> Remedy:
    """No larger initial window where the route has one."""
    larger = (e.first.initcwnd or 0) > USUAL_INITCWND
    return replace(given, advice="Keep connections open and use them again.") if larger else given


SETTABLE: Mapping[str, Settable] = {
    "slow-reader": _faster("read_bps", "read_rate"),
    "slow-writer": _faster("rate_bps", "rate"),
    "pacing": _faster("pacing_bps", "pacing"),
    "policer": _paced,
    "slow-start": _window_already_larger,
    "random-loss": _by_another,
    "impatient-queue": aqm.more_patient,
    "shallow-queue": _longer_queue,
    "other-algorithm": _separated,
    "longer-path": _separated,
    "ack-queue": _acks_pass,
    "bufferbloat": _managed,
}
"""Cause → its remedy with what the scenario can set, and what that brings."""
