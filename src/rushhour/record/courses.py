"""Courses: settings of a link that change during the experiment, as functions of time.

Takes ends and flows of a record's context, gives values at instants, sums over spans. Where nothing changes
the setting is the same at all times, so whoever asks here need not know.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rushhour.quantities.netem_rate import counts_otherwise
from rushhour.quantities.ways import shares

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from rushhour.record.context import End, Flow

    Steps = tuple[NDArray[np.float64], NDArray[np.float64]]

Course = tuple[tuple[int, float], ...]


def values(course: Course, t_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values [n] of a course at instants in seconds [n]; before its first instant, its first value."""
    starts, held = steps(course)
    known: NDArray[np.float64] = held[step_at(starts, t_s)]
    return known


def steps(course: Course) -> Steps:
    """A course as columns: from when in seconds each value [n] is held."""
    starts = np.array([t_ns for t_ns, _ in course], np.float64) * 1e-9
    return starts, np.array([value for _, value in course], np.float64)


def step_at(starts: NDArray[np.float64], t_s: NDArray[np.float64]) -> NDArray[np.intp]:
    """Which step goes on at instants in seconds [n]; before the first begins, the first."""
    # A stamp may be a rounding below the instant that it is of.
    return np.maximum(np.searchsorted(starts, t_s + 1e-10, side="right") - 1, 0)


def integral(course: Course, begin_ns: int, done_ns: int) -> float:
    """The sum of value · seconds over a span."""
    edges = _edges_s((t_ns for t_ns, _ in course), begin_ns, done_ns)
    return float((values(course, edges[:-1]) * np.diff(edges)).sum())


def integrals(
    course: Course, begin_s: NDArray[np.float64], done_s: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The same over many spans in seconds [n]: the difference of what is summed up until their ends."""
    starts, held = steps(course)
    before = np.concatenate(([0.0], np.cumsum(held[:-1] * np.diff(starts))))

    def until(t_s: NDArray[np.float64]) -> NDArray[np.float64]:
        step = step_at(starts, t_s)
        summed: NDArray[np.float64] = before[step] + held[step] * (t_s - starts[step])
        return summed

    return until(done_s) - until(begin_s)


def setting(end: End, name: str, t_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """A setting of an end (`rate_bps`, `delay_ns`, `jitter_ns`, `loss`) at instants in seconds [n]."""
    course = end.over_time.get(name)
    return np.full(len(t_s), float(getattr(end, name) or 0)) if course is None else values(course, t_s)


def at(end: End, t_ns: int) -> End:
    """The end with its settings as they are at an instant."""
    if not end.over_time:
        return end
    instant = np.array([t_ns * 1e-9])
    now = {name: float(values(course, instant)[0]) for name, course in end.over_time.items()}
    whole: Mapping[str, float | int] = {
        name: value if name == "loss" else round(value) for name, value in now.items()
    }
    return replace(end, over_time={}, **whole)  # type: ignore[arg-type]


def extent(end: End, name: str) -> tuple[float, ...]:
    """A setting's least and greatest value; once where it never changes."""
    known = [value for _, value in end.over_time.get(name, ())]
    return (min(known), max(known)) if known else (float(getattr(end, name) or 0),)


def greatest(end: End, name: str, span: tuple[int, int], below: float | None = None) -> float:
    """The greatest value that a setting has within a span of ns; below a limit, 0 where none is."""
    changes_ns = (t_ns for t_ns, _ in end.over_time.get(name, ()))
    known = setting(end, name, _edges_s(changes_ns, *span)[:-1])
    return float(known.max() if below is None else known[known < below].max(initial=0.0))


def instants(ends: Iterable[End]) -> NDArray[np.float64]:
    """When any setting of these ends changes, in ns, ascending; 0 is always among them."""
    found = {t_ns for end in ends for course in end.over_time.values() for t_ns, _ in course}
    return np.array(sorted(found | {0}), np.float64)


def capacity_bits(end: End, begin_ns: int, done_ns: int) -> float:
    """What an end's rate lets through in a span, in bits; 0 without a rate."""
    course = end.over_time.get("rate_bps")
    if course is None:
        return (end.rate_bps or 0) * (done_ns - begin_ns) / 1e9
    return integral(course, begin_ns, done_ns)


def _limiting(flow: Flow, ends: Mapping[int, End]) -> list[tuple[End, float]]:
    """The ends with a rate on the way that limits a flow, with the share of its packets that cross each."""
    back = flow.bottleneck_end in flow.reverse_ends
    ways = (flow.reverse_ways or (flow.reverse_ends,)) if back else (flow.ways or (flow.ends,))
    taken = shares(ways if flow.in_turn else ways[:1])
    known = [(ends[number], share) for number, share in taken.items() if number in ends]
    # What netem makes of its rate for a flow's packets is a ceiling of the flow.
    return [
        (end, share)
        for end, share in known
        if end.rate_bps and not (flow.ceiling_bps and counts_otherwise(end.queue, end.rate_bps))
    ]


def least_bps(flow: Flow, ends: Mapping[int, End], t_s: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """What the path allows a flow at instants in seconds [n]; None where nothing limits.

    Of packets that take several ways in turn an end carries a share, so it allows the flow so much more; of a
    flow that is on one of several ways, what the first allows.
    """
    if not flow.bottleneck_bps:
        return None
    limiting = _limiting(flow, ends)
    if not flow.ceilings and not any("rate_bps" in end.over_time for end, _ in limiting):
        return np.full(len(t_s), float(flow.bottleneck_bps))
    least: NDArray[np.float64] = np.full(len(t_s), np.inf)
    for end, share in limiting:
        least = np.minimum(least, setting(end, "rate_bps", t_s) / share)
    if flow.ceilings:
        return np.minimum(least, values(flow.ceilings, t_s))
    return np.minimum(least, flow.ceiling_bps) if flow.ceiling_bps else least


def _least_from(flow: Flow, ends: Mapping[int, End], begin: float, done: float) -> Steps | None:
    """What the path allows between instants in ns: edges in s [n + 1], bit/s between them [n]."""
    varying = [end for end, _ in _limiting(flow, ends) if "rate_bps" in end.over_time]
    own = [t_ns for t_ns, _ in flow.ceilings]
    edges = _edges_s(np.union1d(instants(varying), own), begin, done)
    least = least_bps(flow, ends, edges[:-1])
    return None if least is None else (edges, least)


def _edges_s(changes_ns: Iterable[float], begin: float, done: float) -> NDArray[np.float64]:
    """Both instants, and those of the changes that lie between them; given in ns, in s."""
    return np.array([begin, *(t_ns for t_ns in changes_ns if begin < t_ns < done), done], np.float64) * 1e-9


def _mean(edges: NDArray[np.float64], held: NDArray[np.float64]) -> float:
    """The mean over time of values that are held between edges."""
    return float((held * np.diff(edges)).sum() / (edges[-1] - edges[0]))


def bottleneck_bps(flow: Flow, ends: Mapping[int, End], span: tuple[int, int] | None = None) -> float | None:
    """What the path allows a flow within a span of ns, by default while it was active: the mean of the least.

    None where nothing limits.
    """
    span = span or flow.active_ns
    found = None if span is None else _least_from(flow, ends, *span)
    if found is None:
        return flow.bottleneck_bps
    return _mean(*found)


def bottleneck_extent(flow: Flow, ends: Mapping[int, End]) -> tuple[float, ...]:
    """The least and the most of that while it was active, in bit/s; one where it never changes."""
    span = flow.active_ns
    found = None if span is None else _least_from(flow, ends, *span)
    return () if found is None else tuple(dict.fromkeys((float(found[1].min()), float(found[1].max()))))


def sending_ns(flow: Flow, ends: Mapping[int, End], begin_ns: float, bits: float) -> float:
    """What so many bits of a flow take at least from an instant on, in ns; nan where nothing limits.

    Infinite where the path never again lets anything through.
    """
    found = _least_from(flow, ends, begin_ns, np.inf)
    if found is None:
        return float("nan")
    edges, least = found
    for begin, done, rate in zip(edges[:-1].tolist(), edges[1:].tolist(), least.tolist(), strict=True):
        if rate > 0 and bits <= rate * (done - begin):
            return float((begin + bits / rate) * 1e9 - begin_ns)
        bits -= rate * (done - begin) if rate > 0 else 0.0
    return float("inf")


def base_rtt_ns(flow: Flow, ends: Mapping[int, End], t_s: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """RTT of the idle path at instants in seconds [n]; None where it is not known.

    That of an instant: a packet on its way while a delay changes takes some of both.
    """
    if flow.base_rtt_ns is None:
        return None
    total = np.full(len(t_s), float(flow.base_rtt_ns))
    for number in flow.path:
        end = ends.get(number)
        for name, share in (("delay_ns", 1.0), ("jitter_ns", 0.5)) if end is not None else ():
            if end is not None and name in end.over_time:
                total += share * (setting(end, name, t_s) - getattr(end, name))
    for numbers, size in (
        (flow.ends, flow.request_frame_bytes),
        (flow.reverse_ends, flow.answer_frame_bytes),
    ):
        for end in (ends[number] for number in numbers if number in ends):
            if "serial_bps" in end.over_time:
                total += size * 8e9 / setting(end, "serial_bps", t_s) - sent_ns(end, size)
    return total


def mean_base_rtt_ns(flow: Flow, ends: Mapping[int, End]) -> float | None:
    """RTT of the idle path, the mean while the flow was active; None where it is not known."""
    span = flow.active_ns
    varying = [end for end in (ends.get(number) for number in flow.path) if end is not None and end.over_time]
    if span is None or not varying or flow.base_rtt_ns is None:
        return flow.base_rtt_ns
    edges = _edges_s(instants(varying), *span)
    found = base_rtt_ns(flow, ends, edges[:-1])
    return None if found is None else _mean(edges, found)


def sent_ns(end: End, size: int) -> float:
    """What a frame of so many bytes takes to be sent at an end, in ns; 0 where that takes no time."""
    return size * 8e9 / end.serial_bps if end.serial_bps else 0.0
