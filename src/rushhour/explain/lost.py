"""What is lost on the way: to chance, by the counters of seeded elements and netem, and in queues."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING

from rushhour.explain.netem import drops_by_chance
from rushhour.explain.outages import inside
from rushhour.metrics.queue import since_start
from rushhour.record import courses

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rushhour.explain.outages import Spans
    from rushhour.record.context import End, Flow
    from rushhour.record.record import Record


def lost(record: Record, ways: Sequence[Sequence[int]], span: tuple[int, int], without: Spans = ()) -> float:
    """Share of the packets that chance took from when to when, in ns: the mean over the ways.

    `without`: spans in which the way was dead, so that it was no chance.
    """
    ends = record.context.ends
    kept = [
        math.prod(_kept(record, ends[number], span, without) for number in way if number in ends)
        for way in ways
    ]
    return 1 - fmean(kept) if kept else 0.0


def worst(
    record: Record, ways: Sequence[Sequence[int]], span: tuple[int, int], *, passing: bool = False
) -> float:
    """The greatest loss that a pattern sets on these ways from when to when, in ns; 0 without one.

    `passing`: while anything passes.
    """
    ends = record.context.ends
    found = [_worst(ends[number], span, passing=passing) for way in ways for number in way if number in ends]
    return max(found, default=0.0)


def _worst(end: End, span: tuple[int, int], *, passing: bool = False) -> float:
    below = 1.0 if passing else None
    return courses.greatest(end, "loss", span, below) if end.over_time.get("loss") else 0.0


def drops(record: Record, ends: Iterable[End], without: Spans = ()) -> int:
    """How many packets queues, or policers, at these ends dropped in the experiment, but for some spans."""
    found = [record.series("drops", end=end.end) for end in ends]
    every = sum(since_start(one.t_s, one.values) for one in found if one.source)
    return int(every - sum(inside(one.t_s * 1e9, one.values, without) for one in found if one.source))


def taken(record: Record, flow: Flow, spans: Spans) -> float:
    """How many packets wires, there and back, and queues on a flow's way took in these spans."""
    numbers = {number for way in (*flow.ways, *flow.reverse_ways) for number in way}
    tables = [record.table("wire", end=number) for number in numbers] if record.has("wire") else []
    wires = sum(inside(rows["t_ns"].astype(float), rows["lost"], spans) for rows in tables)
    queues = [record.series("drops", end=number) for number in flow.crossed]
    return wires + sum(inside(one.t_s * 1e9, one.values, spans) for one in queues if one.source)


def _kept(record: Record, end: End, span: tuple[int, int], without: Spans) -> float:
    """The share that an end lets pass, by its counters of the whole run; all where a pattern lost nothing."""
    if end.over_time.get("loss") and not _worst(end, span):
        return 1.0
    kept = 1.0
    if record.has("wire") and len(rows := record.table("wire", end=end.end)):
        t_ns = rows["t_ns"].astype(float)
        came, gone = (
            float(rows[name][-1]) - inside(t_ns, rows[name], without) for name in ("packets", "lost")
        )
        kept = 1 - gone / came if came > 0 else 1.0
    if (
        end.role == "netem"
        and drops_by_chance(end)
        and record.has("qdisc")
        and len(rows := record.root_qdisc(end.end))
    ):
        dropped, passed = float(rows["drops"][-1]), float(rows["packets"][-1])
        kept *= passed / (dropped + passed) if dropped else 1.0
    return kept
