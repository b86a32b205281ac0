"""Findings on the path itself: delay under load, unequal directions, packet sizes, loss beside TCP's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.causes import path_rules as rules
from rushhour.causes.finding import Command, Proof, finding
from rushhour.causes.telling import sentence
from rushhour.causes.thresholds import (
    BELOW_BOTTLENECK,
    ECHOES_LOST,
    FAR_LESS,
    HALF_DUPLEX,
    JITTER,
    JITTER_NS,
    MAIN,
    SOME,
    SOME_LOSS,
    SPOILS_NS,
    UNEQUAL,
    WELL,
)
from rushhour.diagnosis.bottleneck import causes
from rushhour.diagnosis.flow import MeasuredFlow
from rushhour.diagnosis.losses import dead
from rushhour.diagnosis.rules import common
from rushhour.diagnosis.rules.measured_words import commands, dev, name, reached
from rushhour.quantities.short import percent, rate, size, time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.causes.finding import Finding
    from rushhour.diagnosis.case import Case
    from rushhour.diagnosis.measured import Measured


def bufferbloat(case: Case) -> Iterator[Finding]:
    """A queue that is much longer than the path."""
    for m in case.measured.values():
        flow = m.single or m.several
        one = None if flow is None else rules.bufferbloat(MeasuredFlow(m, flow, case), 0.0)
        if one is None:
            continue
        queue = m.queue_ns or 0
        held = size((m.capacity_bps or 0) * queue / 8e9)
        idle = time((m.idle_rtt_ns or 0) / 1e9)
        yield finding(
            "bufferbloat",
            "warning" if queue >= SPOILS_NS else "note",
            one.says,
            m.direction,
            evidence=(
                Proof(m.direction, "waiting under load", f"up to {time(queue / 1e9)}, {held}"),
                *reached(m),
            ),
            gain=f"a round trip near {idle} under load, at {percent(BELOW_BOTTLENECK)} of the rate",
            limited=_share(m),
            fix=commands(case, one),
        )


def asymmetry(case: Case) -> Iterator[Finding]:
    """One direction carries much less, and neither end is why."""
    rates = {way: m.capacity_bps for way, m in case.measured.items() if m.capacity_bps and _by_path(m)}
    if len(rates) < 2:
        return
    slow, fast = sorted(rates, key=lambda way: rates[way] or 0)
    low, high = rates[slow] or 0.0, rates[fast] or 0.0
    if high < UNEQUAL * low:
        return
    yield finding(
        "asymmetric-path",
        "warning",
        sentence("asymmetric-path", slow=slow, low=rate(low), fast=fast, high=rate(high)),
        slow,
        evidence=(*reached(case.measured[slow]), *reached(case.measured[fast])),
        gain=f"{slow} from {rate(low)} to about {rate(high)}",
        limited=_share(case.measured[slow]),
        fix=tuple(Command(end, f"ethtool {dev(case, end)} | grep -E 'Speed|Duplex'") for end in ("a", "b")),
    )


def half_duplex(case: Case) -> Iterator[Finding]:
    """Both directions together carry what one carries alone."""
    alone = {way: m.single.steady_bps for way, m in case.measured.items() if m.single is not None}
    both = {way: m.both.steady_bps for way, m in case.measured.items() if m.both is not None}
    if len(both) < 2 or min(alone.values(), default=0) <= 0 or not all(map(_by_path, case.measured.values())):
        return
    kept = {way: both[way] / alone[way] for way in both if way in alone}
    if len(kept) < len(both) or sum(kept.values()) / len(kept) >= HALF_DUPLEX:
        return
    slow = min(kept, key=lambda way: kept[way])
    yield finding(
        "half-duplex",
        "warning",
        sentence("half-duplex", proof=f"while one is busy {slow} keeps {percent(kept[slow])} of its rate"),
        slow,
        evidence=tuple(
            Proof(way, "alone, and with the other", f"{rate(alone[way])}, {rate(both[way])}") for way in both
        ),
        fix=tuple(Command(end, f"ethtool -s {dev(case, end)} autoneg on") for end in ("a", "b")),
    )


def large_packets(case: Case) -> Iterator[Finding]:
    """Packets that TCP does not send, but others would, vanish."""
    for m in case.measured.values():
        broken = m.single is not None and m.single.stalled
        if m.sizes.vanished is None or m.sizes.passed is None or broken:
            continue
        title = sentence(
            "large-packets-lost", size=f"{m.sizes.passed}", way=m.direction, host=name(case, m.sender)
        )
        yield finding(
            "large-packets-lost",
            "warning",
            title,
            m.direction,
            evidence=(
                Proof(m.direction, "largest that crossed", f"{m.sizes.passed} B"),
                Proof(m.direction, "smallest that did not", f"{m.sizes.vanished} B"),
                Proof(m.sender, "MTU of its device", str(case.facts(m.sender).link.mtu or "?")),
            ),
            fix=(Command(m.sender, f"ip link set dev {dev(case, m.sender)} mtu {m.sizes.passed}"),),
        )


def echo_blocked(case: Case) -> Iterator[Finding]:
    """Echo requests are not answered, connections are: the errors that TCP needs may be dropped, too."""
    for m in case.measured.values():
        if m.ping_loss is not None and m.ping_loss >= 1 and m.single is not None and m.single.goodput_bps:
            yield finding(
                "echo-blocked",
                "note",
                sentence("echo-blocked", way=m.direction),
                m.direction,
                evidence=(Proof(m.direction, "echo requests lost", percent(m.ping_loss)), *reached(m)),
                fix=(Command(m.receiver, "nft list ruleset"),),
            )


def echo_loss(case: Case) -> Iterator[Finding]:
    """Echoes are lost on the idle path, datagrams pass: small packets, or answers, are treated worse."""
    for m in case.measured.values():
        lost, busy = m.ping_loss or 0.0, any(common.is_busy(case, end) for end in ("a", "b"))
        passes = m.udp is not None and m.udp.sent and m.udp.loss < FAR_LESS * lost
        if ECHOES_LOST <= lost < 1 and passes:
            yield finding(
                "echo-loss",
                "note" if busy else "warning",
                sentence("echo-loss", lost=percent(lost), way=m.direction),
                m.direction,
                evidence=(
                    Proof(m.direction, "echo requests without an answer", percent(lost)),
                    *reached(m),
                ),
                fix=tuple(Command(end, "nft list ruleset") for end in ("a", "b")),
            )


def jitter(case: Case) -> Iterator[Finding]:
    """The delay of the idle path varies so much that TCP takes it for a queue."""
    for m in case.measured.values():
        middle, far = m.idle_rtt_ns, m.idle_rtt_p95_ns
        if middle is None or far is None or far - middle < max(JITTER_NS, JITTER * middle):
            continue
        slow = m.single is not None and (
            m.single.steady_bps < WELL * (common.rate_bps(case, m.direction) or 0)
        )
        busy = any(common.is_busy(case, end) for end in ("a", "b"))
        yield finding(
            "jitter",
            "warning" if slow and not busy else "note",
            sentence("jitter", way=m.direction, half=time(middle / 1e9), far=time(far / 1e9)),
            m.direction,
            evidence=(
                Proof(m.direction, "median, 95th percentile", f"{time(middle / 1e9)}, {time(far / 1e9)}"),
                *reached(m),
            ),
            limited=m.single.limited("window") if m.single is not None and slow else None,
            fix=tuple(Command(end, f"iw dev {dev(case, end)} station dump") for end in ("a", "b")),
        )


def other_loss(case: Case) -> Iterator[Finding]:
    """Loss, late or doubled packets that did not limit TCP, and would hurt other traffic."""
    for m in case.measured.values():
        if m.udp is None or m.udp.error:
            continue
        if m.udp.silent:
            yield from _blocked(m)
            continue
        named = {cause.key for cause in causes(m) if cause.limited >= MAIN}
        if dead(m) and "outages" not in named:
            yield _beside(case, m, "outages", f"{percent(m.udp.loss)} of datagrams were lost")
        elif m.udp.loss >= SOME_LOSS and not named & {"random-loss", "corruption", "policer", "outages"}:
            yield _beside(case, m, "datagram-loss", percent(m.udp.loss))
        if m.udp.reordered >= SOME_LOSS and "reordering" not in named:
            yield _beside(case, m, "reordering", f"{percent(m.udp.reordered)} of datagrams came late")
        if m.udp.duplicates >= max(SOME, SOME_LOSS * m.udp.sent):
            yield _beside(case, m, "duplicates", percent(m.udp.duplicates / m.udp.sent))


def _blocked(m: Measured) -> Iterator[Finding]:
    """Not one datagram came, and TCP works."""
    assert m.udp is not None
    if m.single is not None and m.single.goodput_bps:
        yield finding(
            "udp-blocked",
            "warning",
            sentence("udp-blocked", way=m.direction, sent=f"{m.udp.sent}"),
            m.direction,
            evidence=(Proof(m.direction, "datagrams", f"{m.udp.sent} sent, 0 arrived"), *reached(m)),
            fix=(Command(m.receiver, "nft list ruleset"), Command(m.receiver, "iptables -nvL")),
        )


def _beside(case: Case, m: Measured, key: str, seen: str) -> Finding:
    """What datagrams show of a cause that did not limit TCP."""
    assert m.udp is not None
    proof = (
        f"{seen} at {rate(m.udp.rate_bps)}, below what the path carries; calls, games and tunnels suffer, "
        "though TCP copes"
    )
    way = f" {m.direction}" if key == "reordering" else m.direction
    # A sender that was kept waiting sends in bursts, a receiver reads too late. Datagrams get lost by that;
    # none is doubled, and none overtakes another.
    crowded = m.udp.crowded and key in {"datagram-loss", "outages"}
    busy = crowded or (key == "datagram-loss" and any(common.is_busy(case, end) for end in ("a", "b")))
    counts = f"{m.udp.sent} sent, {m.udp.received} arrived, {m.udp.duplicates} twice"
    return finding(
        key,
        "note" if busy else "warning",
        sentence(key, way=way, dead=time(m.udp.dead_ns / 1e9), proof=proof),
        m.direction,
        evidence=(Proof(m.direction, "datagrams", counts), *reached(m)),
        fix=tuple(Command(end, f"ip -s -s link show dev {dev(case, end)}") for end in ("a", "b")),
    )


def _by_path(m: Measured) -> bool:
    """Whether the path itself was what limited, not an end or losses."""
    found = causes(m)
    return bool(found) and found[0].key == "path-rate"


def _share(m: Measured) -> float | None:
    return m.single.limited("path") if m.single is not None else None
