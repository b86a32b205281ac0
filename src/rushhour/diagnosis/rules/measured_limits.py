"""Findings on what limited the measured flows: one for each cause that held for long enough."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.diagnosis.bottleneck import causes
from rushhour.diagnosis.finding import Command
from rushhour.diagnosis.fold import MEASURING
from rushhour.diagnosis.rules import measured_broken as broken
from rushhour.diagnosis.rules import measured_losses as losses
from rushhour.diagnosis.rules.measured_path import HELD
from rushhour.diagnosis.rules.measured_words import (
    GRAVE,
    bdp,
    dev,
    held,
    made,
    name,
    on_at_both,
    setting,
    sysctl,
    taken_out,
    triple,
)
from rushhour.explain.evidence import DELAY_BASED
from rushhour.explain.hosts import LEAST_RMEM, LEAST_WMEM, MARGIN
from rushhour.quantities.short import percent, rounded_up, size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rushhour.diagnosis.case import Case
    from rushhour.diagnosis.cause import Cause
    from rushhour.diagnosis.finding import Finding, Severity
    from rushhour.diagnosis.measured import Measured

    Maker = Callable[[Case, Measured, Cause], Finding | None]


FOREIGN, FULL = 0.5, 0.95
"""Part of the processors that others must have, and part that must be busy, before they are to blame."""
RESENT = 0.02
"""Part of the segments sent again that no busy processor explains."""
DOUBTFUL = ("losses", "slow-reader", "slow-writer", "small-window", "cpu-limited")
CERTAIN = frozenset(
    ("unreachable", "port-blocked", "no-answers", "stalled", "mtu-black-hole", "cpu-quota", "corruption")
)
"""What no rate shows, but counters, or that nothing passed at all: whoever was slow, it holds."""


def limits(case: Case) -> Iterator[Finding]:
    """What held a single flow back in each direction.

    Where our own sender or reader did most of all, that is a warning, and so at most is all that rates say
    beside it: a rate that we ourselves kept small proves little of a path, either way between the same two
    programs. Where something else held longer, ours is a note.
    """
    found = [one for m in case.measured.values() for one in _of(case, m)]
    ours = any(one.key in MEASURING and one.severity != "note" for one in found)
    for one in found:
        grave = one.severity == "critical" and ours and one.key not in CERTAIN
        yield replace(one, severity="warning") if grave else one


def _of(case: Case, m: Measured) -> Iterator[Finding]:
    known = causes(m)
    for cause in known:
        made = MAKERS[cause.key](case, m, cause) if cause.limited >= HELD else None
        if made is not None:
            found = _doubted(made, m, cause)
            most: Severity = "warning" if cause is known[0] else "note"
            ours = found.key in MEASURING and found.severity != "note"
            yield replace(found, severity=most) if ours else found


def _doubted(found: Finding, m: Measured, cause: Cause) -> Finding:
    """What a machine may have caused that others keep busy is no more than a note."""
    got = m.single.goodput_bps if m.single is not None else 0.0
    lossy = m.single is not None and m.single.retransmit_share > RESENT
    if found.key not in DOUBTFUL or lossy or (cause.expected_bps or 0) >= GRAVE * got:
        return found
    busy = [cpu for cpu in m.cpu.values() if (cpu.others or 0) >= FOREIGN * cpu.count and cpu.mean >= FULL]
    return replace(found, severity="note") if busy else found


def _receive_buffer(case: Case, m: Measured, cause: Cause) -> Finding:
    assert m.single is not None
    window, whole = m.single.window or m.single.inflight or 1, bdp(m)
    title = (
        f"The receive buffer of {name(case, m.receiver)} is too small: {held(cause)} its window of "
        f"{size(window)} "
        f"was full, and the path holds {size(whole)}."
    )
    if sysctl(case, m.receiver, "net.ipv4.tcp_moderate_rcvbuf") == 0:
        return made(cause, m, title, (setting(m.receiver, "net.ipv4.tcp_moderate_rcvbuf", 1),))
    # Which part of a buffer becomes window differs by kernel and by packet; it is taken as seen.
    needed = max(rounded_up(MARGIN * whole * (m.single.rcvbuf or 2 * window) / window), LEAST_RMEM)
    key = "net.ipv4.tcp_rmem"
    return made(cause, m, title, (setting(m.receiver, key, triple(case, m.receiver, key, needed)),))


def _window_scaling(case: Case, m: Measured, cause: Cause) -> Finding:
    key = "net.ipv4.tcp_window_scaling"
    if on_at_both(case, key):
        text, look = taken_out(case, m, "window scale (wscale)")
        title = f"{text}. No more than 64 KiB can be in flight, and the path holds {size(bdp(m))}."
        return replace(made(cause, m, title, look, STRIPPED), where=m.direction, layer="path")
    off = [end for end in ("a", "b") if sysctl(case, end, key) == 0]
    where = off[0] if len(off) == 1 else cause.where
    off = off or ["a", "b"]
    who = " and ".join(name(case, end) for end in off)
    title = (
        f"Window scaling is off at {who}: no more than 64 KiB can be in flight, and the path holds "
        f"{size(bdp(m))}."
    )
    found = made(cause, m, title, tuple(setting(end, key, 1) for end in off))
    return replace(found, where=where, layer="tcp")


STRIPPED = "RFC 7323, section 2.2; Honda et al., Is It Still Possible to Extend TCP?, IMC 2011"


def _send_buffer(case: Case, m: Measured, cause: Cause) -> Finding:
    assert m.single is not None
    whole = bdp(m)
    flight = max(1.0, m.single.steady_bps * (m.idle_rtt_ns or 0) / 8e9)
    title = (
        f"The send buffer of {name(case, m.sender)} is too small: {held(cause)} it was full with "
        f"{size(flight)} "
        f"in flight, and the path holds {size(whole)}."
    )
    needed = max(rounded_up(MARGIN * max(whole, flight) * (m.single.sndbuf or flight) / flight), LEAST_WMEM)
    key = "net.ipv4.tcp_wmem"
    return made(cause, m, title, (setting(m.sender, key, triple(case, m.sender, key, needed)),))


def _slow_program(case: Case, m: Measured, cause: Cause) -> Finding:
    end = cause.where
    who = "sender" if end == m.sender else "reader"
    title = (
        f"Our own {who} on {name(case, end)} was too slow: {held(cause)} the network waited for it. The path "
        "may carry more than was measured."
    )
    return made(cause, m, title, (Command(end, "top -H -b -n 1 | head -20"),))


def _quota(case: Case, m: Measured, cause: Cause) -> Finding:
    title = (
        f"A CPU quota stops programs on {name(case, cause.where)}: {held(cause)} the network waited for them."
    )
    cpus = case.facts(cause.where).get("memory", "cgroup", "cpus")
    limit = f" (quota: {cpus:g} CPUs)" if isinstance(cpus, float | int) else ""
    fix = (Command(cause.where, "systemctl set-property UNIT CPUQuota="),)
    return made(cause, m, title.replace(":", f"{limit}:", 1), fix)


def _busy(case: Case, m: Measured, cause: Cause) -> Finding:
    cpu = m.cpu[cause.where]
    stolen = f", {percent(cpu.steal)} of it taken by the hypervisor" if cpu.steal >= 0.1 else ""
    title = (
        f"{name(case, cause.where)} has no processor time left (the busiest is at "
        f"{percent(cpu.busiest)}{stolen}): "
        f"{held(cause)} the network waited for it."
    )
    fix = (Command(cause.where, "ps -eo pid,psr,pcpu,comm --sort=-pcpu | head"),)
    return made(cause, m, title, fix)


def _cpu_limited(case: Case, m: Measured, cause: Cause) -> Finding:
    cpu = m.cpu[cause.where]
    soft = f", {percent(cpu.softirq)} of it in soft interrupts" if cpu.softirq >= 0.3 else ""
    title = (
        f"A processor of {name(case, cause.where)} is full ({percent(cpu.busiest)}{soft}), the path is "
        "not: one flow "
        f"is as fast as this machine."
    )
    found = made(cause, m, title, (Command(cause.where, "mpstat -P ALL 1 3"),))
    others = cpu.others or 0.0
    return replace(found, severity="warning" if others > 0.3 else "note")


def _small_window(case: Case, m: Measured, cause: Cause) -> Finding | None:
    assert m.single is not None
    if m.single.cc not in DELAY_BASED:
        return None  # a window still growing: the measurement was too short, not the path too poor
    title = (
        f"{m.single.cc} on {name(case, m.sender)} kept its window at {size(m.single.cwnd or 0)} without a "
        "loss: it "
        "takes the path's delay for congestion."
    )
    key = "net.ipv4.tcp_congestion_control"
    return made(cause, m, title, (setting(m.sender, key, "cubic"),))


def _pacing(case: Case, m: Measured, cause: Cause) -> Finding:
    title = f"The sender on {name(case, m.sender)} paces itself below what the path carries, {held(cause)}."
    return made(cause, m, title, (Command(m.sender, f"tc -s qdisc show dev {dev(case, m.sender)}"),))


def _marked(_: Case, m: Measured, cause: Cause) -> Finding:
    title = f"Congestion marks (ECN) on the way {m.direction} kept the window small, {held(cause)}."
    return made(
        cause, m, title, (Command(m.sender, "sysctl -w net.ipv4.tcp_ecn=0"),), "RFC 3168, section 6.1.2"
    )


def _no_finding(_: Case, __: Measured, ___: Cause) -> None:
    """A path that is full does what it is for."""


MAKERS: Mapping[str, Maker] = {
    "unreachable": broken.unreachable,
    "port-blocked": broken.port_blocked,
    "no-answers": broken.no_answers,
    "stalled": broken.stalled,
    "mtu-black-hole": broken.black_hole,
    "receive-buffer-too-small": _receive_buffer,
    "window-scaling-off": _window_scaling,
    "send-buffer-too-small": _send_buffer,
    "slow-writer": _slow_program,
    "slow-reader": _slow_program,
    "cpu-quota": _quota,
    "cpu-busy": _busy,
    "cpu-limited": _cpu_limited,
    "small-window": _small_window,
    "pacing": _pacing,
    "marked": _marked,
    "reordering": losses.reordering,
    "corruption": losses.corruption,
    "outages": losses.outages,
    "policer": losses.policer,
    "random-loss": losses.random_loss,
    "shallow-queue": losses.shallow_queue,
    "sack-off": losses.sack_off,
    "losses": losses.some,
    "path-rate": _no_finding,
}
"""Cause → its finding."""
