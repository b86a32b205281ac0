"""Findings on losses, by what they come from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.causes.finding import Command
from rushhour.causes.rules import no_sack, sentence
from rushhour.causes.thresholds import BBR_LOSS, BELOW_POLICER, USED
from rushhour.diagnosis.flow import MeasuredFlow
from rushhour.diagnosis.losses import at_a_full_queue
from rushhour.diagnosis.possible import bdp
from rushhour.diagnosis.rules.measured_words import (
    commands,
    dev,
    errors_at,
    held,
    made,
    name,
    on_at_both,
    setting,
    sysctl,
    taken_out,
)
from rushhour.quantities.short import percent, rate, rounded_up, size, time

if TYPE_CHECKING:
    from rushhour.causes.finding import Finding
    from rushhour.causes.held import Held
    from rushhour.diagnosis.case import Case
    from rushhour.diagnosis.measured import Measured

CC = "net.ipv4.tcp_congestion_control"


def random_loss(case: Case, m: Measured, cause: Held) -> Finding:
    """Packets vanish although nothing is full."""
    assert m.single is not None
    proof = m.udp is not None and m.udp.loss > 0 and not m.udp.crowded
    lost = m.udp.loss if m.udp is not None and proof else m.single.retransmit_share
    title = sentence(
        cause.key,
        lost=percent(lost),
        way=f"{m.direction} ",
        cc=m.single.cc,
        host=name(case, m.sender),
        theory="",
    )
    fix = tuple(errors_at(case, end) for end in ("a", "b"))
    if lost <= BBR_LOSS and "bbr" in _available(case, m.sender) and m.single.cc != "bbr":
        fix = (*fix, setting(m.sender, CC, "bbr"))
    return made(cause, m, title, fix)


def policer(case: Case, m: Measured, cause: Held) -> Finding:
    """A rate is enforced by dropping."""
    limit = _enforced(m)
    again = percent(m.single.retransmit_share if m.single else 0)
    title = sentence(
        cause.key,
        way=f"on the way {m.direction} ",
        rate=f"about {rate(limit)}",
        proof=f"{again} of TCP's segments were sent again",
    )
    shaped = rounded_up(BELOW_POLICER * limit / 1000) if limit else 1000
    words = f"tc qdisc replace dev {dev(case, m.sender)} root tbf rate {shaped}kbit burst 16kb latency 50ms"
    return made(cause, m, title, (Command(m.sender, words),))


def _enforced(m: Measured) -> float:
    """The rate that is let through: what TCP reached over seconds, at most what datagrams did.

    A short burst of datagrams takes the bucket along, which may hold many times what passes later; TCP's
    flows have emptied it.
    """
    lossy = m.line.goodput_bps if m.line is not None and m.line.loss else 0.0
    reached = max(
        m.single.steady_bps if m.single is not None else 0.0,
        m.several.steady_bps if m.several is not None else 0.0,
    )
    return min(lossy, reached) if lossy and reached else lossy or reached


def outages(case: Case, m: Measured, cause: Held) -> Finding:
    """The way is dead for a while, and comes back."""
    assert m.udp is not None
    lost = f"{m.udp.loss_run:.0f} datagrams in a row were lost"
    proof = f"{lost}; a link flaps, a route changes, or radio fades"
    title = sentence(cause.key, way=m.direction, dead=time(m.udp.dead_ns / 1e9), proof=proof)
    fix = tuple(
        Command(end, f"cat /sys/class/net/{dev(case, end)}/carrier_changes; dmesg | grep -i 'link is'")
        for end in ("a", "b")
    )
    return made(cause, m, title, fix)


def shallow_queue(case: Case, m: Measured, cause: Held) -> Finding:
    """The queue before the bottleneck is shorter than a burst."""
    title = sentence(
        cause.key,
        where=f"before the bottleneck {m.direction}",
        proof="it drops bursts of 64 packets, while datagrams evenly spaced pass",
        held=held(cause),
        bdp=size(bdp(m)),
    )
    fix = Command(m.sender, f"tc qdisc replace dev {dev(case, m.sender)} root fq")
    return made(cause, m, title, (fix,))


def reordering(case: Case, m: Measured, cause: Held) -> Finding:
    """Packets are overtaken."""
    assert m.udp is not None
    late = f"{percent(m.udp.reordered)} of datagrams came late, by up to {m.udp.reorder_extent} places"
    title = sentence(cause.key, way=f" {m.direction}", proof=f"{late}; TCP takes some of them for lost")
    known = sysctl(case, m.sender, "net.ipv4.tcp_max_reordering")
    extent = max(m.udp.reorder_extent + 1, 10)
    fix = [setting(m.sender, "net.ipv4.tcp_reordering", extent)]
    if isinstance(known, int) and known < extent:
        fix = [setting(m.sender, "net.ipv4.tcp_max_reordering", 2 * extent), *fix]
    return made(cause, m, title, tuple(fix))


def sack_off(case: Case, m: Measured, cause: Held) -> Finding | None:
    """Several losses in a window take a round trip each."""
    if _enough(m):
        return None
    if on_at_both(case, "net.ipv4.tcp_sack"):
        text, look = taken_out(case, m, "SACK permitted (sackOK)")
        title = f"{text}. Lost segments are repaired one a round trip, {held(cause)} the window was small."
        return replace(made(cause, m, title, look), layer="path")
    assert m.single is not None
    found = no_sack(MeasuredFlow(m, m.single, case), cause.limited)
    assert found is not None
    return made(cause, m, found.says, commands(found))


def some(case: Case, m: Measured, cause: Held) -> Finding | None:
    """Losses whose origin the other measurements do not show."""
    assert m.single is not None
    if _enough(m):
        return None
    at = m.single.rtt_at_loss_ns
    when = f" at a round trip of {time(at / 1e9)}" if at and m.idle_rtt_ns else ""
    if at_a_full_queue(m, m.single):
        title = (
            f"{percent(m.single.retransmit_share)} of the segments {m.direction} were sent again{when}, when "
            "the queue was full: so TCP finds the path's rate. In a longer transfer they weigh less."
        )
        return replace(made(cause, m, title), severity="note")
    again = percent(m.single.retransmit_share)
    title = sentence(cause.key, again=again, way=f"{m.direction} ", when=when, held=held(cause))
    return made(cause, m, title, tuple(errors_at(case, end) for end in ("a", "b")))


def _enough(m: Measured) -> bool:
    most = m.capacity_bps
    return m.single is not None and most is not None and m.single.steady_bps >= USED * most


def _available(case: Case, end: str) -> str:
    return str(sysctl(case, end, "net.ipv4.tcp_available_congestion_control") or "")
