"""What classes got: their rate, their share, how much of it was borrowed, what they dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rushhour.metrics.queue import since_start
from rushhour.metrics.value import Found, Metric, of_class
from rushhour.metrics.windows import steady_window
from rushhour.record import decode
from rushhour.series import class_queue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rushhour.record.context import End, LinkClass
    from rushhour.record.record import Record


def divided(record: Record) -> list[End]:
    """The link ends with classes, where their counters were read."""
    return [end for end in record.context.ends.values() if end.classes] if record.has("class") else []


def _each(record: Record) -> Iterator[tuple[str, End, LinkClass, decode.Rows]]:
    for end in divided(record):
        for entry in end.classes:
            rows = class_queue.readings(record, end, entry)
            if len(rows):
                yield of_class(record, end, entry), end, entry, rows


def _window(record: Record, entry: LinkClass) -> tuple[int, int]:
    """While the first of its flows was active to when the last was, after the warm-up; else all of that."""
    flows = [flow for flow in record.context.flows.values() if flow.group in entry.flows]
    spans = [span for flow in flows if (span := steady_window(record, flow)) is not None]
    if not spans:
        return record.context.warmup_ns, record.context.duration_ns
    return min(begin for begin, _ in spans), max(done for _, done in spans)


def _sent(rows: decode.Rows, begin: int, done: int) -> tuple[int, int]:
    """Bytes between the readings at the edges of a window, and the time between these in ns."""
    t_ns: NDArray[np.int64] = rows["t_ns"]
    first = max(0, int(np.searchsorted(t_ns, begin, side="right")) - 1)
    last = int(np.searchsorted(t_ns, done, side="right")) - 1
    if last <= first:
        return 0, 0
    return int(rows["bytes"][last]) - int(rows["bytes"][first]), int(t_ns[last] - t_ns[first])


def _rate(record: Record) -> Iterator[Found]:
    for scope, _, entry, rows in _each(record):
        moved, span = _sent(rows, *_window(record, entry))
        yield Found(scope, moved * 8e9 / span) if span else Found(scope, None, "fewer than two readings")


def _share(record: Record) -> Iterator[Found]:
    totals: dict[int, int] = {}
    sent: list[tuple[str, int, int]] = []
    for scope, end, entry, rows in _each(record):
        if entry.leaf:
            moved, _ = _sent(rows, record.context.warmup_ns, int(rows["t_ns"][-1]))
            totals[end.end] = totals.get(end.end, 0) + moved
            sent.append((scope, end.end, moved))
    for scope, number, moved in sent:
        total = totals[number]
        yield Found(scope, moved / total) if total else Found(scope, None, "no class sent anything")


def _borrowed(record: Record) -> Iterator[Found]:
    for scope, _, entry, rows in _each(record):
        known = decode.xstats(rows["xstats"], rows["xstats_len"], bytes(rows["kind"][0]))
        if not entry.leaf or known is None or "borrows" not in (known.dtype.names or ()):
            continue
        t_s = rows["t_ns"] * 1e-9
        own, borrowed = (
            since_start(t_s, decode.unwrap32(known[name]).astype(np.float64)) for name in ("lends", "borrows")
        )
        sent = own + borrowed
        yield Found(scope, borrowed / sent) if sent else Found(scope, None, "it sent nothing")


def _drops(record: Record) -> Iterator[Found]:
    for scope, _, entry, rows in _each(record):
        if entry.leaf:
            drops = decode.unwrap32(rows["drops"]).astype(np.float64)
            yield Found(scope, since_start(rows["t_ns"] * 1e-9, drops))


METRICS = [
    Metric(
        "class_rate_bps",
        "bit/s",
        "none",
        ("class",),
        "Bits that a class sent (whole frames, by its own counters) over the time in which its flows were "
        "active after the warm-up; of a class without flows over all of it.",
        _rate,
    ),
    Metric(
        "class_share",
        "1",
        "none",
        ("class",),
        "Bytes that a class sent over those of all classes of its link that hold queues, after the warm-up.",
        _share,
    ),
    Metric(
        "class_borrowed",
        "1",
        "none",
        ("class",),
        "Fraction of its packets that a class of htb sent on tokens of a class above it: borrows / (lends "
        "+ borrows) of struct tc_htb_xstats.",
        _borrowed,
    ),
    Metric(
        "class_drops",
        "packets",
        "lower",
        ("class",),
        "Packets that the queue of a class dropped, by the class's own counter.",
        _drops,
    ),
]
