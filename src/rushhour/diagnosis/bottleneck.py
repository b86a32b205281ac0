"""What limits a direction: the layer, the cause, and the share of the time in which it did.

The kernel's chronometer and counters take a flow's time apart (`rushhour.series.timeline`); the losses among
it are told apart here by what the other measurements say. Every attribution is an inequality between measured
numbers, stated beside it (`law`). Pure: `Measured` → causes that held, the greatest share first.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rushhour.causes.held import Held
from rushhour.causes.rules import named
from rushhour.causes.thresholds import DELAYED_SEGMENTS, EMPTIED, MAIN, WORTH_SAYING
from rushhour.diagnosis.flow import MeasuredFlow
from rushhour.diagnosis.losses import behind_a_hole, holes_explain
from rushhour.diagnosis.possible import bdp, possible_bps
from rushhour.quantities.short import percent, size, time
from rushhour.quantities.words import plural

if TYPE_CHECKING:
    from rushhour.diagnosis.measured import Measured, Tcp


def causes(m: Measured) -> list[Held]:
    """What limited one flow in this direction, the greatest share of its time first."""
    if m.single is None:
        return []
    broken = _broken(m, m.single)
    if broken is not None:
        return [broken]
    found = [_receiver(m, m.single), _sndbuf(m, m.single), _sender(m, m.single), _reader(m, m.single)]
    found += [_losses(m, m.single), _algorithm(m, m.single), _path(m, m.single)]
    known = [cause for cause in found if cause is not None and cause.limited >= WORTH_SAYING]
    return sorted(known, key=lambda cause: -cause.limited)


def _broken(m: Measured, tcp: Tcp) -> Held | None:
    """No transfer at all."""
    if tcp.error is not None and not tcp.goodput_bps:
        return _closed(m, tcp.error)
    if not tcp.stalled:
        return None
    lost = m.sizes.lost
    law = f"packets of {m.sizes.passed} B pass, of {lost} B vanish in silence" if lost else "no data crossed"
    key = "mtu-black-hole" if lost else "stalled"
    return Held(key, m.direction, 1.0, law)


def _closed(m: Measured, error: str) -> Held:
    """No connection: nothing passes, nothing comes back, or only echoes pass."""
    arrived = m.train.received if m.train is not None else 0
    if m.ping_loss is not None and m.ping_loss < 1:
        law = f"echo requests are answered, the connection is not: {error}"
        return Held("port-blocked", m.direction, 1.0, law)
    if arrived:
        law = f"{plural(arrived, 'datagram')} arrived, answers to them do not come back"
        return Held("no-answers", m.direction, 1.0, law)
    return Held("unreachable", m.direction, 1.0, "no echo, no datagram, no connection")


def _receiver(m: Measured, tcp: Tcp) -> Held | None:
    if behind_a_hole(m, tcp) or _emptied_late(m, tcp):
        return None
    law = f"in flight ≤ window {size(tcp.window or tcp.inflight or 0)} < {size(bdp(m))} that the path holds"
    return _by_rule(m, tcp, "receiver", law)


def _by_rule(m: Measured, tcp: Tcp, limit: str, law: str, share: float | None = None) -> Held | None:
    """What the rule of a limit names, if it held; `law` is what shows that it did."""
    share = tcp.limited(limit) if share is None else share
    found = named(MeasuredFlow(m, tcp), limit, share) if share else None
    if found is None:
        return None
    shows = "; ".join(part for part in (law, found.law) if part)
    return Held(found.key, found.where, share, shows, possible_bps(m), limit)


def _sndbuf(m: Measured, tcp: Tcp) -> Held | None:
    flight = tcp.steady_bps * (m.idle_rtt_ns or 0) / 8e9
    law = f"in flight ≈ {size(flight)}, which is what a send buffer of {size(tcp.sndbuf or 0)} "
    return _by_rule(m, tcp, "sndbuf", f"{law}carries, < {size(bdp(m))} that the path holds")


def _sender(m: Measured, tcp: Tcp) -> Held | None:
    """The generator always has data, so an idle sender is one whose processor was taken."""
    return _by_rule(m, tcp, "application", "the kernel had nothing to send")


def _reader(m: Measured, tcp: Tcp) -> Held | None:
    late = _emptied_late(m, tcp)
    share = tcp.limited("reader", *(("receiver",) if late else ()))
    return _by_rule(
        m, tcp, "reader", late or f"{size(tcp.unread or 0)} lay unread, half a window or more", share
    )


def _emptied_late(m: Measured, tcp: Tcp) -> str | None:
    """How a window was full for longer than its round trip: nobody read what lay in it.

    Who reads late also watches late where a process stands still: it never sees what lay unread, and the
    kernel's chronometer calls the time that of the window.
    """
    share, window, idle = tcp.limited("receiver"), tcp.window or tcp.inflight, m.idle_rtt_ns
    if (
        not share
        or not window
        or not idle
        or window < DELAYED_SEGMENTS * (tcp.mss or 0)
        or not tcp.steady_bps
    ):
        return None
    # Echoes, not TCP's own round trips: ACKs of data that nobody reads are delayed.
    trip_ns = max(idle, tcp.loaded_rtt_ns or 0)
    prompt = min(8e9 * window / trip_ns, possible_bps(m) or math.inf)
    if holes_explain(m, tcp) or tcp.steady_bps >= EMPTIED * share * prompt:
        return None
    every = time(8 * share * window / tcp.steady_bps)
    trip = time(trip_ns / 1e9)
    return f"a full window of {size(window)} was emptied once in {every}, a round trip takes {trip}"


def _losses(m: Measured, tcp: Tcp) -> Held | None:
    """Why segments were sent again, and the share of the time in which that kept the window small."""
    share = tcp.limited("losses", "timeouts", *(("receiver",) if behind_a_hole(m, tcp) else ()))
    if not share or not tcp.retransmits + tcp.reorder_events:
        return None
    one = named(MeasuredFlow(m, tcp), "losses", share)
    if one is None:
        return None
    again = f"{percent(tcp.retransmit_share)} of the segments were sent again"
    law = f"{again}: {one.law}" if one.law else again
    # What a policer takes nobody gets back.
    expected = None if one.key == "policer" else possible_bps(m)
    return Held(one.key, m.direction, share, law, expected, "losses")


def _algorithm(m: Measured, tcp: Tcp) -> Held | None:
    """A window below what the path holds without loss: delay-based control, pacing, or a short transfer."""
    for limit in ("pacing", "marks", "window"):
        if tcp.limited(limit) >= MAIN:
            law = f"window {size(tcp.cwnd or 0)} of {tcp.cc} without a loss on a path of {size(bdp(m))}"
            return _by_rule(m, tcp, limit, law)
    return None


def _path(m: Measured, tcp: Tcp) -> Held | None:
    """The path was full: no less arrived than in any other measurement.

    A queue that stands limits nobody, and is a finding of its own.
    """
    share = tcp.limited("path")
    if not share or not m.capacity_bps:
        return None
    one = named(MeasuredFlow(m, tcp), "path", share, without={"bufferbloat"})
    if one is None:
        return None
    return Held(one.key, m.direction if one.key == "path-rate" else one.where, share, one.law, limit="path")
