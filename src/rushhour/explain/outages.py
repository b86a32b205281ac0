"""Outages: when nothing came through between the ends of a flow, and for how long that held it.

A way is dead while a pattern loses every packet or stops a link (`0bit`), and while a router has no route; of
several ways all have to be. A sender's wait goes on behind that, for its timer has backed off.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rushhour.quantities.short import time
from rushhour.quantities.words import plural
from rushhour.record import courses
from rushhour.series import timeline
from rushhour.series.acks import heard_ns

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from rushhour.record.context import End, Flow
    from rushhour.record.record import Record
    from rushhour.series.timeline import Timeline

    Numbers = NDArray[np.float64]
    Ways = Sequence[Sequence[int]]
    Spans = tuple[tuple[float, float], ...]

LIMIT = "outages"
"""The limit that is taken out of the others: a timeline knows no outages."""
LIMITS = {**timeline.LIMITS, LIMIT: "the way was dead, or what that cost was not made up for yet"}
"""Every limit of an explanation, with what it says."""
FELT = ("handshake", "sndbuf", "acks", "slow_start", "timeouts", "losses", "marks", "window")
"""Limits that a dead way explains; a program that writes or reads slowly, it does not."""
AFTER = ("losses", "timeouts")
"""Limits that hold behind an outage because of what was lost in it."""


@dataclass(frozen=True)
class Outages:
    """When a flow's way was dead, in ns from the start of the experiment, one span after the other.

    Attributes:
        whole: The spans; `spans` the parts of them that lie within the flow's time.
        over: Until when each span held what had begun to wait: the first ACK that came through.
        there: Whether its data did not come through; `back`: its ACKs.
        lasting: Whether the last span outlasted the flow.
        after: Share of the flow's time in which what was lost in the spans held it besides.
    """

    whole: Spans
    spans: Spans
    over: tuple[float, ...]
    there: bool
    back: bool
    lasting: bool
    after: float = 0.0

    @property
    def words(self) -> str:
        """When: `was dead for 300 ms, from 1 s on`."""
        if len(self.spans) > 1:
            whole = sum(done - begin for begin, done in self.spans)
            return f"was dead {plural(len(self.spans), 'time')}, for {time(whole * 1e-9)} in all"
        ((begin, done),) = self.spans
        long = "" if self.lasting else f" for {time((done - begin) * 1e-9)}"
        return (
            f"was dead{long} from {time(begin * 1e-9)} on" if begin > 0 or self.lasting else f"was dead{long}"
        )

    @property
    def held(self) -> Spans:
        """The spans, each until the sender heard again."""
        return tuple((begin, until) for (begin, _), until in zip(self.spans, self.over, strict=True))


def outages(record: Record, flow: Flow) -> Outages | None:
    """The outages of a flow's way in its time; None where it had none."""
    active = flow.active_ns
    if active is None:
        return None
    there, back = (_dead(record, ways) for ways in (flow.ways, flow.reverse_ways))
    begin, end = flow.start_ns, active[1]
    whole = tuple(span for span in _merged(sorted((*there, *back))) if begin < span[1] and span[0] < end)
    if not whole:
        return None
    spans = tuple((max(since, float(begin)), min(until, float(end))) for since, until in whole)
    over = _heard_again(record, flow, spans, end)
    return Outages(
        whole, spans, over, bool(there), bool(back), whole[-1][1] >= min(end, record.context.end_ns)
    )


def _dead(record: Record, ways: Ways) -> Spans:
    """When none of these ways lets anything pass."""
    routes, every = _routes(record), record.context.ends
    numbers = {number for way in ways for number in way}
    changed = [t_ns for number in numbers & {*routes} for t_ns, _ in routes[number]]
    known = courses.instants(every[number] for number in numbers if number in every)
    edges = np.unique(np.concatenate([known, changed, [max(record.context.end_ns, 1)]]))
    dead = np.full(len(edges) - 1, bool(ways))
    for way in ways:
        dead &= _any_dead(record, way, routes, edges[:-1] * 1e-9)
    each = zip(edges[:-1].tolist(), edges[1:].tolist(), dead.tolist(), strict=True)
    return _merged((begin, done) for begin, done, none in each if none)


def _any_dead(
    record: Record, way: Sequence[int], routes: Mapping[int, courses.Course], t_s: Numbers
) -> NDArray[np.bool_]:
    dead = np.zeros(len(t_s), bool)
    for number in way:
        end = record.context.ends.get(number)
        if end is not None:
            dead |= _lets_nothing_pass(end, t_s)
        if number in routes:
            dead |= courses.values(routes[number], t_s) == 0
    return dead


def _lets_nothing_pass(end: End, t_s: Numbers) -> NDArray[np.bool_]:
    dead: NDArray[np.bool_] = courses.setting(end, "loss", t_s) >= 1
    return dead | (courses.setting(end, "rate_bps", t_s) == 0) if "rate_bps" in end.over_time else dead


def _routes(record: Record) -> dict[int, courses.Course]:
    """End → from when on its node has a route over it (1) or none (0), where that changes."""
    found: dict[int, courses.Course] = {}
    for change in record.plan.changes:
        if change.key == "route":
            found[change.end] = (*found.get(change.end, ((0, 1.0),)), (change.t_ns, change.value))
    return found


def _merged(spans: Iterable[tuple[float, float]]) -> Spans:
    """Spans in the order of their beginnings, those that meet as one."""
    found: list[tuple[float, float]] = []
    for begin, done in spans:
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(done, found[-1][1]))
        else:
            found.append((begin, done))
    return tuple(found)


def _heard_again(record: Record, flow: Flow, spans: Spans, end_ns: int) -> tuple[float, ...]:
    """When the sender first heard of the receiver after each span; where nothing tells, at its end."""
    if not record.has("tcp_probe"):
        return tuple(done for _, done in spans)
    heard = np.sort(np.append(heard_ns(record, flow), [end_ns, flow.outcome.connected_ns or end_ns]))
    places = np.minimum(np.searchsorted(heard, [done for _, done in spans]), len(heard) - 1)
    return tuple(heard[places].tolist())


def shares(found: Timeline, known: Outages | None) -> dict[str, float]:
    """The shares of a flow's time, with what outages held as a limit of its own; the greatest first."""
    if known is None:
        return found.shares
    waited = _within(found, _merged(known.held), FELT)
    rest = _without(found.shares, waited)
    return _ordered({**rest, LIMIT: math.fsum(waited.values())})


def _within(found: Timeline, spans: Spans, limits: Iterable[str]) -> dict[str, float]:
    """The shares of a flow's time of some limits that lie within spans."""
    edges, total = found.edges_s, float(np.diff(found.edges_s).sum())
    begins, ends = np.array(spans).T * 1e-9
    passed = np.cumsum(ends - begins)
    before = np.column_stack([passed - (ends - begins), passed]).ravel()
    inside = np.diff(np.interp(edges, np.column_stack([begins, ends]).ravel(), before))
    length = np.diff(edges)
    part = np.divide(inside, length, out=np.zeros_like(inside), where=length > 0)
    return {limit: float((found.held_s[limit] * part).sum()) / total for limit in limits}


def with_recovery(found: Timeline, known: Outages) -> tuple[dict[str, float], Outages]:
    """The same where outages are what packets were lost in: the time in losses behind them is theirs, too."""
    held, rest = _merged(known.held), shares(found, known)
    since = ((held[0][0], float(found.edges_s[-1]) * 1e9),)
    every, there = _within(found, since, AFTER), _within(found, held, AFTER)
    behind = {limit: every[limit] - there[limit] for limit in AFTER}
    rest = _without(rest, behind)
    after = math.fsum(behind.values())
    return _ordered({**rest, LIMIT: rest.get(LIMIT, 0.0) + after}), replace(known, after=after)


def _without(held: Mapping[str, float], taken: Mapping[str, float]) -> dict[str, float]:
    """Shares less what is taken of them; nothing where that is all but for rounding."""
    pairs = ((limit, share, taken.get(limit, 0.0)) for limit, share in held.items())
    return {limit: 0.0 if math.isclose(share, less) else share - less for limit, share, less in pairs}


def _ordered(held: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(((k, v) for k, v in held.items() if v > 0), key=lambda pair: -pair[1]))


def inside(t_ns: Numbers, count: Numbers, spans: Spans) -> float:
    """By how much a counter rose between readings of which the time touches one of the spans."""
    if len(count) < 2 or not spans:
        return 0.0
    begins, ends = np.array(spans).T
    which = np.searchsorted(ends, t_ns[:-1], side="right")  # the first span that ends later
    touched = np.append(begins, np.inf)[which] < t_ns[1:]
    return float(np.diff(count.astype(np.float64))[touched].sum())
