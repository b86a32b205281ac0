"""Losses told apart: at random, by a policer, by a queue too short, packets that were only late, or damaged.

Their order, sentences and remedies are those of every flow (`rushhour.causes.rules`); here is what shows each
between two hosts. TCP alone cannot say: it sees a gap. What tells is when the gap came (with or without a
queue), what datagrams below and at the line's rate do, and how a train of packets comes through.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.causes.evidence import OPTION_SACK, Shown
from rushhour.causes.telling import NO_ORIGIN
from rushhour.causes.thresholds import (
    CROWDED,
    DEAD_NS,
    DEAD_RUN,
    EMPTY,
    ENOUGH,
    FAR_LESS,
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
    SPURIOUS,
    SURELY,
    TARDY,
    TRAIN_LOST,
)
from rushhour.diagnosis.possible import bdp
from rushhour.quantities.short import percent, rate, size, time
from rushhour.quantities.words import happened

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rushhour.diagnosis.measured import Measured, Tcp, Udp


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


def shown(m: Measured, tcp: Tcp, key: str) -> Shown | None:
    """What the measurements show of an origin of losses, a cause of the table; None where they do not.

    `losses` is shown where segments were sent again: that stays when nothing else is.
    """
    return SHOWN[key](_heard(m), tcp) if key in SHOWN else None


def _heard(m: Measured) -> Measured:
    """Without datagrams where they are blocked: not one came, and of what TCP loses they say nothing."""
    return replace(m, udp=None, train=None, line=None) if m.udp is not None and m.udp.silent else m


def _late(m: Measured, tcp: Tcp) -> Shown | None:
    if m.udp is None or not late(m, tcp):
        return None
    proof = f"{percent(m.udp.reordered)} of datagrams came late, by up to {m.udp.reorder_extent} places"
    overtaken = happened(tcp.reorder_events, "segment", "overtaken")
    law = f"{percent(m.udp.reordered)} of datagrams came late, {overtaken}"
    words = {"way": f" {m.direction}", "proof": f"{proof}; TCP takes some of them for lost"}
    return Shown(words, law, extent=m.udp.reorder_extent)


def _dead(m: Measured, _: Tcp) -> Shown | None:
    if m.udp is None or not dead(m):
        return None
    lost, away = f"{m.udp.loss_run:.0f} datagrams in a row were lost", time(m.udp.dead_ns / 1e9)
    proof = f"{lost}; a link flaps, a route changes, or radio fades"
    return Shown(
        {"way": m.direction, "dead": f"goes dead for about {away} at a time", "proof": proof},
        f"{lost}, {away}",
    )


def _policer(m: Measured, tcp: Tcp) -> Shown | None:
    if m.line is not None and policed(m):
        law = f"datagrams at {rate(m.line.rate_bps)} lost {percent(m.line.loss)} without a queue"
        law += f", at {rate(m.udp.rate_bps)} {percent(m.udp.loss)}" if m.udp is not None else ""
    elif emptied(m, tcp) and not random(m, tcp) and _repairs(tcp):
        law = f"the rate fell from {rate(tcp.peak_bps)} to {rate(tcp.steady_bps)}{_no_queue(m, tcp)}"
    else:
        return None
    limit = enforced(m)
    proof = f"{percent(tcp.retransmit_share)} of TCP's segments were sent again"
    words = {"way": f"on the way {m.direction} ", "rate": f"about {rate(limit)}", "proof": proof}
    return Shown(words, law, rate_bps=limit)


def enforced(m: Measured) -> float:
    """The rate that is let through: what TCP reached over seconds, at most what datagrams did.

    A short burst of datagrams takes the bucket along, which may hold many times what passes later; TCP's
    flows have emptied it.
    """
    lossy = m.line.goodput_bps if m.line is not None and m.line.loss else 0.0
    known = (one.steady_bps for one in (m.single, m.several) if one is not None)
    reached = max(known, default=0.0)
    return min(lossy, reached) if lossy and reached else lossy or reached


def _no_sack(m: Measured, tcp: Tcp) -> Shown | None:
    """Where losses are chance, they are the cause; that SACK is off is read from the settings besides."""
    return None if _repairs(tcp) or random(m, tcp) else Shown()


def _repairs(tcp: Tcp) -> bool:
    return tcp.options is None or bool(tcp.options & OPTION_SACK)


def _random(m: Measured, tcp: Tcp) -> Shown | None:
    if not random(m, tcp):
        return None
    by_datagrams = m.udp is not None and m.udp.loss > 0 and not m.udp.crowded
    lost = m.udp.loss if m.udp is not None and by_datagrams else tcp.retransmit_share
    laws = []
    if (m.ping_loss or 0.0) > LOST if m.udp is None else not m.udp.crowded:
        laws.append(f"{_lost(m.udp)} below the path's rate, where no queue drops")
    if at := _no_queue(m, tcp):
        holds = f", while the queue holds {time((m.queue_ns or 0) / 1e9)}"
        laws.append(f"TCP lost them{at}{holds if before_the_queue(m, tcp) else ''}")
    words = {"lost": percent(lost), "way": f"{m.direction} ", "cc": tcp.cc, "theory": ""}
    return Shown(words, "; ".join(laws), lost=lost)


def _short(m: Measured, _: Tcp) -> Shown | None:
    if m.train is None or not short(m):
        return None
    words = {
        "where": f"before the bottleneck {m.direction}",
        "proof": "it drops bursts of 64 packets, while datagrams evenly spaced pass",
        "bdp": size(bdp(m)),
    }
    return Shown(words, f"of trains of 64 packets {percent(m.train.loss)} were dropped")


def _some(m: Measured, tcp: Tcp) -> Shown:
    return Shown(
        {
            "again": percent(tcp.retransmit_share),
            "way": f"{m.direction} ",
            "when": when(m, tcp),
            "origin": NO_ORIGIN,
        }
    )


def when(m: Measured, tcp: Tcp) -> str:
    """At which round trip segments were sent again; empty where that is not known."""
    at = tcp.rtt_at_loss_ns
    return f" at a round trip of {time(at / 1e9)}" if at and m.idle_rtt_ns else ""


def late(m: Measured, tcp: Tcp) -> bool:
    """Packets are overtaken on the way."""
    if m.udp is None or m.udp.reordered < LATE:
        return False
    spurious = tcp.duplicates >= SPURIOUS * tcp.retransmits or tcp.reorder_events >= tcp.retransmits
    return m.udp.loss < m.udp.reordered and (spurious or tcp.reorder_events > 0)


def dead(m: Measured) -> bool:
    """For a while nothing at all gets through; longer than what a late sender sends at once would take."""
    if m.udp is None or (m.udp.loss_run or 0) < DEAD_RUN:
        return False
    return m.udp.dead_ns >= max(DEAD_NS, TARDY * m.udp.late_ns)


def policed(m: Measured) -> bool:
    """The line is faster than what gets through, and what is above that is dropped at once."""
    return (
        m.line is not None
        and m.line.loss >= POLICED
        and (m.udp is None or m.udp.loss < FAR_LESS * m.line.loss)
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


SHOWN: Mapping[str, Callable[[Measured, Tcp], Shown | None]] = {
    "reordering": _late,
    "outages": _dead,
    "policer": _policer,
    "sack-off": _no_sack,
    "random-loss": _random,
    "shallow-queue": _short,
    "losses": _some,
}
"""Origin → what shows it, and in which numbers."""
