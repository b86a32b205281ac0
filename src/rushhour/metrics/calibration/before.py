"""What the agent measured before the experiment: idle round trips, trains, the queues that stand there."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rushhour.metrics.calibration.finding import (
    NETEM_SIGMAS,
    RATE_TOLERANCE,
    REAL_NS,
    VIRTUAL_NS,
    CalibrationFinding,
    burst,
    ends_of,
)
from rushhour.metrics.thinning import netem_words, thins
from rushhour.quantities.netem_rate import netem_rate
from rushhour.quantities.ways import shares
from rushhour.record import courses
from rushhour.series.fullness import rest_bps
from rushhour.tc.kinds import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rushhour.record.context import End, Flow
    from rushhour.record.plan_file import PlanProbe
    from rushhour.record.record import Record
    from rushhour.record.result_file import PingResult

_PER_STAGE_NS = 2_000
# What a real machine's timers may add to an RTT besides: those of a virtual machine come 0.1 ms late, four or
# more of them a round trip. What is 2 % longer than asked is still the path that was asked for.
_REAL_SHARE = 0.02
# Where the path is there before the experiment.
_FOUND_LAB = "hosts"
# Trains whose stamps are worth less than this say nothing.
_WORST_TOLERANCE = 0.25


def pings(record: Record) -> Iterator[CalibrationFinding]:
    """Whether the idle round trips are as long as the links make them."""
    paths = record.plan.calibration.paths
    for entry in record.result.calibration.pings:
        path = paths[entry.path]
        flow = _between(record, path)
        if flow is None:
            continue
        bounds = [
            idle_rtt_ns(record, ends_of(record, (*there, *back)), _ping_frame(path))
            for there in flow.ways
            for back in flow.reverse_ways
        ]
        low, high = min(low for low, _ in bounds), max(high for _, high in bounds)
        ends = ends_of(record, (end for way in (*flow.ways, *flow.reverse_ways) for end in way))
        where = f"{path.from_} ↔ {path.to}"
        if record.manifest.lab == _FOUND_LAB:
            yield from _on_found_path(entry, where, low)
            continue
        asked = f"{low / 1e3:.1f} to {high / 1e3:.1f} µs"
        answers = entry.answers
        if answers:
            # On a machine that does other work one ping may wait; the path is as long as its best one says.
            longest = min(answers) if record.manifest.real_time else max(answers)
            ok = low <= min(answers) and longest <= high
            measured = f"{min(answers) / 1e3:.1f} to {max(answers) / 1e3:.1f} µs"
            yield CalibrationFinding("idle RTT", where, ok, asked, measured)
        elif not any(end.loss or end.role == "netem" for end in ends):
            yield CalibrationFinding(
                "idle RTT", where, ok=False, asked=asked, measured="no answer to any ping"
            )


def _on_found_path(entry: PingResult, where: str, low: float) -> Iterator[CalibrationFinding]:
    # What the path has of its own is not known, so only what was added to it can be asked for.
    answers = entry.answers
    if answers and low > 0:
        measured = f"{min(answers) / 1e3:.1f} µs"
        yield CalibrationFinding(
            "idle RTT", where, min(answers) >= low, f"{low / 1e3:.1f} µs or more", measured
        )


def _ping_frame(path: PlanProbe) -> int:
    # With the headers of ICMP, IP and Ethernet; 56 bytes as ping's, where the plan does not say.
    return (56 if path.size is None else path.size) + (62 if ":" in path.src else 42)


def idle_rtt_ns(record: Record, ends: Sequence[End], frame: int) -> tuple[float, float]:
    """The least and the greatest RTT that an idle path may show: Σ delay … Σ (delay + jitter), and the clock.

    A link that serialises adds the time of the ping's `frame` bytes. So does netem's own rate, for which that
    of a full frame is allowed.
    """
    low = high = 0.0
    for end in ends:
        spread = NETEM_SIGMAS * end.jitter_ns if end.role == "netem" else 0
        # What netem reorders overtakes the others by not being delayed at all.
        sent = courses.sent_ns(end, frame)
        low += sent + (0 if "reorder" in netem_words(end) else max(0, end.delay_ns - spread))
        high += sent + end.delay_ns + (spread or end.jitter_ns)
        if end.role == "netem" and (rate := netem_rate(end.queue)) is not None:
            high += rate.sent_ns(1514)
    real = record.manifest.real_time
    slack = REAL_NS + _REAL_SHARE * high if real else VIRTUAL_NS
    return low - VIRTUAL_NS, high + slack + _PER_STAGE_NS * len(ends)


def trains(record: Record) -> Iterator[CalibrationFinding]:
    """Whether trains of full packets have the rate of the slowest shaper."""
    trains = record.plan.calibration.trains
    for entry in record.result.calibration.trains:
        train = trains[entry.train]
        flow = _between(record, train)
        # Its packets belong to no flow: the rate is the slowest shaper's, or of a class without flows.
        crossed = ends_of(record, flow.ends) if flow else []
        # Packets that take several ways in turn have the rate of all; each end carries its share of them.
        taken = shares(flow.ways if flow.in_turn else (flow.ends,)) if flow else {}
        shaped = [end for end in ends_of(record, taken) if end.rate_bps and end.role != "police"]
        frame = _ping_frame(train)
        rates = [rest_bps(end) * _part(end, frame) / taken[end.end] for end in shaped]
        if flow is None or not rates or not _alike(record, flow):
            continue
        arrivals = np.sort(np.asarray(entry.arrivals_ns, np.float64))
        steady = _half(arrivals, real=record.manifest.real_time)
        if len(steady) < 4 or steady[-1] <= steady[0]:
            continue
        ways = len(flow.bottleneck_ends) if flow.in_turn else 1
        rate = min(rates)
        span = float(steady[-1] - steady[0])
        # Those of different ways may arrive together, so that the first and the last of them do not count.
        tolerance = _train_tolerance(record, flow, span, len(steady)) + (ways - 1) / len(steady)
        if tolerance > _WORST_TOLERANCE:
            continue
        kept = math.prod(1 - end.loss for end in ends_of(record, flow.ends))
        seen = (len(steady) - 1) * frame * 8e9 / span / max(kept, 1e-3)
        # What netem does to a train is not known: it may be thinned, or doubled, but not be faster.
        least = (1 - tolerance) * min(map(_least_share, crossed), default=1.0)
        most = (2 if any("duplicate" in netem_words(end) for end in crossed) else 1) + tolerance
        if record.manifest.real_time:
            # Its bucket may have filled while a processor was busy elsewhere, and is emptied at once then.
            most += max(burst(record, end) for end in crossed) / (len(steady) * frame)
        most *= _by_buckets(record, crossed, frame, len(arrivals), len(steady))
        yield CalibrationFinding(
            "rate",
            f"{train.from_} → {train.to}",
            least <= seen / rate <= most,
            f"{rate / 1e6:g} Mbit/s {'±' if least else '+'} {tolerance:.1%}",
            f"{seen / 1e6:.4g} Mbit/s",
        )


def _part(end: End, frame: int) -> float:
    """What part of netem's rate frames of this size have, which it counts for more or less than they are."""
    rate = netem_rate(end.queue)
    return frame / rate.counted(frame) if rate is not None else 1.0


def _least_share(end: End) -> float:
    """The least share of its rate that an end lets pass: none where netem thins.

    Cake's ingress mode charges what it drops, but a packet that passes holds the next back for one and a half
    of its time at most (`failsafe_next_packet` of sch_cake.c).
    """
    if thins(end):
        return 0.0
    kind, *words = (end.queue or "").split() or [""]
    return 2 / 3 if kind == "cake" and "ingress" in words else 1.0


def _by_buckets(record: Record, ends: Sequence[End], frame: int, sent: int, steady: int) -> float:
    """How much faster the second half may be where a bucket by the scenario's words outlasts the first."""
    left = max((burst(record, end) for end in ends), default=0) - (sent - steady) * frame
    if left <= 0:
        return 1.0
    late = (steady - 1) * frame - left - 2 * frame
    return (steady - 1) * frame / late if late > 0 else math.inf


def _half(arrivals: NDArray[np.float64], *, real: bool) -> NDArray[np.float64]:
    """The half of a train that tells the rate.

    A burst may pass at once, so the first half does not count. Where time is real a processor may be away for
    some packets' time: the half that came fastest tells what the path carries.
    """
    size = len(arrivals) - len(arrivals) // 2
    if not real or size < 1:
        return arrivals[len(arrivals) // 2 :]
    begin = int(np.argmin(arrivals[size - 1 :] - arrivals[: len(arrivals) - size + 1]))
    return arrivals[begin : begin + size]


def _alike(record: Record, flow: Flow) -> bool:
    """Whether all ways are alike, so that a train tells one rate whichever it takes."""
    ways = [ends_of(record, way) for way in flow.ways]
    told = {
        tuple((end.rate_bps, end.delay_ns) for end in way if end.rate_bps or end.delay_ns) for way in ways
    }
    return len(told) == 1


def _train_tolerance(record: Record, flow: Flow, span: float, packets: int) -> float:
    # First and last packet may each be moved by the whole jitter, and a timer late; losses thin the train.
    ends = ends_of(record, flow.ends)
    jitter = sum(end.jitter_ns * (2 * NETEM_SIGMAS if end.role == "netem" else 1) for end in ends)
    stamp = REAL_NS if record.manifest.real_time else VIRTUAL_NS
    lost = 1 - math.prod(1 - end.loss for end in ends)
    thinning = 4 * math.sqrt(lost / packets) if lost else 0.0
    return RATE_TOLERANCE + (jitter + stamp) / span + thinning


def qdiscs(record: Record) -> Iterator[CalibrationFinding]:
    """Whether the queues that were asked for stand there."""
    there: dict[int, set[str]] = {}
    for entry in record.result.calibration.qdiscs:
        there.setdefault(entry.end, set()).add(entry.kind)
    if not there:
        return
    for end in record.context.ends.values():
        planned = record.plan.place(end.end)
        asked = {kind for line in (planned.qdiscs if planned else ()) if (kind := kind_of(line))}
        if asked:
            found = there.get(end.end, set())
            yield CalibrationFinding(
                "qdiscs",
                end.label,
                asked <= found,
                " ".join(sorted(asked)),
                " ".join(sorted(found)) or "none",
            )


def _between(record: Record, path: PlanProbe) -> Flow | None:
    # A flow that takes the path between these two nodes; its ends are the path's.
    for planned in record.plan.flows:
        if (planned.from_, planned.to) == (path.from_, path.to):
            return record.context.flows.get(planned.id)
    return None
