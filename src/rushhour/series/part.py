"""A part of a record: the same run, as if only what happened between two instants had been recorded.

Takes a record and a span, gives a record whose tables, counters and flows are cut to it: every metric of
the catalogue measures the part by its own definition. Cuts lie on readings; nothing is interpolated.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rushhour.record.context import Context, Flow, Outcome
from rushhour.record.record import Record
from rushhour.series.readings import delivered
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rushhour.record import decode
    from rushhour.record.tables import Table

# What stamps a row: its own instant, or for packets and transactions, when they began or ended.
_STAMPS = {"udp": "tx_ns", "ping": "tx_ns", "transaction": "end_ns"}
_SAMPLED = ("tcp_info", "mptcp_info", "qdisc", "interface", "wire", "datagrams")
# The fields of tcp_info that count from the connection on.
_COUNTERS = (
    *(
        "total_retrans",
        "bytes_acked",
        "bytes_received",
        "segs_out",
        "segs_in",
        "data_segs_in",
        "data_segs_out",
    ),
    *(
        "busy_time",
        "rwnd_limited",
        "sndbuf_limited",
        "delivered",
        "delivered_ce",
        "bytes_sent",
        "bytes_retrans",
    ),
    *("dsack_dups", "reord_seen", "rcv_ooopack", "total_rto", "total_rto_recoveries", "total_rto_time"),
)


def between(record: Record, begin_ns: int | None, done_ns: int | None) -> Record:
    """The part of a record between two instants, in ns from the start; None means the record's own.

    Counters are counted from the last reading up to the beginning. What a flow reports only at its end (and
    iperf3's own counts of datagrams) is undefined in a part.
    """
    begin = 0 if begin_ns is None else begin_ns
    done = record.context.duration_ns if done_ns is None else min(done_ns, record.context.duration_ns)
    return _Part(record, begin, done)


class _Part(Record):
    def __init__(self, whole: Record, begin: int, done: int) -> None:
        super().__init__(whole.path, whole.manifest)
        self._whole, self._begin, self._done = whole, begin, done
        # A reading is taken a moment after the instant it is meant for.
        self._moment = whole.sample_ns // 100
        flows = {number: self._cut_flow(flow) for number, flow in whole.context.flows.items()}
        warmup = max(begin, whole.context.warmup_ns) if begin else whole.context.warmup_ns
        self.context = Context(flows, whole.context.ends, done, warmup, done)

    def raw(self, name: str) -> Table:
        if name not in self._tables:
            table = self._whole.raw(name)
            column = _STAMPS.get(name, "t_ns")
            if column in (table.rows.dtype.names or ()):
                t_ns = table.rows[column]
                done = self._done + (self._moment if name in _SAMPLED else 0)
                inside = (t_ns >= self._begin) & (t_ns <= done)
                table = replace(table, rows=table.rows[inside])
            self._tables[name] = table
        return self._tables[name]

    def tcp_info(self, flow: int | str, side: int = 0) -> tuple[NDArray[np.int64], decode.Rows]:
        number = flow if isinstance(flow, int) else self.context.flow(flow).id
        if (number, side) not in self._info:
            t_ns, info = self._whole.tcp_info(number, side)
            before, last = self._edges(t_ns)
            mine = info[before + 1 : last + 1].copy()
            if before >= 0:
                for name in set(_COUNTERS) & set(info.dtype.names or ()):
                    mine[name] -= info[name][before]
            self._info[number, side] = t_ns[before + 1 : last + 1], mine
        return self._info[number, side]

    def _edges(self, t_ns: NDArray[np.int64]) -> tuple[int, int]:
        """The last readings up to the beginning (-1 if there is none) and up to the end."""
        begin, done = (
            int(np.searchsorted(t_ns, instant + self._moment, side="right")) - 1
            for instant in (self._begin, self._done)
        )
        return (begin if self._begin else -1), done

    def _cut_flow(self, flow: Flow) -> Flow:
        t_ns, count = delivered(self._whole, flow)
        before, last = self._edges(t_ns)
        before = max(before, 0)
        nothing = replace(flow, outcome=Outcome(error="the flow was not active in this part"))
        if last <= before:
            return nothing if flow.kind in kinds.STREAMS else self._cut_other(flow)
        outcome = Outcome(
            connected_ns=int(t_ns[before]),
            receiver_done_ns=int(t_ns[last]),
            sender_done_ns=int(t_ns[last]),
            bytes_received=int(count[last] - count[before]),
            packets_sent=self._sent(flow),
            error=flow.outcome.error,
        )
        return replace(flow, outcome=outcome)

    def _cut_other(self, flow: Flow) -> Flow:
        """A flow without payload one way: its times, cut."""
        span = flow.active_ns
        if span is None:
            return flow
        begin, done = max(span[0], self._begin), min(span[1], self._done)
        outcome = replace(
            flow.outcome, connected_ns=begin, sender_done_ns=done, receiver_done_ns=done, bytes_received=None
        )
        return replace(flow, outcome=outcome)

    def _sent(self, flow: Flow) -> int | None:
        """Datagrams sent in this part: those between the first and the last that arrived."""
        if flow.kind not in kinds.UDP_STREAMS or not self.has("udp"):
            return None
        rows = self._whole.table("udp", flow=flow.id)
        seq = rows["seq"][(rows["tx_ns"] >= self._begin) & (rows["tx_ns"] <= self._done)]
        return int(seq.max()) - int(seq.min()) + 1 if len(seq) else None
