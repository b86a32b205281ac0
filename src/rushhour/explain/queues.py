"""The queue that a flow is in at its bottleneck, as evidence: of an end with classes that of its class."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from rushhour.explain import counted
from rushhour.explain.lost import drops
from rushhour.explain.outages import inside
from rushhour.metrics.queue import since_start
from rushhour.record import classes, keys
from rushhour.series import class_queue

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rushhour.explain.outages import Spans
    from rushhour.record.context import End, Flow
    from rushhour.record.record import Record


class Queue(TypedDict):
    """Its name, its discipline, its limit in bytes, and the scenario's keys of both."""

    bottleneck: str
    queue: str
    buffer: float | None
    queue_key: str
    buffer_key: str


def at(record: Record, flow: Flow, limit: End | None) -> Queue:
    """The queue of a flow at the end that limits it."""
    if limit is None:
        return Queue(bottleneck="", queue="", buffer=None, queue_key="", buffer_key="")
    entry = class_queue.in_use(record, limit, flow)
    held = classes.held(limit, entry)
    return Queue(
        bottleneck=classes.place(limit, entry),
        queue=held.queue or "",
        buffer=counted.buffer(held, flow),
        queue_key=keys.of_queue(record, limit, entry, "queue"),
        buffer_key=keys.of_queue(record, limit, entry, "buffer"),
    )


def dropped(record: Record, flow: Flow, ends: Iterable[End], without: Spans = ()) -> int:
    """How many packets the queues that a flow is in at these ends dropped, but for some spans."""
    total = 0.0
    for end in ends:
        entry = class_queue.in_use(record, end, flow)
        if entry is None:
            total += drops(record, [end], without)
            continue
        t_s, counts = class_queue.drops(record, end, entry)
        total += since_start(t_s, counts) - inside(t_s * 1e9, counts, without) if len(counts) else 0.0
    return int(total)
