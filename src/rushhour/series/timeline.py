"""What held a TCP sender back, interval by interval: its time taken apart by cause.

The kernel says itself how long a sender waited for the peer's window, for its send buffer, for its
application (its chronometer, tcp_chrono_*; RFC 4898 calls these SndLimTime). What is left belongs to the
congestion window, which says nothing yet: the window may fill the path, as it should, or be small. That part
is taken apart here by what queues, states and counters show of the same interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rushhour.record import decode
from rushhour.series.acks import heard_ns
from rushhour.series.fullness import Full, full, is_alone
from rushhour.series.handshake import syn_retransmits
from rushhour.series.waits import waiting_s
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rushhour.record.context import Flow
    from rushhour.record.decode import Rows
    from rushhour.record.record import Record

    Numbers = NDArray[np.float64]
    FullPath = Callable[[Numbers], NDArray[np.bool_]]

LIMITS = {
    "handshake": "the connection was being opened",
    "path": "the path was full",
    "receiver": "the receiver's window was full",
    "reader": "the receiving application had not read what was there",
    "sndbuf": "the send buffer was full",
    "application": "the application had given the kernel nothing to send",
    "pacing": "the socket's pacing rate held it",
    "acks": "the ACKs waited in a queue on their way back",
    "slow_start": "slow start had not filled the path yet",
    "timeouts": "the sender waited for a retransmission timeout",
    "losses": "losses kept the window below what the path holds",
    "marks": "congestion marks kept the window below what the path holds",
    "window": "the algorithm kept its window below what the path holds",
}
"""Every limit, with what it says: "for 60 % of the time …"."""

UNREAD = 0.5
"""Part of the receiver's window that lies unread from which its application is what limits."""
PACED = 0.9
"""Part of SO_MAX_PACING_RATE from which a flow counts as held by it."""
_LOSS = 4  # TCP_CA_Loss
_UNPACED = 1 << 60


@dataclass(frozen=True)
class Timeline:
    """Seconds of each interval that each limit held.

    `edges_s` float64 [n + 1] are the intervals' borders from the start of the experiment; `held_s` has
    float64 [n] for every one of `LIMITS`; in every interval they add up to its length.
    """

    edges_s: Numbers
    held_s: dict[str, Numbers]

    @cached_property
    def shares(self) -> dict[str, float]:
        """Part of the whole time of each limit, the greatest first; those that never held are left out."""
        total = float(np.diff(self.edges_s).sum())
        held = np.sum([*self.held_s.values()], axis=1).tolist()
        parts = {name: whole / total for name, whole in zip(self.held_s, held, strict=True)}
        return dict(sorted(((k, v) for k, v in parts.items() if v > 0), key=lambda pair: -pair[1]))


def timeline(record: Record, flow: Flow, seen_full: FullPath | None = None) -> Timeline | None:
    """Take a TCP flow's time apart, from its start to its end; None where the kernel gave no readings.

    Needs tcp_info; without readings of the queues a full path is not seen and counts as `window`, unless
    `seen_full` tells of each interval (between edges in s [n + 1]) whether the path was full: bool [n].
    """
    t_ns, info = record.tcp_info(flow.id)
    span = flow.active_ns
    begin = flow.start_ns if flow.outcome.connected_ns is None else flow.outcome.connected_ns
    done = record.context.duration_ns if span is None else span[1]
    inside = slice(*np.searchsorted(t_ns, [begin, done], side="right").tolist())
    t_ns, info = t_ns[inside], info[inside]
    if not len(info) or "busy_time" not in (info.dtype.names or ()):
        return None
    edges = np.concatenate([[begin], t_ns]) * 1e-9
    return _with_handshake(flow, _Parts(record, flow, edges, info, seen_full).timeline())


def _with_handshake(flow: Flow, found: Timeline) -> Timeline:
    """The timeline from the flow's start: an interval for the handshake before the connection was there."""
    waited = float(found.edges_s[0]) - flow.start_ns * 1e-9
    if waited <= 0:
        return found
    held = _nothing(len(found.edges_s))
    for name, parts in found.held_s.items():
        held[name][1:] = parts
    held["handshake"][0] = waited
    return Timeline(np.concatenate([[found.edges_s[0] - waited], found.edges_s]), held)


def _nothing(intervals: int) -> dict[str, Numbers]:
    """No limit held in any interval: rows of one array."""
    return dict(zip(LIMITS, np.zeros((len(LIMITS), intervals)), strict=True))


def timelines(record: Record) -> dict[int, Timeline]:
    """The timelines of all TCP flows that have one, by the flow's id."""
    made = ((flow.id, timeline(record, flow)) for flow in record.flows(*kinds.TCP_STREAMS))
    return {number: found for number, found in made if found is not None}


class _Parts:
    # The parts of each interval; every method gives float64 [n] of seconds or of truth.

    def __init__(
        self, record: Record, flow: Flow, edges: Numbers, info: Rows, seen_full: FullPath | None
    ) -> None:
        self.record, self.flow, self.edges, self.info = record, flow, edges, info
        self.seen_full = seen_full
        self.length = np.diff(edges)
        self.fields: dict[str, Numbers] = {}
        self.syns = syn_retransmits(record, flow)

    def timeline(self) -> Timeline:
        # The chronometer counts whole ticks, so it may run one ahead of an interval.
        busy = np.minimum(self._chrono("busy_time"), self.length)
        rwnd = np.minimum(self._chrono("rwnd_limited"), busy)
        sndbuf = np.minimum(self._chrono("sndbuf_limited"), busy - rwnd)
        full, alone = self._full()
        rwnd, sndbuf = rwnd * ~alone, sndbuf * ~alone  # more window would only make the queue longer
        window = busy - rwnd - sndbuf
        held = _nothing(len(self.length))
        held["application"] = self.length - busy
        held["sndbuf"] = sndbuf
        unread = self._unread()
        held["reader"], held["receiver"] = rwnd * unread, rwnd * ~unread
        held["timeouts"] = np.minimum(self._waiting(), window)
        rest = window - held["timeouts"]
        for name, which in self._reasons(full):
            held[name] = held[name] + rest * which
            rest = rest * ~which
        held["window"] = rest
        self._end(held)
        return Timeline(self.edges, held)

    def _end(self, held: dict[str, Numbers]) -> None:
        """The last bytes of a program are on their way: no window holds them, but what held those before."""
        ending = ~self._writing() & (self._field("notsent_bytes") == 0) & self.flow.is_found
        first = int(np.argmax(ending))
        if not ending.any() or first == 0:
            return
        before = max(LIMITS, key=lambda name: float(held[name][first - 1]))
        moved = held["window"] * ending
        held["window"] = held["window"] - moved
        held[before] = held[before] + moved

    def _reasons(self, full: NDArray[np.bool_]) -> list[tuple[str, NDArray[np.bool_]]]:
        """In their order: the first that applies to an interval takes what is left of it."""
        drained = self._drained()
        return [
            ("path", full),
            ("pacing", self._paced()),
            ("sndbuf", drained & self._buffer_full()),
            ("application", drained),
            ("acks", self._acks_wait()),
            ("slow_start", self._slow_start(full)),
            ("losses", self._retransmitted()),
            ("marks", self._since("delivered_ce")),
        ]

    def _field(self, name: str) -> Numbers:
        if name not in self.fields:
            known = name in (self.info.dtype.names or ())
            self.fields[name] = self.info[name].astype(np.float64) if known else np.zeros(len(self.info))
        return self.fields[name]

    def _grown(self, name: str) -> Numbers:
        """By how much a counter grew in each interval."""
        grown = self._field(name).copy()
        grown[1:] -= self._field(name)[:-1]
        return grown

    def _chrono(self, name: str) -> Numbers:
        return np.maximum(0.0, self._grown(name)) * 1e-6

    def _since(self, counter: str) -> NDArray[np.bool_]:
        return self._field(counter) > 0

    def _retransmitted(self) -> NDArray[np.bool_]:
        """Whether data had been sent again; what was lost of the handshake does not count."""
        return self._field("total_retrans") > self.syns

    def _acks_wait(self) -> NDArray[np.bool_]:
        """Whether ACKs waited for most of the round trip: longer than the idle path and the data's wait."""
        back = waiting_s(self.record, self.flow, self.edges, acks=True)
        there = waiting_s(self.record, self.flow, self.edges, acks=False)
        most: NDArray[np.bool_] = back > there + (self.flow.base_rtt_ns or 0) * 1e-9
        return most

    def _paced(self) -> NDArray[np.bool_]:
        most = self._field("max_pacing_rate")
        sent = self._grown("bytes_sent") / self.length
        return (most > 0) & (most < _UNPACED) & (sent >= PACED * most)

    def _drained(self) -> NDArray[np.bool_]:
        """Whether all that the kernel had was in flight, so that no window held it, before the last write.

        The chronometer does not count this: it calls a sender busy while anything is in flight, and in slow
        start cwnd-limited up to twice what is in flight (tcp_is_cwnd_limited).
        """
        before = self._writing()
        waiting = self._field("notsent_bytes")
        # Less than a segment is held back by Nagle's rule (RFC 9293, 3.7.4), not by a window with room.
        part = (waiting < self._field("snd_mss")) & (self._field("unacked") < self._field("snd_cwnd"))
        drained: NDArray[np.bool_] = before & ((waiting == 0) | part) & (self._field("lost") == 0)
        return drained if "notsent_bytes" in (self.info.dtype.names or ()) else np.zeros_like(drained)

    def _writing(self) -> NDArray[np.bool_]:
        """Whether the last write was still to come when the interval ended.

        Nobody says when a program writes last: it has when no more bytes follow those that it gave by then.
        """
        written = self.flow.outcome.sender_done_ns
        if self.flow.is_found:
            given = self._field("bytes_sent") - self._field("bytes_retrans") + self._field("notsent_bytes")
            following: NDArray[np.bool_] = given < given[-1]
            return following
        before: NDArray[np.bool_] = self.edges[1:] * 1e9 < (np.inf if written is None else written)
        return before

    def _buffer_full(self) -> NDArray[np.bool_]:
        """Whether the send buffer had less than a third left, below which a writer is not woken."""
        memory = decode.skmem(self._socket(0, "skmem"))
        full: NDArray[np.bool_] = memory["wmem_queued"].astype(np.float64) >= memory["sndbuf"] * (2 / 3)
        return full

    def _socket(self, side: int, column: str) -> NDArray[Any]:
        """What the reading of the sender's (0) or receiver's (1) socket says that ends each interval."""
        rows = self.record.socket(self.flow.id, side)[column]
        stamps = self.record.socket(self.flow.id, side)["t_ns"] * 1e-9
        place = np.searchsorted(stamps, self.edges[1:] + 1e-10, side="right") - 1
        return rows[np.maximum(place, 0)] if len(rows) else rows

    def _slow_start(self, full: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Up to the first loss, the first full interval, or where the window passes its threshold.

        A lost SYN sets the threshold as lost data would; the window grows from there all the same.
        """
        passed = (self._field("snd_cwnd") >= self._field("snd_ssthresh")) & (self.syns == 0)
        over = full | passed | self._retransmitted() | self._since("delivered_ce")
        return ~np.logical_or.accumulate(over)

    def _unread(self) -> NDArray[np.bool_]:
        """Whether most of the receiver's window lay unread when the interval ended."""
        waiting = self._socket(1, "rqueue")
        peak = float(self._window().max(initial=0.0))
        if not len(waiting) or not peak:
            return np.zeros(len(self.length), bool)
        unread: NDArray[np.bool_] = waiting >= UNREAD * peak
        return unread

    def _window(self) -> Numbers:
        """The peer's window as the sender knew it, in bytes."""
        return self.record.series("snd_wnd", flow=self.flow.id).values

    def _waiting(self) -> Numbers:
        """Seconds of each interval in which a timeout was waited for, and in Loss until the next ACK.

        A timeout is known when it strikes (the change to Loss); the wait began with the last ACK before.
        """
        if not (self.record.has("tcp_cong_state_set") and self.record.has("tcp_probe")):
            lost: Numbers = self.length * (self._field("ca_state") == _LOSS)
            return lost
        changes = self.record.table("tcp_cong_state_set", flow=self.flow.id)
        struck = changes["t_ns"][changes["cong_state"] == _LOSS].astype(np.float64) * 1e-9
        struck = struck[struck > self.edges[0]]  # before are those of the handshake
        if not len(struck):
            return np.zeros(len(self.length))
        acks = heard_ns(self.record, self.flow) * 1e-9
        marks = np.unique(np.concatenate([[self.edges[0]], acks[acks > self.edges[0]], [np.inf]]))
        place = np.unique(np.searchsorted(marks, struck) - 1)
        begins, ends = np.minimum(marks[[place, place + 1]], max(self.edges[-1], struck[-1]))
        done = np.searchsorted(ends, self.edges, side="right")
        waited = np.concatenate([[0.0], np.cumsum(ends - begins)])
        # Time waited up to each edge: whole waits before it, and the part of the one it lies in.
        within = np.zeros(len(self.edges))
        some = done < len(begins)
        within[some] = np.maximum(0.0, self.edges[some] - begins[done[some]])
        waits: Numbers = np.diff(waited[done] + within)
        return waits

    def _full(self) -> Full:
        """Whether the path was full over a round trip around the interval, and by this stream alone."""
        if self.seen_full is None:
            return full(self.record, self.flow, self.edges)
        seen = self.seen_full(self.edges)
        return Full(seen, seen & is_alone(self.record, self.flow))
