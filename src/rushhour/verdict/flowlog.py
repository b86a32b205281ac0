"""What one TCP flow did in one run, in order: ACKs, changes of congestion state, retransmissions, errors."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rushhour.record import decode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rushhour.record.record import Record

    Rows = list[dict[str, Any]]

TABLES = ("tcp_probe", "tcp_cong_state_set", "tcp_retransmit_skb", "inet_sk_error_report")
STATES = ("Open", "Disorder", "CWR", "Recovery", "Loss")
"""The names of `icsk_ca_state`, TCP_CA_* of <linux/tcp.h>."""
ROWS = 5
"""ACKs that are shown of either side, before and after."""
_COLUMNS = ("snd_cwnd", "ssthresh", "snd_una", "snd_nxt", "snd_wnd", "srtt")
_SEQUENCES = ("snd_una", "snd_nxt")


@dataclass(frozen=True)
class FlowLog:
    """The events of one flow. ACK *k* counts from 1; its row shows the state that it found."""

    acks: decode.Rows
    states: decode.Rows
    retransmits: decode.Rows
    errors: decode.Rows

    @classmethod
    def of(cls, record: Record, flow: int) -> FlowLog:
        """The events of a flow by its number; what was not traced is empty."""
        empty = np.zeros(0, [("t_ns", "<i8"), ("cong_state", "u1")])
        tables = [record.table(name, flow=flow) if record.has(name) else empty for name in TABLES]
        return cls(*tables)

    def acks_by(self, t_ns: int) -> int:
        """How many ACKs had come by then."""
        return int(np.searchsorted(self.acks["t_ns"], t_ns, "right"))

    def instant(self, ack: int) -> int:
        """When ACK *k* came, in ns; of 0 the instant before all."""
        return int(self.acks["t_ns"][ack - 1]) if 0 < ack <= len(self.acks) else -(1 << 62)

    def state(self, t_ns: int) -> str:
        """The congestion state just before an instant."""
        place = int(np.searchsorted(self.states["t_ns"], t_ns, "left"))
        return state_name(self.states["cong_state"][place - 1]) if place else STATES[0]

    def entered(self, since: int, until: int) -> list[str]:
        """The congestion states entered from an instant on, until another."""
        inside = self.states[_within(self.states, since, until)]
        return [state_name(row["cong_state"]) for row in inside]

    def retransmitted(self, since: int, until: int) -> int:
        """Retransmissions from an instant on, until another."""
        return len(self.retransmits[_within(self.retransmits, since, until)])

    def split(self, ack: int, since: int) -> tuple[Rows, Rows]:
        """The rows up to ACK *k* and what happened before `since`; the rows from there on."""
        first, last = max(0, ack - ROWS), min(len(self.acks), ack + ROWS)
        begin = int(self.acks["t_ns"][first]) if first < len(self.acks) else since
        stop = int(self.acks["t_ns"][last - 1]) + 1 if last > ack else 1 << 62
        before = self._acks(first, ack) + self._events(begin, since)
        after = self._acks(ack, last) + self._events(since, stop)[: 2 * ROWS]
        return _in_order(before), _in_order(after)

    def _acks(self, first: int, last: int) -> Rows:
        shown = [name for name in _COLUMNS if name in (self.acks.dtype.names or ())]
        sequence = {name: relative(self.acks[:last], name)[first:] for name in _SEQUENCES}
        return [
            {
                "t_ns": int(row["t_ns"]),
                "event": f"ACK {first + place + 1}",
                **{name: int(sequence[name][place] if name in sequence else row[name]) for name in shown},
            }
            for place, row in enumerate(self.acks[first:last])
        ]

    def _events(self, since: int, until: int) -> Rows:
        entered = [
            {"t_ns": int(row["t_ns"]), "event": f"enters {state_name(row['cong_state'])}"}
            for row in self.states[_within(self.states, since, until)][: 2 * ROWS]
        ]
        sent = self.retransmits[_within(self.retransmits, since, until)][: 2 * ROWS]
        ended = [
            {"t_ns": int(row["t_ns"]), "event": f"ends with {error_name(row['error'])}"}
            for row in self.errors[_within(self.errors, since, until)][: 2 * ROWS]
        ]
        return entered + [{"t_ns": int(row["t_ns"]), "event": "retransmits"} for row in sent] + ended


def state_name(value: float) -> str:
    """A congestion state by its name."""
    return STATES[int(value)] if int(value) < len(STATES) else str(int(value))


def error_name(value: float) -> str:
    """An error of a socket by its name."""
    return errno.errorcode.get(int(value), f"error {int(value)}")


def relative(acks: decode.Rows, column: str) -> NDArray[np.int64]:
    """Sequence numbers of one flow [n] in bytes from the first unacknowledged of their connection."""
    origin = origins(acks, np.zeros(len(acks), np.int64))
    offset = acks[column].astype(np.uint32) - origin
    if len(origin) and np.all(origin == origin[0]):
        # One connection may carry more than 2^32 bytes.
        return decode.unwrap32(np.concatenate([np.zeros(1, np.uint32), offset]))[1:]
    return offset.astype(np.int64)


def origins(acks: decode.Rows, streams: NDArray[np.int64]) -> NDArray[np.uint32]:
    """The first unacknowledged sequence number of the connection that each ACK is of [n].

    A flow has another connection where the socket is another one (`sock_cookie`): its numbers begin anew.
    """
    order = np.argsort(streams, kind="stable")
    begins = np.ones(len(acks), bool)
    begins[1:] = streams[order][1:] != streams[order][:-1]
    if "sock_cookie" in (acks.dtype.names or ()):
        cookies = acks["sock_cookie"][order]
        begins[1:] |= cookies[1:] != cookies[:-1]
    number = np.cumsum(begins) - 1
    found = np.empty(len(acks), np.uint32)
    found[order] = acks["snd_una"].astype(np.uint32)[order][begins][number]
    return found


def _within(rows: decode.Rows, since: int, until: int) -> slice:
    first, last = np.searchsorted(rows["t_ns"], [since, until], "left")
    return slice(int(first), int(last))


def _in_order(rows: Rows) -> Rows:
    # An ACK comes before what it caused at the same instant.
    return sorted(rows, key=lambda row: row["t_ns"])
