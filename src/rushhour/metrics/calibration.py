"""Calibration: were the links what was asked?

Takes a record, gives one finding per check. A run on links that are not true is not a result: the lab marks
it invalid with the messages of the findings that failed. What cannot be judged (no reading, too short a
train) gives no finding.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from rushhour.errors import RecordError
from rushhour.metrics.binomial import binomial_interval
from rushhour.metrics.queue import since_start
from rushhour.metrics.silence import silences
from rushhour.metrics.surroundings import bound_ns, carried, sampling_error_ns
from rushhour.metrics.thinning import netem_words, thins
from rushhour.record import courses

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from rushhour.record.context import End, Flow
    from rushhour.record.plan_file import PlanProbe
    from rushhour.record.record import Record
    from rushhour.record.result_file import PingResult

# How far a stamp may be off. Virtual: a timer comes up to 0.75 µs late, reading the clock costs 0.26 µs.
# Real: a loaded machine.
_VIRTUAL_NS, _REAL_NS = 2_000, 500_000
_PER_STAGE_NS = 2_000
# What a real machine's timers may add to an RTT besides: those of a virtual machine come 0.1 ms late, four or
# more of them a round trip. What is 2 % longer than asked is still the path that was asked for.
_REAL_SHARE = 0.02
# Where the path is there before the experiment.
_FOUND_LAB = "hosts"
# netem's jitter has long tails when it is not uniform.
_NETEM_SIGMAS = 5
# Room for what the shaper's clock rounds, over a whole train or interval.
_RATE_TOLERANCE = 0.01
# Trains whose stamps are worth less than this say nothing.
_WORST_TOLERANCE = 0.25
_DEPENDENT = 1 - 1e-6


@dataclass(frozen=True, slots=True)
class CalibrationFinding:
    """One check of one link end or path: what was asked, what was measured, whether that is true enough."""

    check: str
    where: str
    ok: bool
    asked: str
    measured: str

    @property
    def message(self) -> str:
        """The finding as a sentence."""
        return f"{self.check} of {self.where}: measured {self.measured}, asked for {self.asked}"


def calibrate(record: Record) -> list[CalibrationFinding]:
    """Judge every link of a run by what the agent measured before and counted during the experiment.

    Raises:
        RecordError: the calibration part of the plan or the result is damaged.
    """
    try:
        found = [*_pings(record), *_trains(record), *_qdiscs(record), *_inputs(record)]
    except (KeyError, IndexError) as error:  # it names a path, a train or a node that is not planned
        raise RecordError(
            f"the calibration in the plan or the result makes no sense ({type(error).__name__}: {error})",
            where=str(record.path),
            hint="the record is damaged; run the cell again with --fresh",
        ) from error
    return [
        *found,
        *_losses(record),
        *_backlogs(record),
        *_outputs(record),
        *_changes(record),
        *_lines(record),
        *(
            CalibrationFinding("what arrived", where, ok=False, asked="something", measured=sent)
            for where, sent in silences(record)
        ),
    ]


def invalid_reasons(record: Record) -> list[str]:
    """The messages of the findings that failed; empty if the links are true."""
    return [finding.message for finding in calibrate(record) if not finding.ok]


def _pings(record: Record) -> Iterator[CalibrationFinding]:
    paths = record.plan.calibration.paths
    for entry in record.result.calibration.pings:
        path = paths[entry.path]
        flow = _between(record, path)
        if flow is None:
            continue
        bounds = [
            idle_rtt_ns(record, _ends(record, (*there, *back)), _ping_frame(path))
            for there in flow.ways
            for back in flow.reverse_ways
        ]
        low, high = min(low for low, _ in bounds), max(high for _, high in bounds)
        ends = _ends(record, (end for way in (*flow.ways, *flow.reverse_ways) for end in way))
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
        spread = _NETEM_SIGMAS * end.jitter_ns if end.role == "netem" else 0
        # What netem reorders overtakes the others by not being delayed at all.
        sent = courses.sent_ns(end, frame)
        low += sent + (0 if "reorder" in netem_words(end) else max(0, end.delay_ns - spread))
        high += sent + end.delay_ns + (spread or end.jitter_ns)
        if end.role == "netem" and end.rate_bps:
            high += 1514 * 8e9 / end.rate_bps
    real = record.manifest.real_time
    slack = _REAL_NS + _REAL_SHARE * high if real else _VIRTUAL_NS
    return low - _VIRTUAL_NS, high + slack + _PER_STAGE_NS * len(ends)


def _trains(record: Record) -> Iterator[CalibrationFinding]:
    trains = record.plan.calibration.trains
    for entry in record.result.calibration.trains:
        train = trains[entry.train]
        flow = _between(record, train)
        # Its packets belong to no class, so the rate is the slowest shaper's and no ceiling.
        crossed = _ends(record, flow.ends) if flow else []
        # Packets that take several ways in turn have the rate of all; each end carries its share of them.
        taken = courses.shares(flow.ways if flow.in_turn else (flow.ends,)) if flow else {}
        shaped = [end for end in _ends(record, taken) if end.rate_bps and end.role != "police"]
        rates = [(end.rate_bps or 0) / taken[end.end] for end in shaped]
        if flow is None or not rates or not _alike(record, flow):
            continue
        arrivals = np.sort(np.asarray(entry.arrivals_ns, np.float64))
        steady = _half(arrivals, real=record.manifest.real_time)
        if len(steady) < 4 or steady[-1] <= steady[0]:
            continue
        frame = _ping_frame(train)
        ways = len(flow.bottleneck_ends) if flow.in_turn else 1
        rate = min(rates)
        span = float(steady[-1] - steady[0])
        # Those of different ways may arrive together, so that the first and the last of them do not count.
        tolerance = _train_tolerance(record, flow, span, len(steady)) + (ways - 1) / len(steady)
        if tolerance > _WORST_TOLERANCE:
            continue
        kept = math.prod(1 - end.loss for end in _ends(record, flow.ends))
        seen = (len(steady) - 1) * frame * 8e9 / span / max(kept, 1e-3)
        # What netem does to a train is not known: it may be thinned, or doubled, but not be faster.
        least = 0.0 if any(thins(end) for end in crossed) else 1 - tolerance
        most = (2 if any("duplicate" in netem_words(end) for end in crossed) else 1) + tolerance
        if record.manifest.real_time:
            # Its bucket may have filled while a processor was busy elsewhere, and is emptied at once then.
            most += max(_burst(record, end) for end in crossed) / (len(steady) * frame)
        most *= _by_buckets(record, crossed, frame, len(arrivals), len(steady))
        yield CalibrationFinding(
            "rate",
            f"{train.from_} → {train.to}",
            least <= seen / rate <= most,
            f"{rate / 1e6:g} Mbit/s {'±' if least else '+'} {tolerance:.1%}",
            f"{seen / 1e6:.4g} Mbit/s",
        )


def _by_buckets(record: Record, ends: Sequence[End], frame: int, sent: int, steady: int) -> float:
    """How much faster the second half may be where a bucket by the scenario's words outlasts the first."""
    left = max((_burst(record, end) for end in ends), default=0) - (sent - steady) * frame
    if left <= 0:
        return 1.0
    late = (steady - 1) * frame - left - 2 * frame
    return (steady - 1) * frame / late if late > 0 else math.inf


# What tc takes k and m for, in sizes.
_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20}


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


def _ends(record: Record, numbers: Iterable[int]) -> list[End]:
    # As they are at the start of the experiment, which is how they are when the agent calibrates.
    known = record.context.ends
    return [courses.at(known[number], 0) for number in numbers if number in known]


def _alike(record: Record, flow: Flow) -> bool:
    """Whether all ways are alike, so that a train tells one rate whichever it takes."""
    ways = [_ends(record, way) for way in flow.ways]
    told = {
        tuple((end.rate_bps, end.delay_ns) for end in way if end.rate_bps or end.delay_ns) for way in ways
    }
    return len(told) == 1


def _train_tolerance(record: Record, flow: Flow, span: float, packets: int) -> float:
    # First and last packet may each be moved by the whole jitter, and a timer late; losses thin the train.
    ends = _ends(record, flow.ends)
    jitter = sum(end.jitter_ns * (2 * _NETEM_SIGMAS if end.role == "netem" else 1) for end in ends)
    stamp = _REAL_NS if record.manifest.real_time else _VIRTUAL_NS
    lost = 1 - math.prod(1 - end.loss for end in ends)
    thinning = 4 * math.sqrt(lost / packets) if lost else 0.0
    return _RATE_TOLERANCE + (jitter + stamp) / span + thinning


def _qdiscs(record: Record) -> Iterator[CalibrationFinding]:
    there: dict[int, set[str]] = {}
    for entry in record.result.calibration.qdiscs:
        there.setdefault(entry.end, set()).add(entry.kind)
    if not there:
        return
    for end in record.context.ends.values():
        planned = record.plan.place(end.end)
        asked = {kind for line in (planned.qdiscs if planned else ()) if (kind := _kind(line))}
        if asked:
            found = there.get(end.end, set())
            yield CalibrationFinding(
                "qdiscs",
                end.label,
                asked <= found,
                " ".join(sorted(asked)),
                " ".join(sorted(found)) or "none",
            )


def _kind(line: str) -> str | None:
    # "root handle 1: tbf rate …" → "tbf"
    words = re.sub(r"^(?:\s*(?:root|(?:parent|handle)\s+\S+))*", "", line).split()
    return words[0] if words else None


def _losses(record: Record) -> Iterator[CalibrationFinding]:
    for end in record.context.ends.values() if record.has("wire") else ():
        rows = record.table("wire", end=end.end)
        if not len(rows):
            continue
        t_s = rows["t_ns"] * 1e-9
        packets = int(since_start(t_s, rows["packets"].astype(np.float64)))
        lost = int(since_start(t_s, rows["lost"].astype(np.float64)))
        if packets <= 0:
            continue
        planned = record.plan.place(end.end)
        extra = len(planned.wire.drop) if planned and planned.wire else 0
        loss = _mean_loss(record, end, packets)
        # Trials of unequal probability spread less than those of their mean (Hoeffding, 1956).
        low, high = binomial_interval(packets, loss)
        yield CalibrationFinding(
            "loss",
            end.label,
            low <= lost <= high + extra,
            f"{loss:g} of {packets} packets ({low} to {high + extra})",
            f"{lost} packets",
        )


def _inputs(record: Record) -> Iterator[CalibrationFinding]:
    asked = {node.name: node.drop_input for node in record.plan.nodes if node.drop_input}
    seen = {entry.node: entry for entry in record.result.inputs}
    for name, loss in asked.items():
        packets, dropped = seen[name].packets, seen[name].dropped
        # How much arrives depends on what was dropped before, so it is no plain binomial: allow for more.
        low, high = binomial_interval(packets, loss, _DEPENDENT)
        yield CalibrationFinding(
            "drops at INPUT",
            name,
            low <= dropped <= high,
            f"{loss:g} of {packets} packets ({low} to {high})",
            f"{dropped} packets",
        )


def _mean_loss(record: Record, end: End, packets: int) -> float:
    # Each packet's own probability: a pattern's, with the packets that came between its changes.
    course = end.over_time.get("loss")
    if course is None:
        return end.loss
    rows = record.table("changes", end=end.end)
    rows = rows[rows["key"] == b"loss"]
    counts = np.diff(np.concatenate([[0], rows["packets"], [packets]]).astype(np.float64))
    values = np.concatenate([[course[0][1]], rows["value"]])
    return float((counts * values).sum() / packets)


def _lines(record: Record) -> Iterator[CalibrationFinding]:
    """What carried packets in place of the kernel: late by no more than that, and nothing lost by itself."""
    bound = bound_ns(record)
    for one in carried(record):
        end = record.context.ends.get(one.end)
        where = end.label if end else f"end {one.end}"
        asked, measured = f"99 of 100 within {bound / 1e6:g} ms", f"{one.late_ns / 1e6:.3g} ms"
        yield CalibrationFinding("lateness of the line", where, one.late_ns <= bound, asked, measured)
        yield CalibrationFinding(
            "frames that the line lost itself", where, one.lost == 0, "none", f"{one.lost} frames"
        )


def _changes(record: Record) -> Iterator[CalibrationFinding]:
    asked = [(change.t_ns, change.end, float(change.value)) for change in record.plan.changes]
    if not asked:
        return
    done, late = [], 0
    if record.has("changes"):
        rows = record.table("changes")
        done = list(zip(rows["t_ns"].tolist(), rows["end"].tolist(), rows["value"].tolist(), strict=True))
        late = int((rows["done_ns"] - rows["t_ns"]).max(initial=0))
    stamp = _REAL_NS if record.manifest.real_time else 10 * _VIRTUAL_NS
    yield CalibrationFinding(
        "changes",
        "all links",
        asked == done and late <= stamp,
        f"{len(asked)} changes, each within {stamp / 1e3:g} µs",
        f"{len(done)} changes, at most {late / 1e3:g} µs late",
    )


def _backlogs(record: Record) -> Iterator[CalibrationFinding]:
    # Only of a fifo is the limit exactly that of what waits.
    for end in record.context.ends.values() if record.has("qdisc") else ():
        rows = record.root_qdisc(end.end)
        if end.role != "queue" or (end.queue or "fifo").split()[:1] != ["fifo"] or not len(rows):
            continue
        for column, limit, unit in (
            ("backlog", end.buffer_bytes, "B"),
            ("qlen", end.buffer_packets, "packets"),
        ):
            if limit:
                most = int(rows[column].max())
                yield CalibrationFinding(
                    "queue limit", end.label, most <= limit, f"at most {limit} {unit}", f"{most} {unit}"
                )


def _outputs(record: Record) -> Iterator[CalibrationFinding]:
    for end in record.context.ends.values() if record.has("interface") else ():
        rows = record.table("interface", end=end.end)
        if end.role != "queue" or not end.rate_bps or len(rows) < 2:
            continue
        span = np.diff(rows["t_ns"].astype(np.float64))
        moved = np.diff(rows["tx_bytes"].astype(np.float64)) * 8
        # A full bucket, a frame under way, and a stamp that is late may add to an interval.
        real = record.manifest.real_time
        stamp = max(_REAL_NS, sampling_error_ns(record)) if real else 10 * _VIRTUAL_NS
        could = [
            courses.capacity_bits(end, int(begin), int(done) + stamp)
            for begin, done in pairwise(rows["t_ns"].tolist())
        ]
        extra = _burst(record, end) + (2 + _changes_in_a_row(end, rows["t_ns"])) * 1514
        allowed = np.array(could) * (1 + _RATE_TOLERANCE) + 8 * extra
        worst = int(np.argmax(moved - allowed))
        if span[worst] > 0:
            yield CalibrationFinding(
                "output",
                end.label,
                bool(moved[worst] <= allowed[worst]),
                f"at most {could[worst] * 1e3 / span[worst]:.4g} Mbit/s",
                f"{moved[worst] * 1e3 / span[worst]:.4g} Mbit/s at {rows['t_ns'][worst + 1] / 1e9:.3f} s",
            )


def _changes_in_a_row(end: End, t_ns: NDArray[np.int64]) -> int:
    # Each change of tbf fills its bucket, and lets the frame pass that waits for it.
    instants = [t for t, _ in end.over_time.get("rate_bps", ())]
    return int(np.histogram(instants, t_ns)[0].max()) if instants else 0


def _burst(record: Record, end: End) -> int:
    # Bytes of the shaper's bucket, from the words of the plan.
    planned = record.plan.place(end.end)
    lines = (*planned.qdiscs, *planned.filters) if planned else ()
    words = r"\b(?:c?burst|buffer|maxburst) (\d{1,12})(kb?|mb?|b?)\b"
    found = [match for line in lines for match in re.findall(words, line)]
    return max((int(size) * _UNITS[unit[:1]] for size, unit in found), default=0)


def _between(record: Record, path: PlanProbe) -> Flow | None:
    # A flow that takes the path between these two nodes; its ends are the path's.
    for planned in record.plan.flows:
        if (planned.from_, planned.to) == (path.from_, path.to):
            return record.context.flows.get(planned.id)
    return None
