"""Losses told apart: at random, by a policer, by a queue too short, packets that were only late, or damaged.

TCP alone cannot say: it sees a gap. What tells is when the gap came (with or without a queue), what
datagrams below and at the line's rate do, and how a train of packets comes through.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.causes.evidence import OPTION_SACK
from rushhour.causes.held import Held
from rushhour.causes.rules import named
from rushhour.causes.thresholds import (
    CROWDED,
    DEAD_NS,
    DEAD_RUN,
    EMPTY,
    ENOUGH,
    FELL,
    HOLE_TIMEOUT_S,
    HOLE_TRIPS,
    LATE,
    LOST,
    NO_QUEUE,
    NO_QUEUE_NS,
    POLICED,
    POLICED_RESENT,
    QUEUE_NS,
    RANDOM,
    SOME,
    SPACIOUS,
    SURELY,
    TRAIN_LOST,
)
from rushhour.diagnosis.flow import MeasuredFlow
from rushhour.diagnosis.possible import bdp, possible_bps
from rushhour.quantities.short import percent, rate, time

if TYPE_CHECKING:
    from rushhour.diagnosis.measured import Measured, Tcp, Udp

    Told = tuple[str, str]


def behind_a_hole(m: Measured, tcp: Tcp) -> bool:
    """Whether a window was full of what arrived behind a loss: it is larger than what the path holds.

    (What is out of order stays in the receive buffer until the hole is filled: RFC 9293, 3.8.6.)
    """
    holds = bdp(m)
    spacious = holds and (tcp.window or 0) > SPACIOUS * holds
    return bool(spacious and holes_explain(m, tcp))


def holes_explain(m: Measured, tcp: Tcp) -> bool:
    """Whether the holes of a flow may have stood open for as long as its window was full.

    Each does for some round trips, or until a timeout.
    """
    trip_ns = max(m.idle_rtt_ns or 0, tcp.rtt_ns[2] if tcp.rtt_ns else 0)
    open_s = HOLE_TRIPS * tcp.retransmits * trip_ns / 1e9 + HOLE_TIMEOUT_S * tcp.timeouts
    return 0 < tcp.limited("receiver") * tcp.seconds <= open_s


def cause_of_losses(m: Measured, tcp: Tcp) -> Held | None:
    """Why segments were sent again, and the share of the time in which that kept the window small."""
    share = tcp.limited("losses", "timeouts", *(("receiver",) if behind_a_hole(m, tcp) else ()))
    if not share or not tcp.retransmits + tcp.reorder_events:
        return None
    key, law = _kind(m, tcp)
    expected = None if key == "policer" else possible_bps(m)
    return Held(key, m.direction, share, law, expected, "losses")


def _kind(m: Measured, tcp: Tcp) -> Told:
    """Key and law of the first that holds."""
    again = f"{percent(tcp.retransmit_share)} of the segments were sent again"
    return next(found for kind in _KINDS if (found := kind(m, tcp, again)) is not None)


def _late(m: Measured, tcp: Tcp, _: str) -> Told | None:
    if m.udp is None or not late(m, tcp):
        return None
    law = f"{percent(m.udp.reordered)} of datagrams came late, {tcp.reorder_events} segments were overtaken"
    return "reordering", law


def _by_rule(m: Measured, tcp: Tcp, again: str) -> Told | None:
    """What the rules of every flow know."""
    one = named(MeasuredFlow(m, tcp), "losses", tcp.limited("losses", "timeouts"))
    return None if one is None else (one.key, f"{again}, and {one.law}" if one.law else again)


def _dead(m: Measured, _: Tcp, again: str) -> Told | None:
    if m.udp is None or not dead(m):
        return None
    law = f"{m.udp.loss_run:.0f} datagrams in a row were lost, {time(m.udp.dead_ns / 1e9)}; TCP: {again}"
    return "outages", law


def _policed(m: Measured, _: Tcp, __: str) -> Told | None:
    if m.line is None or not policed(m):
        return None
    law = f"datagrams at {rate(m.line.rate_bps)} lost {percent(m.line.loss)} without a queue"
    law += f", at {rate(m.udp.rate_bps)} {percent(m.udp.loss)}" if m.udp is not None else ""
    return "policer", law


def _emptied(m: Measured, tcp: Tcp, again: str) -> Told | None:
    if not emptied(m, tcp):
        return None
    law = f"the rate fell from {rate(tcp.peak_bps)} to {rate(tcp.steady_bps)}, {again}{_no_queue(m, tcp)}"
    return "policer", law


def _random(m: Measured, tcp: Tcp, again: str) -> Told | None:
    if not random(m, tcp):
        return None
    law = f"{again}{_no_queue(m, tcp)}"
    if m.udp is None or not m.udp.crowded:
        law = f"{_lost(m.udp)} below the path's rate, where no queue drops; TCP: {law}"
    if before_the_queue(m, tcp):
        law += f", while the queue holds {time((m.queue_ns or 0) / 1e9)}"
    return "random-loss", law


def _short(m: Measured, _: Tcp, again: str) -> Told | None:
    if m.train is None or not short(m):
        return None
    law = f"of trains of 64 packets {percent(m.train.loss)} were dropped; {again}"
    return "shallow-queue", law


def _no_sack(_: Measured, tcp: Tcp, again: str) -> Told | None:
    if tcp.options is None or tcp.options & OPTION_SACK:
        return None
    return "sack-off", f"{again}, one a round trip without SACK"


def _some(_: Measured, __: Tcp, again: str) -> Told | None:
    return "losses", again


def late(m: Measured, tcp: Tcp) -> bool:
    """Packets are overtaken on the way."""
    if m.udp is None or m.udp.reordered < LATE:
        return False
    spurious = tcp.duplicates >= tcp.retransmits / 2 or tcp.reorder_events >= tcp.retransmits
    return m.udp.loss < m.udp.reordered and (spurious or tcp.reorder_events > 0)


def dead(m: Measured) -> bool:
    """For a while nothing at all gets through; longer than what a late sender sends at once would take."""
    if m.udp is None or (m.udp.loss_run or 0) < DEAD_RUN:
        return False
    return m.udp.dead_ns >= max(DEAD_NS, 2 * m.udp.late_ns)


def policed(m: Measured) -> bool:
    """The line is faster than what gets through, and what is above that is dropped at once."""
    return (
        m.line is not None
        and m.line.loss >= POLICED
        and (m.udp is None or m.udp.loss < m.line.loss / 4)
        and m.line.goodput_bps < m.line.rate_bps
    )


def emptied(m: Measured, tcp: Tcp) -> bool:
    """A bucket was emptied: first the line's rate, then much less with heavy loss, and never a queue."""
    if tcp.rtt_at_loss_ns is None or m.idle_rtt_ns is None or m.udp is None or m.udp.loss > LOST:
        return False
    queue = tcp.rtt_at_loss_ns - m.idle_rtt_ns
    fell = tcp.peak_bps > FELL * tcp.steady_bps and tcp.retransmit_share > POLICED_RESENT
    return fell and queue < NO_QUEUE_NS + NO_QUEUE * m.idle_rtt_ns


def random(m: Measured, tcp: Tcp) -> bool:
    """Datagrams are lost below the path's rate, or segments long before the queue is full."""
    if m.udp is not None and m.udp.sent and not m.udp.crowded:
        count, expected = m.udp.loss * m.udp.sent, tcp.retransmit_share * m.udp.sent
        if count >= SOME and m.udp.loss > min(SURELY, RANDOM * tcp.retransmit_share):
            return True
        if expected >= ENOUGH and count < RANDOM * expected:
            return False
    elif m.udp is None and (m.ping_loss or 0.0) > LOST:
        return True
    return before_the_queue(m, tcp)


def before_the_queue(m: Measured, tcp: Tcp) -> bool:
    """Losses at round trips at which the queue, as others filled it, was nearly empty."""
    if tcp.rtt_at_loss_ns is None or m.idle_rtt_ns is None or not m.queue_ns or m.queue_ns < QUEUE_NS:
        return False
    return tcp.rtt_at_loss_ns - m.idle_rtt_ns < EMPTY * m.queue_ns


def at_a_full_queue(m: Measured, tcp: Tcp) -> bool:
    """Losses at round trips at which the queue was full: TCP's way to find the path's rate."""
    if tcp.rtt_at_loss_ns is None or m.idle_rtt_ns is None or not m.queue_ns or m.queue_ns < QUEUE_NS:
        return False
    return tcp.rtt_at_loss_ns - m.idle_rtt_ns >= CROWDED * m.queue_ns


def short(m: Measured) -> bool:
    """Trains of packets lose their ends, although datagrams at the line's rate pass."""
    return m.train is not None and m.train.loss >= TRAIN_LOST


def _lost(udp: Udp | None) -> str:
    return (
        "echo requests were lost"
        if udp is None
        else f"{percent(udp.loss)} of datagrams were lost at {rate(udp.rate_bps)},"
    )


def _no_queue(m: Measured, tcp: Tcp) -> str:
    if tcp.rtt_at_loss_ns is None or m.idle_rtt_ns is None:
        return ""
    return f" at a round trip of {time(tcp.rtt_at_loss_ns / 1e9)} (idle {time(m.idle_rtt_ns / 1e9)})"


_KINDS = (_late, _by_rule, _dead, _policed, _random, _no_sack, _emptied, _short, _some)
