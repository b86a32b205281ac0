"""Which panels a run has, and the curves, limits and marks in each."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from rushhour.metrics.sojourn import class_rows
from rushhour.record import courses
from rushhour.record.classes import queues
from rushhour.report.curves import Curve, counted, thinned
from rushhour.series.sharing import sharing
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rushhour.record.context import End, Flow, LinkClass
    from rushhour.record.record import Record
    from rushhour.series.series import Shape

# Flows with a window of their own: connections of TCP, and the paths of those that have several.
_WINDOWS = ("tcp", *kinds.SUBFLOWS)
MAX_FLOWS = 16
"""Flows drawn in one panel; more cannot be told apart, the tables have them all."""


MAX_COMPANIONS = 4
"""Flows up to which each has its ssthresh, and its retransmissions a lane of their own."""
ABOVE = (
    "A value can exceed the rate: when a lost segment arrives, all data that waited behind it counts at once."
)
"""What is said of a goodput above the rate of the link."""
MAX_TOTAL = 1000
"""Flows up to which the total is drawn."""


@dataclass(frozen=True)
class Limit:
    """A horizontal line: what the curves are measured against."""

    label: str
    value: float


@dataclass(frozen=True)
class Panel:
    """One plot over time.

    `unit` is that of the values (`segments`, `µs`, `bytes`, `packets`, `bit/s`, `count`). `second` is a
    second axis that is the first times a constant: `(unit, factor)`, for a queue whose bytes are also a
    delay. A panel of `marks` shows events: one lane a curve, its values the events since the sample before.
    """

    id: str
    title: str
    unit: str
    curves: list[Curve]
    limits: list[Limit] = field(default_factory=list)
    second: tuple[str, float] | None = None
    marks: bool = False
    note: str = ""


MAX_SAMPLES = 20_000
"""Samples drawn of one curve."""


def panels_of(record: Record, points: int) -> list[Panel]:
    """The panels of a run, without those that have nothing to show.

    Args:
        record: The run.
        points: Samples kept of all its curves together; each curve gets an equal share.
    """
    found = [panel for build in _PANELS if (panel := build(record)) is not None]
    share = points // max(1, sum(len(panel.curves) for panel in found))
    share = min(MAX_SAMPLES, max(200, share))
    return [_thinned(panel, share) for panel in found]


def _thinned(panel: Panel, share: int) -> Panel:
    if panel.marks:
        curves = [counted(curve, share) for curve in panel.curves]
        less = any(curve.samples > share for curve in curves)
        said = f"The events in each of {share} equal intervals are drawn as one."
    else:
        curves = [thinned(curve, share) for curve in panel.curves]
        less = any(len(curve.t_s) > share // 2 and curve.samples > share for curve in curves)
        said = f"Of each of {share // 4} equal intervals the first, least, greatest and last sample is drawn."
    note = f"{panel.note} {said}".strip() if less else panel.note
    return replace(panel, curves=curves, note=note)


def flows_of(record: Record, *kinds: str) -> Iterator[tuple[int, Flow]]:
    """Position and context of each flow of these kinds, at most as many as can be told apart."""
    wanted = (one for one in enumerate(record.flows()) if not kinds or one[1].kind in kinds)
    yield from islice(wanted, MAX_FLOWS)


def bottlenecks(record: Record) -> list[End]:
    """The ends whose queue limits a flow, in order of their index; without any, every shaped end."""
    used = {end for flow in record.context.flows.values() for end in flow.bottleneck_ends}
    ends = list(record.context.ends.values())
    return [end for end in ends if end.end in used] or [end for end in ends if end.rate_bps]


def _curve(
    record: Record,
    name: str,
    label: str,
    *,
    flow: int | None = None,
    position: int | None = None,
    end: int | None = None,
    shape: Shape = "line",
    faint: bool = False,
) -> Curve | None:
    series = record.series(name, flow=flow, end=end)
    if len(series.t_s) == 0 or bool(np.all(np.isnan(series.values))):
        return None
    t_s, values = series.t_s, series.values
    if (t_s[1:] < t_s[:-1]).any():
        order = np.argsort(t_s, kind="stable")
        t_s, values = t_s[order], values[order]
    return Curve(label, position, t_s, values, shape, faint)


def _per_flow(
    record: Record,
    name: str,
    kinds: tuple[str, ...],
    suffix: str = "",
    *,
    shape: Shape = "line",
    faint: bool = False,
) -> list[Curve]:
    curves = (
        _curve(
            record, name, f"{flow.name}{suffix}", flow=flow.id, position=position, shape=shape, faint=faint
        )
        for position, flow in flows_of(record, *kinds)
    )
    return [curve for curve in curves if curve is not None]


def _window(record: Record) -> Panel | None:
    windows = _per_flow(record, "snd_cwnd", _WINDOWS, shape="hold")
    if not windows:
        return None
    if len(windows) > MAX_COMPANIONS:
        return Panel("cwnd", "Congestion window", "segments", windows)
    # snd_ssthresh is the threshold itself; tcp_probe's is never below 3/4 of the window.
    thresholds = _per_flow(record, "snd_ssthresh", _WINDOWS, " ssthresh", shape="hold", faint=True)
    note = "ssthresh dotted, from the first loss on." if thresholds else ""
    return Panel("cwnd", "Congestion window", "segments", windows + thresholds, note=note)


def _round_trip(record: Record) -> Panel | None:
    curves = _per_flow(record, "srtt_us", _WINDOWS)
    curves += _per_flow(record, "ping_rtt_us", kinds.ECHOES, " echo", shape="points")
    if not curves:
        return None
    varying = _base_rtts(record)
    flows = [flow for _, flow in flows_of(record, *_WINDOWS, "ping") if flow.id not in varying]
    bases = sorted({flow.base_rtt_ns for flow in flows if flow.base_rtt_ns})
    limits = [Limit("base RTT", base / 1e3) for base in bases[:4]]
    curves += list(varying.values())[:4]
    return Panel("rtt", "Round-trip time", "µs", curves, limits, note="TCP: smoothed by the kernel (srtt).")


def _base_rtts(record: Record) -> dict[int, Curve]:
    """The idle RTT over time, by the flow's id, where a pattern changes a delay or a rate on its path."""
    found = {}
    ends = record.context.ends
    for _, flow in flows_of(record, *_WINDOWS, "ping"):
        path = [ends[number] for number in flow.path if number in ends]
        if not any({"delay_ns", "jitter_ns", "serial_bps"} & set(end.over_time) for end in path):
            continue
        t_s = np.append(courses.instants(path), record.context.duration_ns) * 1e-9
        base = courses.base_rtt_ns(flow, ends, t_s)
        if base is not None:
            found[flow.id] = Curve("base RTT", None, t_s, base / 1e3, "hold", faint=True)
    return found


def _queue(record: Record) -> Panel | None:
    ends = bottlenecks(record)[:4]
    held = [queues(end) for end in ends]
    every = [one for those in held for one in those]
    in_packets = bool(every) and all(not one.buffer_bytes and one.buffer_packets for one in every)
    name, unit = ("queue_packets", "packets") if in_packets else ("queue_bytes", "bytes")
    curves = [_curve(record, name, end.label, end=end.end) for end in ends]
    shown = [curve for curve in curves if curve is not None]
    if not shown:
        return None
    rates = {None if "rate_bps" in end.over_time else end.rate_bps for end in ends}
    # What all classes hold is emptied at the link's rate, but no packet waits for all of it.
    rate = rates.pop() if len(rates) == 1 and len(every) == len(ends) else None
    second = ("µs", 8e6 / rate) if rate and not in_packets else None
    return Panel("queue", "Queue at the bottleneck", unit, shown, _limits(held, in_packets), second)


def _limits(held: list[tuple[End | LinkClass, ...]], in_packets: bool) -> list[Limit]:  # noqa: FBT001 - a unit
    """What fits into the queues of each end; of classes that is what fits into all of them."""
    found = set()
    for those in held:
        sizes = [one.buffer_packets if in_packets else one.buffer_bytes for one in those]
        if all(sizes):
            name = "buffer" if len(sizes) == 1 else f"buffers of {len(sizes)} classes"
            found.add((sum(filter(None, sizes)), name))
    return [Limit(name, float(size)) for size, name in sorted(found)]


MAX_CLASSES = 6


def _sojourn(record: Record) -> Panel | None:
    """Time in the queue of each packet, by class where the bottleneck has some."""
    if not record.has("sojourn"):
        return None
    several = len(bottlenecks(record)) > 1
    curves = []
    for end in bottlenecks(record)[:4]:
        leaves = [entry for entry in end.classes if entry.leaf][:MAX_CLASSES]
        found = [(entry.name, class_rows(record, end, entry)) for entry in leaves]
        found = found or [("", record.table("sojourn", end=end.end))]
        for name, rows in found:
            label = " ".join(word for word in (name, end.label if several or not name else "") if word)
            if len(rows):
                t_s, waited = rows["t_ns"] * 1e-9, rows["sojourn_ns"] / 1e3
                curves.append(Curve(label, None, t_s, waited, "points"))
    note = "One point per packet, when it left the queue."
    return Panel("sojourn", "Time in the queue", "µs", curves, note=note) if curves else None


def _goodput(record: Record) -> Panel | None:
    curves = _per_flow(record, "goodput_bps", (*kinds.STREAMS, *kinds.SUBFLOWS), shape="interval")
    if not curves:
        return None
    flows = record.flows(*kinds.STREAMS)
    if 1 < len(flows) <= MAX_TOTAL:
        every = [_curve(record, "goodput_bps", flow.name, flow=flow.id, shape="interval") for flow in flows]
        curves.append(_sum([curve for curve in every if curve is not None]))
    varying = [end for end in bottlenecks(record) if "rate_bps" in end.over_time]
    for end in varying[:4]:
        rate = _curve(record, "link_rate_bps", f"rate {end.label}", end=end.end, shape="hold", faint=True)
        curves += [] if rate is None else [_until(rate, record.context.duration_ns)]
    rates = sorted({end.rate_bps for end in bottlenecks(record) if end.rate_bps and end not in varying})
    limits = [Limit("rate of the link", float(rate)) for rate in rates[:4]]
    note = "Payload that reached the receiver, in each sampling interval."
    if rates and max(float(np.nanmax(curve.values)) for curve in curves) > rates[-1]:
        note += f" {ABOVE}"
    return Panel("goodput", "Goodput", "bit/s", curves, limits, note=note)


def _fairness(record: Record) -> Panel | None:
    """Jain's index over time, where two or more flows are there at once."""
    curve = _curve(record, "jain_index", "Jain index", shape="interval")
    if curve is None:
        return None
    n = len(sharing(record))
    note = "Of the flows that are active during the whole window: 1 means equal shares, 1/n that one has all."
    limits = [Limit("equal shares", 1.0), Limit(f"one of {n} has all", 1 / n)]
    return Panel("fairness", "Fairness over time", "", [curve], limits, note=note)


def _until(curve: Curve, duration_ns: int) -> Curve:
    """What holds until the next sample, with its last value held to the end of the experiment."""
    t_s = np.append(curve.t_s, duration_ns * 1e-9)
    return Curve(curve.label, curve.flow, t_s, np.append(curve.values, curve.values[-1]), "hold", curve.faint)


def _loss(record: Record) -> Panel | None:
    """The loss of the links where a pattern changes it."""
    found = []
    for end in record.context.ends.values():
        curve = _curve(record, "link_loss", end.label, end=end.end, shape="hold")
        if curve is not None:
            whole = _until(curve, record.context.duration_ns)
            found.append(Curve(whole.label, None, whole.t_s, 100 * whole.values, "hold"))
    return Panel("loss", "Loss of the link", "%", found[:4]) if found else None


def _sum(curves: list[Curve]) -> Curve:
    """The total of rates that each hold for the interval before their sample."""
    steps = [float(np.median(np.diff(curve.t_s))) if len(curve.t_s) > 1 else 0.0 for curve in curves]
    begins = [curve.t_s[:1] - step for curve, step in zip(curves, steps, strict=True)]
    # Where a flow begins the total has a sample, too: nothing of the flow lies before it.
    instants = np.unique(np.concatenate([*(curve.t_s for curve in curves), *begins]).clip(0.0))
    total = np.zeros(len(instants))
    for curve, begin in zip(curves, begins, strict=True):
        index = np.searchsorted(curve.t_s, instants, side="left")
        inside = (index < len(curve.t_s)) & (instants > begin)
        total[inside] += np.nan_to_num(curve.values[index[inside]])
    return Curve("total", None, instants, total, "interval", faint=True)


def _delay(record: Record) -> Panel | None:
    curves = _per_flow(record, "one_way_delay_us", kinds.UDP_STREAMS, shape="points")
    return Panel("owd", "One-way delay", "µs", curves, note="One point per datagram.") if curves else None


def _transactions(record: Record) -> Panel | None:
    curves = _per_flow(record, "transaction_us", kinds.CALLS, shape="points")
    note = "One point per transaction, at its end."
    return Panel("transactions", "Transaction time", "µs", curves, note=note) if curves else None


def _events(record: Record) -> Panel | None:
    lanes: list[Curve | None] = []
    for end in bottlenecks(record)[:4]:
        where = f" {end.label}" if len(bottlenecks(record)) > 1 else ""
        lanes += [
            _increments(_curve(record, name, f"{name}{where}", end=end.end)) for name in ("drops", "marks")
        ]
    lanes += _retransmits(record)
    shown = [lane for lane in lanes if lane is not None]
    note = "A tick is an instant with events; its height is their number, relative to the most in its row."
    return Panel("events", "Events", "count", shown, marks=True, note=note) if shown else None


def _active(record: Record) -> Panel | None:
    """How many flows of each arrival process are there: arrived, and not yet complete."""
    groups: dict[str, list[Flow]] = {}
    for flow in record.arrivals():
        groups.setdefault(flow.group, []).append(flow)
    if not groups:
        return None
    curves = []
    for group, flows in groups.items():
        came = np.array([flow.start_ns for flow in flows])
        went = [flow.outcome.receiver_done_ns for flow in flows if flow.outcome.receiver_done_ns is not None]
        t_ns = np.concatenate([came, np.array(went, np.int64)])
        order = np.argsort(t_ns, kind="stable")
        steps = np.concatenate([np.ones(len(came)), -np.ones(len(went))])[order]
        curves.append(Curve(group, None, t_ns[order] * 1e-9, np.cumsum(steps), "hold"))
    return Panel("active", "Flows in progress", "flows", curves)


def _retransmits(record: Record) -> list[Curve]:
    """Retransmissions of each flow; of more than a few flows all together."""
    flows = [
        (position, flow)
        for position, flow in enumerate(record.flows())
        if flow.kind in (*kinds.TCP_STREAMS, *kinds.SUBFLOWS)
    ]
    found = [
        _increments(
            _curve(record, "retransmits", f"retransmits {flow.name}", flow=flow.id, position=position)
        )
        for position, flow in flows
    ]
    curves = [curve for curve in found if curve is not None]
    if len(flows) <= MAX_COMPANIONS or not curves:
        return curves
    t_s = np.concatenate([curve.t_s for curve in curves])
    order = np.argsort(t_s, kind="stable")
    values = np.concatenate([curve.values for curve in curves])[order]
    return [Curve("retransmits, all flows", None, t_s[order], values, "points")]


def _increments(curve: Curve | None) -> Curve | None:
    """Events since the sample before, from a running count; only instants at which some happened."""
    if curve is None:
        return None
    step = np.diff(curve.values, prepend=0.0)
    some = step > 0
    if not np.any(some):
        return None
    return Curve(curve.label, curve.flow, curve.t_s[some], step[some], "points")


_PANELS: tuple[Callable[[Record], Panel | None], ...] = (
    _window,
    _round_trip,
    _queue,
    _sojourn,
    _goodput,
    _fairness,
    _active,
    _loss,
    _delay,
    _transactions,
    _events,
)
