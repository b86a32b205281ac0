"""The queue of a class: how long packets wait in it, how fast it empties, what it drops.

A class sends when its scheduler lets it, so what waits there tells nothing without what left it. Its own
counters, read at each sample, tell both: bytes sent so far, and bytes waiting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rushhour.record import decode
from rushhour.record.classes import class_of
from rushhour.record.tables import chosen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rushhour.record.context import End, Flow, LinkClass
    from rushhour.record.decode import Rows
    from rushhour.record.record import Record

    Numbers = NDArray[np.float64]


def in_use(record: Record, end: End, flow: Flow) -> LinkClass | None:
    """The class of an end whose queue a flow's packets are in, where a record has readings of classes."""
    return class_of(end, flow) if end.classes and record.has("class") else None


def readings(record: Record, end: End, entry: LinkClass) -> Rows:
    """The readings of a class."""
    rows: Rows = record.table("class", end=end.end)
    return chosen(rows, rows["handle"] == entry.classid)


def below(record: Record, end: End, entry: LinkClass) -> Rows:
    """The readings of the discipline below a class."""
    rows: Rows = record.table("qdisc", end=end.end)
    return chosen(rows, rows["parent"] == entry.classid)


def drops(record: Record, end: End, entry: LinkClass) -> tuple[Numbers, Numbers]:
    """When the queue of a class was read, in s, and how many packets it had dropped.

    The discipline below the class is asked: what that drops later than on arrival, the class does not count.
    """
    rows = below(record, end, entry) if record.has("qdisc") else None
    if rows is None or not len(rows):
        rows = readings(record, end, entry)
    return rows["t_ns"] * 1e-9, decode.unwrap32(rows["drops"]).astype(np.float64)


def waits_s(record: Record, end: End, entry: LinkClass) -> tuple[Numbers, Numbers]:
    """When a class was read, and how long what came then waited, in s: until as much had left it.

    What had not left it at the last reading is not among them.
    """
    t_s, sent, waiting = _counts(record, end, entry)
    if len(t_s) < 2:
        return np.zeros(0), np.zeros(0)
    gone = sent + waiting
    after = np.clip(np.searchsorted(sent, gone), 1, len(sent) - 1)
    part = (gone - sent[after - 1]) / np.maximum(1.0, sent[after] - sent[after - 1])
    left = t_s[after - 1] + part * (t_s[after] - t_s[after - 1])
    known = gone <= sent[-1]
    delay = np.where(waiting > 0, np.maximum(0.0, left - t_s), 0.0)
    return t_s[known], delay[known]


def packets_s(record: Record, end: End, entry: LinkClass) -> tuple[Numbers, Numbers]:
    """The same for each packet that left a class, by the reading before: stamps and waits in s, [packets]."""
    t_s, delay = waits_s(record, end, entry)
    sent = decode.unwrap32(readings(record, end, entry)["packets"]).astype(np.int64)
    left = np.maximum(0, np.diff(sent, append=sent[-1:]))[: len(t_s)]
    return np.repeat(t_s, left), np.repeat(delay, left)


def drained_bps(record: Record, end: End, entry: LinkClass) -> float:
    """The rate at which a class sent while anything waited in it; 0 where nothing did."""
    t_s, sent, waiting = _counts(record, end, entry)
    busy = waiting[:-1] > 0
    seconds = float(np.diff(t_s)[busy].sum())
    return 8 * float(np.diff(sent)[busy].sum()) / seconds if seconds else 0.0


def _counts(record: Record, end: End, entry: LinkClass) -> tuple[Numbers, Numbers, Numbers]:
    """Stamps in s, bytes sent so far and bytes waiting, of each reading of a class."""
    rows = readings(record, end, entry)
    return rows["t_ns"] * 1e-9, rows["bytes"].astype(np.float64), rows["backlog"].astype(np.float64)
