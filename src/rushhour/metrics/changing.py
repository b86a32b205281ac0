"""How flows follow a changing link: how soon a higher rate is used, how much a lower one queues."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rushhour.metrics.value import Found, Metric, of_end
from rushhour.metrics.windows import bottlenecks, busy_window

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.record.context import End
    from rushhour.record.record import Record

HELD_NS = 1_000_000_000
WINDOW_NS = 100_000_000
FULL = 0.95


def steps(record: Record, end: End) -> Iterator[tuple[int, int, float, float]]:
    """Changes of an end's rate that hold for a second while flows are active: from, to (ns), old, new."""
    course = end.over_time.get("rate_bps", ())
    busy = busy_window(record, end)
    if busy is None or not course:
        return
    ends = [t_ns for t_ns, _ in course[1:]] + [record.context.duration_ns]
    before: float | None = None
    for (t_ns, rate), until in zip(course, ends, strict=True):
        done = min(until, busy[1])
        if before is not None and t_ns >= busy[0] and done - t_ns >= HELD_NS and rate != before:
            yield t_ns, done, before, rate
        before = rate


def _fill_time(record: Record) -> Iterator[Found]:
    for end in bottlenecks(record):
        rises = [step for step in steps(record, end) if step[3] > step[2]]
        if not rises or not record.has("qdisc"):
            continue
        times = [(begin, _filled(record, end, begin, done, rate)) for begin, done, _, rate in rises]
        never = [begin for begin, time in times if time is None]
        if never:
            yield Found(of_end(end), None, f"the rate that rose at {never[0] / 1e9:g} s was never used up")
        else:
            yield Found(of_end(end), max(time or 0.0 for _, time in times))


def _filled(record: Record, end: End, begin: int, done: int, rate: float) -> float | None:
    # Seconds from a rise to the first window in which as much as that left; None if there is none.
    rows = record.root_qdisc(end.end)
    t_ns, sent = rows["t_ns"].astype(np.int64), rows["bytes"].astype(np.float64)
    first = np.searchsorted(t_ns, begin)
    for start in range(int(first), len(t_ns)):
        stop = int(np.searchsorted(t_ns, t_ns[start] + max(WINDOW_NS, record.sample_ns)))
        if stop >= len(t_ns) or t_ns[stop] > done:
            return None
        if (sent[stop] - sent[start]) * 8e9 >= FULL * rate * (t_ns[stop] - t_ns[start]):
            return float(t_ns[start] - begin) * 1e-9
    return None


def _fall_delay(record: Record) -> Iterator[Found]:
    for end in bottlenecks(record):
        falls = [step for step in steps(record, end) if 0 < step[3] < step[2]]
        series = record.series("queue_delay_us", end=end.end)
        if not falls or not series.source:
            continue
        within = [(series.t_s >= begin * 1e-9) & (series.t_s < done * 1e-9) for begin, done, *_ in falls]
        greatest = [float(series.values[part].max()) for part in within if part.any()]
        yield Found(of_end(end), max(greatest) if greatest else None, None if greatest else "no reading")


METRICS = [
    Metric(
        "fill_time_s",
        "s",
        "lower",
        ("end",),
        "From a rise of the bottleneck's rate to the first 100 ms (or sampling interval, if longer) in "
        "which at least 95 % of the new rate was used; the longest of all rises that hold for a second "
        "while flows are active. Undefined if one was never used up.",
        _fill_time,
    ),
    Metric(
        "fall_delay_max_us",
        "µs",
        "lower",
        ("end",),
        "The greatest queue delay of the bottleneck (bytes waiting over the lower rate) while a fallen "
        "rate held; of all falls that hold for a second while flows are active.",
        _fall_delay,
    ),
]
