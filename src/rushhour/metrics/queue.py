"""What queues did: delay they caused, packets they dropped or marked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rushhour.metrics.value import (
    TOTAL,
    Found,
    Metric,
    Telling,
    distribution,
    of_class,
    of_end,
    of_flow,
    ratio,
)
from rushhour.metrics.windows import bottlenecks, busy_window, steady_window, within
from rushhour.series import class_queue
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rushhour.metrics.value import Distribution
    from rushhour.record.context import End
    from rushhour.record.record import Record

    Numbers = NDArray[np.float64]


def queues(record: Record) -> list[End]:
    """The link ends that hold a queue: those with a shaper or a policer, and the bottlenecks."""
    limiting = {end.end for end in bottlenecks(record)}
    ends = record.context.ends.values()
    return [end for end in ends if end.role in ("queue", "police") or end.end in limiting]


def _queue_delay(record: Record) -> Iterator[Distribution]:
    for flow in record.flows(*kinds.TCP_STREAMS):
        series = record.series("srtt_queue_delay_us", flow=flow.id)
        if series.source:
            yield of_flow(flow), series.values[within(series.t_s, steady_window(record, flow))]
    for end in bottlenecks(record):
        yield from _of_bottleneck(record, end)


def _of_bottleneck(record: Record, end: End) -> Iterator[Distribution]:
    window = busy_window(record, end)
    series = record.series("sojourn_us", end=end.end)
    classes = {} if series.source else _of_classes(record, end)
    if classes:
        # Packets wait in their classes; no one waits for what is in all of them.
        times, waits = (np.concatenate([one[place] for one in classes.values()]) for place in (0, 1))
        yield of_end(end), waits[within(times, window)]
        for scope, (t_s, values) in classes.items():
            yield scope, values[within(t_s, window)]
        return
    series = series if series.source else record.series("queue_delay_us", end=end.end)
    if series.source:
        yield of_end(end), series.values[within(series.t_s, window)]


def _of_classes(record: Record, end: End) -> dict[str, tuple[Numbers, Numbers]]:
    """By scope of each class of an end through which packets went: stamps in s, and their waits in µs."""
    found = {}
    leaves = [entry for entry in end.classes if entry.leaf] if record.has("class") else []
    for entry in leaves:
        t_s, waits = class_queue.packets_s(record, end, entry)
        if len(t_s):
            found[of_class(record, end, entry)] = t_s, waits * 1e6
    return found


def _queue_bytes(record: Record) -> Iterator[Found]:
    for end in queues(record):
        series = record.series("queue_bytes", end=end.end)
        if series.source:
            yield Found(of_end(end), float(series.values.max()))


def _packet_mean(record: Record) -> Iterator[Found]:
    for end in queues(record) if record.has("qdisc") else ():
        rows = record.root_qdisc(end.end)
        t_s = rows["t_ns"] * 1e-9
        if len(rows) and end.role != "police":
            sent, packets = (since_start(t_s, rows[name].astype(np.float64)) for name in ("bytes", "packets"))
            yield ratio(of_end(end), sent, packets, "nothing left it")


def _drops(record: Record) -> Iterator[Found]:
    return _counted(record, "drops")


def _marks(record: Record) -> Iterator[Found]:
    return _counted(record, "marks")


def _counted(record: Record, name: str) -> Iterator[Found]:
    counts = []
    for end in queues(record):
        series = record.series(name, end=end.end)
        if series.source:
            counts.append(since_start(series.t_s, series.values))
            yield Found(of_end(end), counts[-1])
    if counts:
        yield Found(TOTAL, sum(counts))


def since_start(t_s: NDArray[np.float64], counter: NDArray[np.float64]) -> float:
    """By how much a counter rose during the experiment: since the last reading up to t = 0, or the first."""
    first = max(0, int(np.searchsorted(t_s, 0.0, side="right")) - 1)
    return float(counter[-1] - counter[first])


METRICS = [
    *distribution(
        "queue_delay",
        ("flow", "class", "end"),
        "the queue delay while flows were active after the warm-up. Of a TCP flow: smoothed RTT minus the "
        "RTT of the idle path, at each ACK; where a pattern changes that, as the packets met it, smoothed "
        "alike. Of a bottleneck: each packet's time in its queue where that was recorded, else bytes "
        "waiting over the rate at each sample. Of a bottleneck with classes, and of each class, by the "
        "classes' counters: how long what came to a class at a sample waited in it, once for each packet "
        "that left it until the next sample.",
        _queue_delay,
        telling={"p50": Telling("queue delay median", 100), "p95": Telling("queue delay p95", 110)},
    ),
    Metric(
        "queue_max_bytes",
        "B",
        "lower",
        ("end",),
        "The most bytes seen waiting in the queue at any sample.",
        _queue_bytes,
    ),
    Metric(
        "packet_mean_bytes",
        "B",
        "none",
        ("end",),
        "The mean size of the packets that left a queue, headers included: bytes over packets of the root "
        "qdisc's own counters. Of an end that carries ACKs alone: what their options take.",
        _packet_mean,
    ),
    Metric(
        "drops",
        "packets",
        "lower",
        ("end", "total"),
        "Packets that the queue or the policer dropped, by its own count (of the root qdisc, with those "
        "below it). Losses on the wire, or by netem, are no drops.",
        _drops,
        telling=Telling("drops", 160),
    ),
    Metric(
        "marks",
        "packets",
        "none",
        ("end", "total"),
        "Packets that the queue marked with Congestion Experienced (RFC 3168), by the counters of the "
        "qdiscs that mark.",
        _marks,
        telling=Telling("marks", 170, if_any=True),
    ),
]
