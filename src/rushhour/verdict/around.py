"""The rows around a difference, of either side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.record import decode
from rushhour.verdict import traces
from rushhour.verdict.flowlog import ROWS, TABLES, FlowLog

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.record.record import Record
    from rushhour.verdict.alignment import Difference

    Rows = list[dict[str, object]]
    Sides = tuple[Record, Record]

SIDES = ("base", "candidate")
_QUEUE = ("t_ns", "packets", "qlen", "backlog", "drops")


def surroundings(sides: Sides, one: Difference) -> tuple[Mapping[str, Rows], Mapping[str, Rows]]:
    """The rows before the difference and from it on, by `base` and `candidate`."""
    if one.table in TABLES and all(record.has("tcp_probe") for record in sides):
        logs = [FlowLog.of(record, one.code) for record in sides]
        ack = common_acks(sides, one)
        # An ACK that merely comes at another time is itself what differs.
        step = 1 if one.table == "tcp_probe" and one.kind in ("time", "jump") else 0
        parts = [log.split(ack, log.instant(ack + step)) for log in logs]
    else:
        parts = [_stream(record, one) for record in sides]
    before = {side: part[0] for side, part in zip(SIDES, parts, strict=True)}
    return before, {side: part[1] for side, part in zip(SIDES, parts, strict=True)}


def common_acks(sides: Sides, one: Difference) -> int:
    """How many ACKs of the flow both sides have up to the difference."""
    if one.table == "tcp_probe":
        return one.place
    return min(
        FlowLog.of(record, one.code).acks_by(int(record.raw(one.table).rows["t_ns"][row]))
        for record, row in zip(sides, one.rows, strict=True)
        if row >= 0
    )


def _stream(record: Record, one: Difference) -> tuple[Rows, Rows]:
    """Rows of the stream itself, where it is no TCP flow with a trace of ACKs."""
    if not record.has(one.table):
        return [], []
    rows = record.raw(one.table).rows
    mine = rows[traces.codes(one.table, rows) == one.code]
    parts = mine[max(0, one.place - ROWS) : one.place], mine[one.place : one.place + ROWS]
    return _shown(parts[0], one), _shown(parts[1], one)


def _shown(rows: decode.Rows, one: Difference) -> Rows:
    if one.table == "tcp_info":
        info = decode.tcp_info(rows["info"])
        wanted = dict.fromkeys(("snd_cwnd", "rtt", *one.values))
        known = [name for name in wanted if name in (info.dtype.names or ())]
        return [
            {"t_ns": int(row["t_ns"]), **{name: int(values[name]) for name in known}}
            for row, values in zip(rows, info, strict=True)
        ]
    every = [name for name in rows.dtype.names or () if rows.dtype[name].kind in "iu" and name != "flow"]
    names = _QUEUE if one.table == "qdisc" else every
    return [{name: int(row[name]) for name in names} for row in rows]
