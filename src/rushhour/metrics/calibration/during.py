"""What was counted during the experiment: losses, drops, backlogs, outputs, changes, and the line."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from rushhour.metrics.binomial import binomial_interval
from rushhour.metrics.calibration.finding import (
    RATE_TOLERANCE,
    REAL_NS,
    VIRTUAL_NS,
    CalibrationFinding,
    burst,
)
from rushhour.metrics.queue import since_start
from rushhour.metrics.surroundings import bound_ns, carried, sampling_error_ns
from rushhour.quantities.words import plural
from rushhour.record import classes, courses
from rushhour.record.context import LinkClass
from rushhour.series import class_queue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rushhour.record.context import End
    from rushhour.record.record import Record

_DEPENDENT = 1 - 1e-6


def losses(record: Record) -> Iterator[CalibrationFinding]:
    """Whether each wire lost as many packets as its probability says."""
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
            plural(lost, "packet"),
        )


def inputs(record: Record) -> Iterator[CalibrationFinding]:
    """Whether each node dropped as many arrivals as its `drop_input` says."""
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
            plural(dropped, "packet"),
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


def lines(record: Record) -> Iterator[CalibrationFinding]:
    """What carried packets in place of the kernel: late by no more than that, and nothing lost by itself."""
    bound = bound_ns(record)
    for one in carried(record):
        end = record.context.ends.get(one.end)
        where = end.label if end else f"end {one.end}"
        asked, measured = f"99 of 100 within {bound / 1e6:g} ms", f"{one.late_ns / 1e6:.3g} ms"
        yield CalibrationFinding("lateness of the line", where, one.late_ns <= bound, asked, measured)
        yield CalibrationFinding(
            "frames that the line lost itself", where, one.lost == 0, "none", plural(one.lost, "frame")
        )


def changes(record: Record) -> Iterator[CalibrationFinding]:
    """Whether all that patterns change was changed, and in time."""
    asked = [(change.t_ns, change.end, float(change.value)) for change in record.plan.changes]
    if not asked:
        return
    done, late = [], 0
    if record.has("changes"):
        rows = record.table("changes")
        done = list(zip(rows["t_ns"].tolist(), rows["end"].tolist(), rows["value"].tolist(), strict=True))
        late = int((rows["done_ns"] - rows["t_ns"]).max(initial=0))
    stamp = REAL_NS if record.manifest.real_time else 10 * VIRTUAL_NS
    yield CalibrationFinding(
        "changes",
        "all links",
        asked == done and late <= stamp,
        f"{plural(len(asked), 'change')}, each within {stamp / 1e3:g} µs",
        f"{plural(len(done), 'change')}, at most {late / 1e3:g} µs late",
    )


def backlogs(record: Record) -> Iterator[CalibrationFinding]:
    """Whether no fifo held more than its limit."""
    # Only of a fifo is the limit exactly that of what waits.
    for end in record.context.ends.values() if record.has("qdisc") else ():
        if end.role == "queue":
            for held in classes.queues(end):
                yield from _backlog(record, end, held)


def _backlog(record: Record, end: End, held: End | LinkClass) -> Iterator[CalibrationFinding]:
    entry = held if isinstance(held, LinkClass) else None
    if entry is None and end.classes:
        return  # an older version wrote the record, and nothing of what its classes hold
    rows = record.root_qdisc(end.end) if entry is None else class_queue.below(record, end, entry)
    if (held.queue or "fifo").split()[:1] != ["fifo"] or not len(rows):
        return
    place = classes.place(end, entry)
    limits = (("backlog", held.buffer_bytes, "B"), ("qlen", held.buffer_packets, "packets"))
    for column, limit, unit in limits:
        if limit:
            most = int(rows[column].max())
            yield CalibrationFinding(
                "queue limit", place, most <= limit, f"at most {limit} {unit}", f"{most} {unit}"
            )


def outputs(record: Record) -> Iterator[CalibrationFinding]:
    """Whether no shaper let more pass than its rate."""
    for end in record.context.ends.values() if record.has("interface") else ():
        rows = record.table("interface", end=end.end)
        if end.role != "queue" or not end.rate_bps or len(rows) < 2:
            continue
        span = np.diff(rows["t_ns"].astype(np.float64))
        moved = np.diff(rows["tx_bytes"].astype(np.float64)) * 8
        # A full bucket, a frame under way, and a stamp that is late may add to an interval.
        real = record.manifest.real_time
        stamp = max(REAL_NS, sampling_error_ns(record)) if real else 10 * VIRTUAL_NS
        could = [
            courses.capacity_bits(end, int(begin), int(done) + stamp)
            for begin, done in pairwise(rows["t_ns"].tolist())
        ]
        extra = burst(record, end) + (2 + _changes_in_a_row(end, rows["t_ns"])) * 1514
        allowed = np.array(could) * (1 + RATE_TOLERANCE) + 8 * extra
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
