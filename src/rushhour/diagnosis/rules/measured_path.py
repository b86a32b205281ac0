"""Findings on the path itself: delay under load, unequal directions, packet sizes, loss beside TCP's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.diagnosis.bottleneck import causes
from rushhour.diagnosis.finding import Command, Evidence, Finding
from rushhour.diagnosis.losses import dead
from rushhour.diagnosis.rules import common
from rushhour.diagnosis.rules.measured_words import dev, name, reached
from rushhour.quantities.short import percent, rate, rounded_up, size, time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.diagnosis.case import Case
    from rushhour.diagnosis.measured import Measured

BLOAT_NS = 100_000_000
"""Delay under load that spoils calls and shells (ITU-T G.114 grants 150 ms one way in all)."""
BLOAT_TRIPS = 2
"""Round trips of queue: a loss-based flow needs one bandwidth-delay product, and not more."""
UNEQUAL = 1.5
HELD = 0.3
"""Share of the time from which a cause has a finding of its own (`measured_limits`)."""
HALF_DUPLEX = 0.65
"""Part of its own rate that a direction keeps while the other is busy, below which the two share a medium."""
SOME_LOSS = 0.002
ECHOES_LOST = 0.15
JITTER_NS, JITTER = 5_000_000, 0.2
"""By how much the 95th percentile of the idle round trip may exceed the median, at least and as its part."""
ENOUGH = 0.8


def bufferbloat(case: Case) -> Iterator[Finding]:
    """A queue that is much longer than the path."""
    for m in case.measured.values():
        queue, idle = m.queue_ns, m.idle_rtt_ns
        if queue is None or idle is None or queue < BLOAT_NS or queue < BLOAT_TRIPS * idle:
            continue
        limit = rounded_up(0.95 * (m.capacity_bps or 1e6) / 1000)
        title = (
            f"Under load the round trip grows from {time(idle / 1e9)} to {time((idle + queue) / 1e9)}: the "
            "queue "
            f"before the bottleneck {m.direction} is far too long (bufferbloat)."
        )
        held = size((m.capacity_bps or 0) * queue / 8e9)
        yield Finding(
            "bufferbloat",
            "warning",
            "queue",
            title,
            m.direction,
            (Evidence(m.direction, "waiting under load", f"{time(queue / 1e9)}, {held}"), *reached(m)),
            f"a round trip near {time(idle / 1e9)} under load, at 95 % of the rate",
            _share(m),
            (
                Command(
                    m.sender, f"tc qdisc replace dev {dev(case, m.sender)} root cake bandwidth {limit}kbit"
                ),
            ),
            "RFC 8290 (FQ-CoDel), section 1; tc-cake(8)",
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
    yield Finding(
        "asymmetric-path",
        "warning",
        "path",
        f"{slow} carries {rate(low)}, {fast} {rate(high)}: a link or a shaper on the way {slow} is slower.",
        slow,
        (*reached(case.measured[slow]), *reached(case.measured[fast])),
        f"{slow} from {rate(low)} to about {rate(high)}",
        _share(case.measured[slow]),
        tuple(Command(end, f"ethtool {dev(case, end)} | grep -E 'Speed|Duplex'") for end in ("a", "b")),
        "RFC 3449, section 2",
    )


def half_duplex(case: Case) -> Iterator[Finding]:
    """Both directions together carry what one carries alone."""
    alone = {way: m.single.steady_bps for way, m in case.measured.items() if m.single is not None}
    both = {way: m.both.steady_bps for way, m in case.measured.items() if m.both is not None}
    if len(both) < 2 or min(alone.values(), default=0) <= 0 or not all(map(_by_path, case.measured.values())):
        return
    kept = {way: both[way] / alone[way] for way in both if way in alone}
    if sum(kept.values()) >= 2 * HALF_DUPLEX:
        return
    slow = min(kept, key=lambda way: kept[way])
    yield Finding(
        "half-duplex",
        "warning",
        "device",
        f"The two directions share one medium: while both are busy {slow} keeps {percent(kept[slow])} of "
        "its rate.",
        slow,
        tuple(
            Evidence(way, "alone, and with the other", f"{rate(alone[way])}, {rate(both[way])}")
            for way in both
        ),
        None,
        None,
        tuple(Command(end, f"ethtool -s {dev(case, end)} autoneg on") for end in ("a", "b")),
        "IEEE 802.3, clause 28; ethtool(8)",
    )


def large_packets(case: Case) -> Iterator[Finding]:
    """Packets that TCP does not send, but others would, vanish."""
    for m in case.measured.values():
        broken = m.single is not None and m.single.stalled
        if m.sizes.vanished is None or m.sizes.passed is None or broken:
            continue
        title = (
            f"Packets above {m.sizes.passed} bytes vanish on the way {m.direction}, though "
            f"{name(case, m.sender)} "
            f"may send them: datagrams and tunnels will fail, TCP found its way."
        )
        yield Finding(
            "large-packets-lost",
            "warning",
            "ip",
            title,
            m.direction,
            (
                Evidence(m.direction, "largest that crossed", f"{m.sizes.passed} B"),
                Evidence(m.direction, "smallest that did not", f"{m.sizes.vanished} B"),
                Evidence(m.sender, "MTU of its device", str(case.facts(m.sender).get("link", "mtu") or "?")),
            ),
            None,
            None,
            (Command(m.sender, f"ip link set dev {dev(case, m.sender)} mtu {m.sizes.passed}"),),
            "RFC 8899; RFC 2923, section 2",
        )


def echo_blocked(case: Case) -> Iterator[Finding]:
    """Echo requests are not answered, connections are: the errors that TCP needs may be dropped, too."""
    for m in case.measured.values():
        if m.ping_loss is not None and m.ping_loss >= 1 and m.single is not None and m.single.goodput_bps:
            yield Finding(
                "echo-blocked",
                "note",
                "ip",
                f"Echo requests {m.direction} are not answered, connections are: something filters ICMP.",
                m.direction,
                (Evidence(m.direction, "echo requests lost", percent(m.ping_loss)), *reached(m)),
                None,
                None,
                (Command(m.receiver, "nft list ruleset"),),
                "RFC 4890, section 4.3; RFC 1191",
            )


def echo_loss(case: Case) -> Iterator[Finding]:
    """Echoes are lost on the idle path, datagrams pass: small packets, or answers, are treated worse."""
    for m in case.measured.values():
        lost, busy = m.ping_loss or 0.0, any(common.is_busy(case, end) for end in ("a", "b"))
        passes = m.udp is not None and m.udp.sent and m.udp.loss < lost / 4
        if ECHOES_LOST <= lost < 1 and passes:
            yield Finding(
                "echo-loss",
                "note" if busy else "warning",
                "path",
                f"{percent(lost)} of echo requests {m.direction} got no answer on the idle path, while large "
                "datagrams pass: small packets are lost, there or back, and acknowledgements are small, too; "
                "or ICMP is limited.",
                m.direction,
                (Evidence(m.direction, "echo requests without an answer", percent(lost)), *reached(m)),
                None,
                None,
                tuple(Command(end, "nft list ruleset") for end in ("a", "b")),
                "RFC 2681; RFC 3449, section 3; icmp(7), icmp_ratelimit",
            )


def jitter(case: Case) -> Iterator[Finding]:
    """The delay of the idle path varies so much that TCP takes it for a queue."""
    for m in case.measured.values():
        middle, far = m.idle_rtt_ns, m.idle_rtt_p95_ns
        if middle is None or far is None or far - middle < max(JITTER_NS, JITTER * middle):
            continue
        slow = m.single is not None and (
            m.single.steady_bps < ENOUGH * (common.rate_bps(case, m.direction) or 0)
        )
        busy = any(common.is_busy(case, end) for end in ("a", "b"))
        yield Finding(
            "jitter",
            "warning" if slow and not busy else "note",
            "path",
            f"The round trip {m.direction} varies on the idle path: half of the echoes took more than "
            f"{time(middle / 1e9)}, one of twenty more than {time(far / 1e9)}; TCP takes that for a queue.",
            m.direction,
            (
                Evidence(m.direction, "median, 95th percentile", f"{time(middle / 1e9)}, {time(far / 1e9)}"),
                *reached(m),
            ),
            None,
            m.single.limited("window") if m.single is not None and slow else None,
            tuple(Command(end, f"iw dev {dev(case, end)} station dump") for end in ("a", "b")),
            "RFC 5481; RFC 9406 (HyStart++), section 4.2",
        )


def other_loss(case: Case) -> Iterator[Finding]:
    """Loss, late or doubled packets that did not limit TCP, and would hurt other traffic."""
    for m in case.measured.values():
        if m.udp is None or m.udp.error:
            continue
        if m.udp.received == 0:
            yield from _blocked(m)
            continue
        named = {cause.key for cause in causes(m) if cause.limited >= HELD}
        if dead(m) and "outages" not in named:
            gone = f"The way {m.direction} goes dead for about {time(m.udp.dead_ns / 1e9)} at a time:"
            yield _beside(case, m, "outages", f"{gone} {percent(m.udp.loss)} of datagrams are lost")
        elif m.udp.loss >= SOME_LOSS and not named & {"random-loss", "corruption", "policer", "outages"}:
            yield _beside(
                case, m, "datagram-loss", f"{percent(m.udp.loss)} of datagrams {m.direction} are lost"
            )
        if m.udp.reordered >= SOME_LOSS and "reordering" not in named:
            late = percent(m.udp.reordered)
            yield _beside(
                case, m, "reordering", f"{late} of datagrams {m.direction} arrive late, out of order"
            )
        if m.udp.duplicates >= max(2, SOME_LOSS * m.udp.sent):
            twice = percent(m.udp.duplicates / m.udp.sent)
            yield _beside(case, m, "duplicates", f"{twice} of datagrams {m.direction} arrive twice")


def _blocked(m: Measured) -> Iterator[Finding]:
    """Not one datagram came, and TCP works."""
    assert m.udp is not None
    if m.udp.sent and m.single is not None and m.single.goodput_bps:
        yield Finding(
            "udp-blocked",
            "warning",
            "ip",
            f"UDP is blocked {m.direction}: of {m.udp.sent} datagrams not one arrived, while TCP gets "
            "through; calls, QUIC, DNS and tunnels fail or fall back.",
            m.direction,
            (Evidence(m.direction, "datagrams", f"{m.udp.sent} sent, 0 arrived"), *reached(m)),
            None,
            None,
            (Command(m.receiver, "nft list ruleset"), Command(m.receiver, "iptables -nvL")),
            "RFC 8085; RFC 4787, section 5",
        )


def _beside(case: Case, m: Measured, key: str, what: str) -> Finding:
    assert m.udp is not None
    below = f"at {rate(m.udp.rate_bps)}, below what the path carries"
    # A sender that was kept waiting sends in bursts, a receiver reads too late.
    busy = m.udp.crowded or (key == "datagram-loss" and any(common.is_busy(case, end) for end in ("a", "b")))
    counts = f"{m.udp.sent} sent, {m.udp.received} arrived, {m.udp.duplicates} twice"
    return Finding(
        key,
        "note" if busy else "warning",
        "path",
        f"{what} {below}: calls, games and tunnels suffer, though TCP copes.",
        m.direction,
        (Evidence(m.direction, "datagrams", counts), *reached(m)),
        None,
        None,
        tuple(Command(end, f"ip -s -s link show dev {dev(case, end)}") for end in ("a", "b")),
        "RFC 7680; RFC 4737; RFC 5560",
    )


def _by_path(m: Measured) -> bool:
    """Whether the path itself was what limited, not an end or losses."""
    found = causes(m)
    return bool(found) and found[0].key == "path-rate"


def _share(m: Measured) -> float | None:
    return m.single.limited("path") if m.single is not None else None
