"""Whether a path was full for a flow: a bottleneck sent at its rate, or a class or fq all that it may.

Takes a record and a flow, gives its `Ceiling`s and truth by interval. A ceiling of a class holds together all
flows that it carries, fq's `maxrate` each of them alone; what a policer drops is told as loss.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rushhour.quantities.netem_rate import netem_rate
from rushhour.quantities.tc_units import RATES, scaled
from rushhour.record import courses
from rushhour.record.classes import class_of, held
from rushhour.series.netem_bytes import as_counted
from rushhour.tc import kinds as tc
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rushhour.quantities.netem_rate import NetemRate
    from rushhour.record.context import End, Flow, LinkClass
    from rushhour.record.courses import Course
    from rushhour.record.decode import Rows
    from rushhour.record.record import Record

    Numbers = NDArray[np.float64]
    Truth = NDArray[np.bool_]
    Counts = Sequence[tuple[Numbers, Numbers]]  # each stamps in s, and bytes so far

FULL = 0.95
"""Utilization over a round trip from which a path counts as full."""
FRAMES = 20
"""Frames at the end's rate over which its utilization is taken at least."""
_FRAME = 1514


class Full(NamedTuple):
    """By interval whether a path was full, and whether by one stream alone."""

    at_all: Truth
    alone: Truth


@dataclass(frozen=True)
class Ceiling:
    """The most that a flow, or a class of them, may send at an end, whatever its rate.

    `name` is the class's, `of_class` it and its parts; without, the discipline's, which bounds each flow.
    `course` are bit/s from when on; 0 where it holds nobody.
    """

    end: End
    flow: Flow
    course: Course
    name: str = ""
    of_class: tuple[LinkClass, ...] = ()

    def holds(self, other: Flow) -> bool:
        """Whether another flow takes from it."""
        if not self.of_class:
            return other.id == self.flow.id
        named = {group for entry in self.end.classes for group in entry.flows if not _goes(entry)}
        mine = {group for entry in self.of_class for group in entry.flows}
        return other.group in mine or (any(map(_is_rest, self.of_class)) and other.group not in named)

    def mean_bps(self, span: tuple[int, int]) -> float:
        """What it lets through on average between two instants in ns."""
        return courses.integral(self.course, *span) / ((span[1] - span[0]) * 1e-9)

    def passed(self, record: Record) -> Counts:
        """What passed it."""
        if self.of_class and record.has("class"):
            rows = record.table("class", end=self.end.end)
            leaves = [rows[rows["handle"] == entry.classid] for entry in self.of_class if entry.leaf]
            return [_counts(one) for one in leaves if len(one)]
        t_ns, info = record.tcp_info(self.flow.id)
        if self.of_class or not len(info) or "bytes_sent" not in (info.dtype.names or ()):
            return []
        size = (self.flow.frame_bytes or 0) / (self.flow.payload_per_packet or 1)
        return [(t_ns.astype(np.float64) * 1e-9, info["bytes_sent"].astype(np.float64) * size)]


def ceilings(record: Record, flow: Flow) -> list[Ceiling]:
    """What bounds a flow on its way, beside the rates of links, and policers."""
    ends = (record.context.ends[number] for number in sorted(flow.crossed) if number in record.context.ends)
    return [ceiling for end in ends for ceiling in (*_of_classes(end, flow), *_of_each(end, flow))]


def least(record: Record, flow: Flow) -> Ceiling | None:
    """The ceiling that lets a flow have least while it is active; of equals the one that holds most flows."""
    span, every = flow.active_ns, ceilings(record, flow)
    if span is None:
        return None
    return min(every, key=lambda one: (one.mean_bps(span), -len(one.of_class)), default=None)


def rest_bps(end: End) -> float:
    """What an end lets through of packets that belong to no flow of a class."""
    rest = _chain(end, next(filter(_is_rest, end.classes), None))
    return float(min([end.rate_bps or 0, *(entry.ceil_bps or 0 for entry in rest)]))


def full(record: Record, flow: Flow, edges: Numbers) -> Full:
    """Whether a bottleneck of its ways, or what bounds a flow there, was full between edges in s [n + 1]."""
    found = Full(np.zeros(len(edges) - 1, bool), np.zeros(len(edges) - 1, bool))
    rtt_s = (flow.base_rtt_ns or 0) * 1e-9
    ends = record.context.ends
    lone = is_alone(record, flow)
    for end in (ends[number] for number in {*flow.bottleneck_ends} if number in ends and record.has("qdisc")):
        rows = record.root_qdisc(end.end)
        sent = [_counts(rows, netem_rate(end.queue))] if len(rows) else []
        found = _either(found, _busy(sent, _rates(end), edges, rtt_s), alone=lone)
    for one in ceilings(record, flow):
        others = (other for other in _streams(record) if other.id != flow.id)
        shared = any(one.holds(other) and one.end.end in other.crossed for other in others)
        found = _either(found, _busy(one.passed(record), one.course, edges, rtt_s), alone=not shared)
    return found


def is_alone(record: Record, flow: Flow) -> bool:
    """Whether no other stream crosses a bottleneck of this flow; a part's whole is another."""
    crossing, own = record.once(_crossing), flow.crossed if flow.kind in kinds.STREAMS else ()
    return all(crossing[number] == (number in own) for number in flow.bottleneck_ends)


def _crossing(record: Record) -> Counter[int]:
    """How many streams cross each end."""
    return Counter(number for one in _streams(record) for number in one.crossed)


def _streams(record: Record) -> Iterator[Flow]:
    return (one for one in record.context.flows.values() if one.kind in kinds.STREAMS)


def _counts(rows: Rows, by: NetemRate | None = None) -> tuple[Numbers, Numbers]:
    """When how many bytes had passed, as netem counts them."""
    return rows["t_ns"].astype(np.float64) * 1e-9, as_counted(rows["bytes"], rows["packets"], by, so_far=True)


def _either(found: Full, busy: Truth, *, alone: bool) -> Full:
    return Full(found.at_all | busy, found.alone | (busy & alone))


def _rates(end: End) -> Course:
    return end.over_time.get("rate_bps") or ((0, float(end.rate_bps or 0)),)


def _busy(sent: Counts, course: Course, edges: Numbers, rtt_s: float) -> Truth:
    """Whether what these counted was as much as a rate lets through, in each interval [n].

    A sender comes in bursts, one a round trip; so the interval is widened to a round trip, and to so many
    frames that one more or less does not decide.
    """
    rate = courses.integral(course, int(edges[0] * 1e9), int(edges[-1] * 1e9)) / (edges[-1] - edges[0])
    if not sent or not rate:
        return np.zeros(len(edges) - 1, bool)
    least_s = max(rtt_s, FRAMES * _FRAME * 8 / rate)
    middle, half = (edges[1:] + edges[:-1]) / 2, np.maximum(np.diff(edges), least_s) / 2
    begin, done = np.maximum(middle - half, edges[0]), np.minimum(middle + half, edges[-1])
    moved = sum(np.interp(done, t_s, count) - np.interp(begin, t_s, count) for t_s, count in sent)
    possible = courses.integrals(course, begin, done) / 8
    busy: Truth = (possible > 0) & (moved + _FRAME >= FULL * possible)
    return busy


def _of_classes(end: End, flow: Flow) -> Iterator[Ceiling]:
    """Those of a flow's class and of what that is part of; of the rest's from when its class goes."""
    mine = next((entry for entry in end.classes if flow.group in entry.flows), None)
    rest = next(filter(_is_rest, end.classes), None)
    for entry in _chain(end, mine or rest):
        yield Ceiling(end, flow, _course(entry), entry.name, _below(end, entry))
    if mine is None or not _goes(mine):
        return
    gone = mine.ceilings[-1][0]
    for entry in _chain(end, rest):  # whose packets were not this flow's before
        later = [(t_ns, bps) for t_ns, bps in _course(entry) if t_ns > gone]
        at = float(courses.values(_course(entry), np.array([gone * 1e-9]))[0])
        yield Ceiling(end, flow, ((0, 0.0), (gone, at), *later), entry.name, _below(end, entry))


def _course(entry: LinkClass) -> Course:
    return entry.ceilings or ((0, float(entry.ceil_bps or 0)),)


def _goes(entry: LinkClass) -> bool:
    return bool(entry.ceilings) and not entry.ceilings[-1][1]


def _is_rest(entry: LinkClass) -> bool:
    return entry.leaf and not entry.flows


def _chain(end: End, entry: LinkClass | None) -> Iterator[LinkClass]:
    """A class with a ceiling and those that it is part of."""
    own = {one.name: one for one in end.classes}
    while entry is not None:
        if entry.ceil_bps:
            yield entry
        entry = own.get(entry.parent) if entry.parent else None


def _below(end: End, top: LinkClass) -> tuple[LinkClass, ...]:
    """A class and all that are part of it."""
    names, found = {top.name}, [top]
    for entry in end.classes:  # each after its parent
        if entry.parent in names:
            names.add(entry.name)
            found.append(entry)
    return tuple(found)


def _of_each(end: End, flow: Flow) -> Iterator[Ceiling]:
    """What a discipline allows each flow by its own words."""
    words = (held(end, class_of(end, flow)).queue or "").split()
    key = tc.FLOW_RATE.get(words[0]) if words else None
    if key in words[:-1] and tc.UNPACED.get(words[0]) not in words:
        at = len(words) - 1 - words[::-1].index(key)
        if rate := scaled(words[at + 1], RATES):
            yield Ceiling(end, flow, ((0, float(rate)),), words[0])
