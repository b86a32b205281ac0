"""Where packets wait: the round trip taken apart by direction and queue.

Takes a record and a flow, gives the wait in each queue that its data cross, and in each that its ACKs cross.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rushhour.record import courses
from rushhour.record.classes import class_of, held, place
from rushhour.record.keys import of_queue
from rushhour.series.class_queue import drained_bps, in_use, waits_s
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from rushhour.record.context import End, Flow
    from rushhour.record.record import Record

    Numbers = NDArray[np.float64]


_STREAMS = kinds.STREAMS


@dataclass(frozen=True)
class Wait:
    """How long packets waited in one queue while a flow was active.

    Attributes:
        label: The link end that holds the queue, and which class of it.
        acks: Whether the flow's ACKs wait there; otherwise its data do.
        median_s: Median wait in s, at most the flow's median RTT (over time) above that of the idle path.
        part: Share of the readings in which anything waited.
        rate_bps: The rate at which the queue empties; `least_bps` the least that a pattern makes of it.
        flows: Groups of TCP and UDP flows whose data wait in it; `streams` is how many flows these are.
        buffer: Bytes that the queue holds, where that is given in bytes; `buffer_key` its key.
        queue: Its discipline, in tc's words; `queue_key` is the scenario's key of it, empty where not plain.

    Of an end with classes it is the queue of the flow's class.
    """

    label: str
    acks: bool
    median_s: float
    part: float
    rate_bps: float
    queue: str
    queue_key: str
    flows: tuple[str, ...] = ()
    streams: int = 0
    buffer_key: str = ""
    buffer: float | None = None
    least_bps: float | None = None


def waits(record: Record, flow: Flow) -> tuple[Wait, ...]:
    """The wait in every queue with a rate on the flow's ways, the longest first."""
    span = flow.active_ns
    if span is None or not record.has("qdisc"):
        return ()
    found = [
        wait
        for acks in (False, True)
        for end in _ends(record, flow, acks=acks)
        if (wait := _wait(record, flow, end, span, acks=acks)) is not None
    ]
    # Where flows are separated, what waits there is not all before this one: its RTT tells.
    series = record.series("srtt_queue_delay_us", flow=flow.id)
    known = ~np.isnan(series.values)
    above = median_over_time(series.t_s[known], series.values[known], span[1] * 1e-9)
    most = np.inf if above is None else max(0.0, above) * 1e-6
    found = [replace(wait, median_s=min(wait.median_s, most)) for wait in found]
    return tuple(sorted(found, key=lambda wait: -wait.median_s))


def median_over_time(t_s: Numbers, values: Numbers, end_s: float) -> float | None:
    """The value below which a curve is for half of its time until `end_s`; each holds until the next.

    A median of readings alone would count a time by how many ACKs it had: few where all waited long.
    """
    if not len(values):
        return None
    held = np.diff(t_s, append=max(end_s, float(t_s[-1])))
    order = np.argsort(values, kind="stable")
    until = np.cumsum(held[order])
    if not until[-1]:
        return float(np.median(values))
    return float(values[order][np.searchsorted(until, until[-1] / 2)])


def waiting_s(record: Record, flow: Flow, edges: Numbers, *, acks: bool) -> Numbers:
    """Mean wait of data, or of `acks`, in the queues of their way between edges in s [n + 1].

    Of several ways that are taken by turns or at random the longest wait counts.
    """
    total = np.zeros(len(edges) - 1)
    if not record.has("qdisc"):
        return total
    ends = record.context.ends
    for way in flow.reverse_ways if acks else flow.ways:
        waited = np.zeros(len(edges) - 1)
        for number in way:
            if number in ends:
                waited += _mean(record, flow, ends[number], edges)
        total = np.maximum(total, waited)
    series = record.series("srtt_queue_delay_us", flow=flow.id)
    known = ~np.isnan(series.values)
    if not known.any():
        return total
    above: Numbers = np.interp(edges[1:], series.t_s[known], series.values[known]) * 1e-6
    return np.minimum(total, np.maximum(above, 0.0))


def _ends(record: Record, flow: Flow, *, acks: bool) -> Iterable[End]:
    ends = record.context.ends
    crossed = {number for way in (flow.reverse_ways if acks else flow.ways) for number in way}
    return [ends[number] for number in sorted(crossed) if number in ends]


def _wait(record: Record, flow: Flow, end: End, span: tuple[int, int], *, acks: bool) -> Wait | None:
    t_s, delay = _readings(record, flow, end)
    inside = delay[(t_s >= span[0] * 1e-9) & (t_s <= span[1] * 1e-9)]
    if not len(inside):
        return None
    part = float(np.mean(inside > 0))
    t_s, delay = _own(record, flow, end)
    own = delay[(t_s >= span[0] * 1e-9) & (t_s <= span[1] * 1e-9)]
    entry = in_use(record, end, flow)
    limits = held(end, entry)
    rate_bps = 0.0 if entry is None else drained_bps(record, end, entry)
    every = (one for one in record.context.flows.values() if end.end in one.crossed and one.kind in _STREAMS)
    there = [one.group for one in every if entry is None or class_of(end, one) is entry]
    return Wait(
        place(end, entry),
        acks,
        float(np.median(own if len(own) else inside)),
        part,
        rate_bps or float(end.rate_bps or 0),
        limits.queue or "",
        of_queue(record, end, entry, "queue"),
        tuple(dict.fromkeys(there)),
        len(there),
        of_queue(record, end, entry, "buffer"),
        None if limits.buffer_bytes is None else float(limits.buffer_bytes),
        courses.extent(end, "rate_bps")[0] if "rate_bps" in end.over_time else None,
    )


def _readings(record: Record, flow: Flow, end: End) -> tuple[Numbers, Numbers]:
    """Stamps and waits in s of the queue that a flow is in at an end, without those that are not known."""
    entry = in_use(record, end, flow)
    if entry is not None:
        return waits_s(record, end, entry)
    series = record.series("queue_delay_us", end=end.end)
    known = ~np.isnan(series.values)
    return series.t_s[known], series.values[known] * 1e-6


def _own(record: Record, flow: Flow, end: End) -> tuple[Numbers, Numbers]:
    """When packets of a flow left a queue and how long they waited there, each by its stamps, in s.

    What others wait in a queue that separates flows is not among it. Empty where nobody stamped them.
    """
    rows = record.table("sojourn", flow=flow.id) if record.has("sojourn") else None
    if rows is None:
        return np.zeros(0), np.zeros(0)
    rows = rows[rows["end"] == end.end]
    return rows["t_ns"] * 1e-9, rows["sojourn_ns"] * 1e-9


def _mean(record: Record, flow: Flow, end: End, edges: Numbers) -> Numbers:
    t_s, delay = _own(record, flow, end)
    if not len(t_s):
        t_s, delay = _readings(record, flow, end)
    if not len(t_s):
        return np.zeros(len(edges) - 1)
    at = np.interp(edges, t_s, delay)
    mean: Numbers = (at[1:] + at[:-1]) / 2
    return mean
