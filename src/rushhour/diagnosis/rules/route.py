"""What the route to the other end fixes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.causes.finding import Proof, finding
from rushhour.causes.telling import sentence
from rushhour.causes.thresholds import (
    FEW_HOPS,
    LEAST_INITCWND,
    LEAST_MTU,
    LETS_ENOUGH,
    LONG_RTO_MS,
    MOST_HEADERS,
    UNHEEDED,
    USUAL_INITCWND,
)
from rushhour.diagnosis.rules import common
from rushhour.diagnosis.rules.common import told
from rushhour.diagnosis.shown import route as shown_route
from rushhour.quantities.short import binary, rate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.causes.finding import Command, Finding
    from rushhour.diagnosis.case import Case
    from rushhour.diagnosis.facts import Facts
    from rushhour.record.facts_file import Way

SEGMENT = 1448
MAIN_TABLE = 254


def _kept(entry: Way) -> dict[str, object]:
    """What a route fixes, in `ip route`'s words."""
    return {
        "mtu": entry.mtu,
        "window": entry.window,
        "cwnd": entry.cwnd,
        "ssthresh": entry.ssthresh,
        "initcwnd": entry.initcwnd,
        "initrwnd": entry.initrwnd,
        "advmss": entry.advmss,
        "rto_min": f"{entry.rto_min}ms" if entry.rto_min else None,
        "quickack": entry.quickack,
        "congctl": entry.congctl,
    }


def _fix(end: str, facts: Facts, word: str) -> tuple[Command, ...]:
    """The route again without the word; what is learned is forgotten by a flush."""
    entry = facts.route.entry
    words = [f"via {entry.gateway}"] if entry.gateway else []
    words.append(f"dev {common.device(facts)}")
    # A route is found again by its table and its metric: without them `change` finds another, or none.
    table = None if entry.table == MAIN_TABLE else entry.table
    named = {"src": entry.source, "table": table, "metric": entry.metric}
    words += [f"{name} {value}" for name, value in named.items() if value]
    rest = [
        f"{name} {'lock ' if name in entry.locked else ''}{value}"
        for name, value in _kept(entry).items()
        if value and name != word
    ]
    return (common.shell(end, " ".join(["ip route change", entry.to or "default", *words, *rest])),)


def payload(mtu: int) -> float:
    """Share of a packet that is payload."""
    return (mtu - common.HEADERS) / mtu


def mtu(case: Case) -> Iterator[Finding]:
    """A route with an MTU of its own."""
    for end, facts in common.ends(case):
        fixed, learned = facts.route.entry.mtu, facts.route.found.mtu
        device = facts.link.mtu
        if device is None:
            continue
        if fixed and fixed < device:
            locked = "mtu" in facts.route.entry.locked
            yield finding(
                "route-mtu",
                "warning" if fixed < LEAST_MTU or locked else "note",
                sentence("route-mtu", host=common.name(case, end), fixed=f"{fixed}", most=f"{device}"),
                end,
                evidence=(
                    told(end, "route", shown_route(facts.route.entry)),
                    told(end, "MTU of the device", device),
                ),
                gain=f"{payload(device) / payload(fixed) - 1:.1%} more payload",
                fix=_fix(end, facts, "mtu"),
            )
        elif learned and learned < device:
            yield finding(
                "path-mtu-learned",
                "note",
                sentence(
                    "path-mtu-learned",
                    host=common.name(case, end),
                    size=f"{learned}",
                    fewer=f"{device - learned}",
                ),
                end,
                evidence=(
                    told(end, "MTU of the path", learned),
                    told(end, "forgotten in", f"{facts.route.found.expires_s} s"),
                    told(end, "MTU of the device", device),
                ),
            )


def widest(clamp: int) -> int:
    """The largest window that can be told with the scale that a clamp leads to.

    (tcp_select_initial_window, net/ipv4/tcp_output.c: the scale is chosen for the clamp; the buffer's growth
    lifts the clamp itself later on.)
    """
    scale = max(0, (clamp // 0x10000).bit_length())
    return 0xFFFF << scale


def window(case: Case) -> Iterator[Finding]:
    """A route that clamps the window, or locks the congestion window."""
    for direction, from_, sending, to, receiving in common.directions(case):
        rtt = common.rtt_ns(case)
        clamp = receiving.route.found.window
        held = sending.route.found.cwnd
        # A cwnd that is not locked is only remembered: metrics of old connections are kept there, too.
        locked = "cwnd" in sending.route.found.locked
        limits = [(to, receiving, "window", widest(clamp) if clamp else None)] + (
            [(from_, sending, "cwnd", held * SEGMENT)] if held and locked else []
        )
        for end, facts, word, most in limits:
            flow = common.rate_bps(case, direction)
            if not most:
                continue
            cap = most * 8e9 / rtt if rtt else None
            if word == "cwnd" and cap and (common.reached_bps(case, direction) or 0.0) > UNHEEDED * cap:
                continue  # The kernel heeds it only where it keeps metrics of this peer (tcp_init_metrics).
            hurts = (
                cap is not None
                and flow is not None
                and cap < LETS_ENOUGH * flow
                and not common.is_full(case, direction)
            )
            yield finding(
                f"route-{word}",
                "critical" if hurts else "note",
                (
                    sentence(
                        f"route-{word}",
                        host=common.name(case, end),
                        most=binary(most),
                        rate=f": {rate(cap)} on this path" if cap else "",
                    )
                ),
                end,
                evidence=(told(end, "route", shown_route(facts.route.found)),),
                gain=f"up to {rate(flow)} instead of {rate(cap)}" if hurts and flow and cap else None,
                limited=common.limited(case, direction, "receiver" if word == "window" else "window"),
                fix=_fix(end, facts, word),
            )


def beginning(case: Case) -> Iterator[Finding]:
    """Initial windows that were changed."""
    for end, facts in common.ends(case):
        entry = facts.route.entry
        first = entry.initcwnd
        slow = first is not None and first < USUAL_INITCWND
        if first is None or not (slow or first > USUAL_INITCWND):
            continue
        key = "initial-window-small" if slow else "initial-window-large"
        yield finding(
            key,
            "warning" if first < LEAST_INITCWND else "note",
            (sentence(key, host=common.name(case, end), first=f"{first}", usual=f"{USUAL_INITCWND:.0f}")),
            end,
            evidence=(told(end, "route", shown_route(entry)),),
            gain="short transfers end earlier" if slow else "no loss at the first round trip",
            fix=_fix(end, facts, "initcwnd"),
        )


def held_down(case: Case) -> Iterator[Finding]:
    """Other values of a route that hold connections down."""
    for end, facts in common.ends(case):
        entry = facts.route.entry
        segment, mtu = entry.advmss, facts.link.mtu
        if segment and mtu and segment < mtu - MOST_HEADERS:
            yield finding(
                "route-advmss",
                "warning",
                sentence(
                    "route-advmss",
                    host=common.name(case, end),
                    size=f"{segment}",
                    fits=f"{mtu - common.HEADERS}",
                ),
                end,
                evidence=(told(end, "advmss", segment), told(end, "MTU of the device", mtu)),
                gain=f"{payload(mtu) / payload(segment + common.HEADERS) - 1:.1%} more payload",
                fix=_fix(end, facts, "advmss"),
            )
        if (least := entry.rto_min) and least > LONG_RTO_MS:
            yield finding(
                "route-rto-min",
                "warning",
                sentence("route-rto-min", host=common.name(case, end), least=f"{least} ms"),
                end,
                evidence=(told(end, "rto_min", f"{least} ms"),),
                gain="losses at the end of a transfer are repaired after 200 ms and more, not seconds",
                fix=_fix(end, facts, "rto_min"),
            )


def asymmetric(case: Case) -> Iterator[Finding]:
    """One end goes by a gateway, the other does not."""
    gates = {end: facts.route.found.gateway for end, facts in common.ends(case)}
    devices = {end: facts.route.found.dev for end, facts in common.ends(case)}
    if all(devices.values()) and "lo" not in devices.values() and bool(gates["a"]) != bool(gates["b"]):
        yield finding(
            "asymmetric-route",
            "note",
            sentence("asymmetric-route"),
            "a→b",
            evidence=tuple(
                told(end, "route", f"via {gate}" if gate else "direct") for end, gate in gates.items()
            ),
        )


def _is_cut_off(case: Case) -> bool:
    """Whether nothing came through in either direction."""
    tried = [m.single for m in case.measured.values() if m.single is not None]
    return bool(tried) and all(tcp.error is not None for tcp in tried)


def resolution(case: Case) -> Iterator[Finding]:
    """The next hop does not answer for its address, or somebody has answered for it by hand."""
    for end, facts in common.ends(case):
        gateway = facts.route.found.gateway
        hop = gateway or (facts.route.found.to or "").partition("/")[0]
        state = facts.route.neighbour.state
        by_hand = state == "permanent" and _is_cut_off(case)
        if state not in {"failed", "incomplete"} and not by_hand:
            continue
        key = "next-hop-set-by-hand" if by_hand else "next-hop-silent"
        yield finding(
            key,
            "critical",
            sentence(key, host=common.name(case, end), hop=hop),
            end,
            evidence=(
                told(end, f"neighbour {hop}", state),
                told(end, "its hardware address", facts.route.neighbour.hardware),
            ),
            fix=(common.shell(end, f"ip neighbour del {hop} dev {common.device(facts)}"),),
        )


def lifetime(case: Case) -> Iterator[Finding]:
    """Packets that die after few routers."""
    for end, facts in common.ends(case):
        ttl = facts.number("net.ipv4.ip_default_ttl")
        if ttl is None or ttl >= FEW_HOPS:
            continue
        yield finding(
            "packets-live-too-short",
            "critical" if _is_cut_off(case) else "note",
            sentence("packets-live-too-short", host=common.name(case, end), most=f"{ttl}"),
            end,
            evidence=(told(end, "net.ipv4.ip_default_ttl", ttl),),
            gain="packets that arrive, however many routers are between",
            fix=(common.sysctl(end, "net.ipv4.ip_default_ttl", 64),),
        )


def algorithm(case: Case) -> Iterator[Finding]:
    """A route that chooses an algorithm."""
    for end, facts in common.ends(case):
        chosen = facts.route.entry.congctl
        default = facts.text("net.ipv4.tcp_congestion_control")
        if chosen and chosen != default:
            yield finding(
                "route-congestion-control",
                "note",
                sentence(
                    "route-congestion-control",
                    host=common.name(case, end),
                    chosen=chosen,
                    default=f"{default}",
                ),
                end,
                evidence=(told(end, "congctl of the route", chosen), Proof(end, "default", str(default))),
            )


RULES = (resolution, lifetime, window, mtu, beginning, held_down, algorithm, asymmetric)
