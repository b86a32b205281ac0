"""What chance takes on the way: seeded elements and netem, by their counters; what patterns make of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rushhour.record import courses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushhour.record.context import End
    from rushhour.record.record import Record


def lost(record: Record, ways: Sequence[Sequence[int]], span: tuple[int, int]) -> float:
    """Share of the packets that chance took from when to when, in ns: the mean over the ways."""
    ends = record.context.ends
    kept = [math.prod(_kept(record, ends[number], span) for number in way if number in ends) for way in ways]
    return 1 - sum(kept) / len(kept) if kept else 0.0


def worst(record: Record, ways: Sequence[Sequence[int]], span: tuple[int, int]) -> float:
    """The greatest loss that a pattern sets on these ways from when to when, in ns; 0 without one."""
    ends = record.context.ends
    return max((_worst(ends[number], span) for way in ways for number in way if number in ends), default=0.0)


def _worst(end: End, span: tuple[int, int]) -> float:
    return courses.greatest(end, "loss", span) if end.over_time.get("loss") else 0.0


def _kept(record: Record, end: End, span: tuple[int, int]) -> float:
    """The share that an end lets pass, by its counters of the whole run; all where a pattern lost nothing."""
    if end.over_time.get("loss") and not _worst(end, span):
        return 1.0
    kept = 1.0
    if record.has("wire") and len(rows := record.table("wire", end=end.end)) and rows["packets"][-1]:
        kept = 1 - float(rows["lost"][-1]) / float(rows["packets"][-1])
    if end.role == "netem" and record.has("qdisc") and len(rows := record.root_qdisc(end.end)):
        dropped, passed = float(rows["drops"][-1]), float(rows["packets"][-1])
        kept *= passed / (dropped + passed) if dropped else 1.0
    return kept
