"""How long packets were in queues, each by its own stamps: of a queue, of its classes, of a flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rushhour.metrics.value import distribution, of_class, of_end, of_flow
from rushhour.series.readings import sojourn_flow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rushhour.metrics.value import Distribution
    from rushhour.record import decode
    from rushhour.record.context import End, LinkClass
    from rushhour.record.record import Record


def class_rows(record: Record, end: End, entry: LinkClass) -> decode.Rows:
    """The packets of one class of an end; a class without flows has those that no other names."""
    rows = record.table("sojourn", end=end.end)
    own = _numbers(record, entry.flows)
    if own:
        mine: decode.Rows = rows[np.isin(rows["flow"], own)]
        return mine
    named = {name for other in end.classes for name in other.flows}
    rest: decode.Rows = rows[~np.isin(rows["flow"], _numbers(record, named))]
    return rest


def _numbers(record: Record, names: tuple[str, ...] | set[str]) -> list[int]:
    return [flow.id for flow in record.context.flows.values() if flow.group in names]


def _of_places(record: Record) -> Iterator[Distribution]:
    if not record.has("sojourn"):
        return
    context = record.context
    for end in context.ends.values():
        rows = record.table("sojourn", end=end.end)
        if not len(rows):
            continue
        yield of_end(end), _steady(record, rows["t_ns"], rows["sojourn_ns"] / 1e3)
        for entry in (entry for entry in end.classes if entry.leaf):
            mine = class_rows(record, end, entry)
            yield of_class(record, end, entry), _steady(record, mine["t_ns"], mine["sojourn_ns"] / 1e3)
    arrived = {flow.id for flow in record.arrivals()}
    for flow in (flow for flow in context.flows.values() if flow.id not in arrived):
        t_ns, values = sojourn_flow(record, flow)
        if len(t_ns):
            yield of_flow(flow), _steady(record, t_ns, values)


def _steady(record: Record, t_ns: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values of packets that left after the warm-up and before the end."""
    context = record.context
    steady: NDArray[np.float64] = values[(t_ns >= context.warmup_ns) & (t_ns <= context.duration_ns)]
    return steady


METRICS = [
    *distribution(
        "sojourn",
        ("end", "class", "flow"),
        "the sojourn time, from when a packet was given to a queue to when it left for the cable, by "
        "stamps of each packet that left after the warm-up: of every queue, of each class with a queue, "
        "and of a flow's packets in the queue of its bottleneck. Only with `readings.sojourn`.",
        _of_places,
    ),
]
