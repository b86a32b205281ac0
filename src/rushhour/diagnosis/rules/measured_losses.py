"""Findings on losses, by what they come from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.diagnosis.finding import Command
from rushhour.diagnosis.losses import at_a_full_queue
from rushhour.diagnosis.rules.measured_words import (
    bdp,
    dev,
    held,
    made,
    name,
    on_at_both,
    setting,
    sysctl,
    taken_out,
)
from rushhour.explain.losses import BBR_LOSS, BELOW_POLICER
from rushhour.quantities.short import percent, rate, rounded_up, size, time

if TYPE_CHECKING:
    from rushhour.diagnosis.case import Case
    from rushhour.diagnosis.cause import Cause
    from rushhour.diagnosis.finding import Finding
    from rushhour.diagnosis.measured import Measured

ENOUGH = 0.85
"""Part of what the path carries from which losses cost nothing: they are how TCP finds the rate."""
CC = "net.ipv4.tcp_congestion_control"


def random_loss(case: Case, m: Measured, cause: Cause) -> Finding:
    """Packets vanish although nothing is full."""
    assert m.single is not None
    proof = m.udp is not None and m.udp.loss > 0 and not m.udp.crowded
    lost = m.udp.loss if m.udp is not None and proof else m.single.retransmit_share
    title = (
        f"{percent(lost)} of the packets {m.direction} are lost on the way although the path is not full, "
        "and "
        f"{m.single.cc} on {name(case, m.sender)} takes each for congestion."
    )
    fix = tuple(_look(case, end) for end in ("a", "b"))
    if lost <= BBR_LOSS and "bbr" in _available(case, m.sender) and m.single.cc != "bbr":
        fix = (*fix, setting(m.sender, CC, "bbr"))
    return made(cause, m, title, fix)


def policer(case: Case, m: Measured, cause: Cause) -> Finding:
    """A rate is enforced by dropping."""
    limit = _enforced(m)
    title = (
        f"A policer on the way {m.direction} drops what exceeds about {rate(limit)} instead of letting it "
        "wait: "
        f"{percent(m.single.retransmit_share if m.single else 0)} of TCP's segments were sent again."
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


def outages(case: Case, m: Measured, cause: Cause) -> Finding:
    """The way is dead for a while, and comes back."""
    assert m.udp is not None
    title = (
        f"The way {m.direction} goes dead for about {time(m.udp.dead_ns / 1e9)} at a time: "
        f"{m.udp.loss_run:.0f} datagrams in a row were lost. A link flaps, a route changes, or radio fades."
    )
    fix = tuple(
        Command(end, f"cat /sys/class/net/{dev(case, end)}/carrier_changes; dmesg | grep -i 'link is'")
        for end in ("a", "b")
    )
    return made(cause, m, title, fix)


def shallow_queue(case: Case, m: Measured, cause: Cause) -> Finding:
    """The queue before the bottleneck is shorter than a burst."""
    title = (
        f"The queue before the bottleneck {m.direction} is too short: it drops bursts of 64 packets, while "
        f"datagrams evenly spaced pass; {held(cause)} losses kept the window below the {size(bdp(m))} of "
        "the path."
    )
    fix = Command(m.sender, f"tc qdisc replace dev {dev(case, m.sender)} root fq")
    return made(cause, m, title, (fix,), f"{cause.source}; tc-fq(8)")


def reordering(case: Case, m: Measured, cause: Cause) -> Finding:
    """Packets are overtaken."""
    assert m.udp is not None
    title = (
        f"Packets overtake each other on the way {m.direction}: {percent(m.udp.reordered)} of datagrams "
        "came late, "
        f"by up to {m.udp.reorder_extent} places; TCP takes some of them for lost."
    )
    known = sysctl(case, m.sender, "net.ipv4.tcp_max_reordering")
    extent = max(m.udp.reorder_extent + 1, 10)
    fix = [setting(m.sender, "net.ipv4.tcp_reordering", extent)]
    if isinstance(known, int) and known < extent:
        fix = [setting(m.sender, "net.ipv4.tcp_max_reordering", 2 * extent), *fix]
    return made(cause, m, title, tuple(fix), f"{cause.source}; ip-sysctl.rst, tcp_reordering")


def corruption(case: Case, m: Measured, cause: Cause) -> Finding:
    """Packets arrive damaged."""
    title = (
        f"Packets {m.direction} arrive damaged: {cause.law.rpartition(', and ')[2]} at "
        f"{name(case, m.receiver)}. "
        "A cable, a card or a device on the way is faulty."
    )
    return made(cause, m, title, tuple(_look(case, end) for end in ("a", "b")))


def sack_off(case: Case, m: Measured, cause: Cause) -> Finding | None:
    """Several losses in a window take a round trip each."""
    if _enough(m):
        return None
    key = "net.ipv4.tcp_sack"
    if on_at_both(case, key):
        text, look = taken_out(case, m, "SACK permitted (sackOK)")
        title = f"{text}. Lost segments are repaired one a round trip, {held(cause)} the window was small."
        return replace(made(cause, m, title, look), layer="path")
    off = [end for end in ("a", "b") if sysctl(case, end, key) == 0] or ["a", "b"]
    who = " and ".join(name(case, end) for end in off)
    title = (
        f"Selective acknowledgements (SACK) are off at {who}: lost segments are repaired one a round trip, "
        f"{held(cause)} the window was small."
    )
    return made(cause, m, title, tuple(setting(end, key, 1) for end in off))


def some(case: Case, m: Measured, cause: Cause) -> Finding | None:
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
    title = (
        f"{percent(m.single.retransmit_share)} of the segments {m.direction} were sent again{when}; "
        f"{held(cause)} "
        "losses kept the window small. Their origin did not show."
    )
    return made(cause, m, title, tuple(_look(case, end) for end in ("a", "b")))


def _enough(m: Measured) -> bool:
    most = m.capacity_bps
    return m.single is not None and most is not None and m.single.steady_bps >= ENOUGH * most


def _look(case: Case, end: str) -> Command:
    return Command(end, f"ethtool -S {dev(case, end)} | grep -iE 'err|drop|crc|miss'")


def _available(case: Case, end: str) -> str:
    return str(sysctl(case, end, "net.ipv4.tcp_available_congestion_control") or "")
