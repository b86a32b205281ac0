"""What the findings on measurements are made of: evidence, gain, commands, how grave."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from rushhour.causes import telling
from rushhour.causes.finding import Command, Proof, finding
from rushhour.causes.thresholds import GRAVE, WORTH
from rushhour.diagnosis.case import ENDS
from rushhour.quantities.short import percent, rate, time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.causes.cause import Severity
    from rushhour.causes.evidence import Named
    from rushhour.causes.finding import Finding
    from rushhour.causes.held import Held
    from rushhour.diagnosis.case import Case
    from rushhour.diagnosis.facts import Number
    from rushhour.diagnosis.measured import Measured

SYSCTLS = "/etc/sysctl.d/90-rushhour.conf"


def name(case: Case, end: str) -> str:
    """An end as a sentence calls it: `a (alice)`."""
    return case.called(end)


def dev(case: Case, end: str) -> str:
    """The device that an end's packets leave by, as a shell's word: the kernel allows names like `a;b`."""
    return quote(str(case.facts(end).link.dev or "DEV"))


def errors_at(case: Case, end: str) -> Command:
    """Where to look for what an end's card counted."""
    return Command(end, f"ethtool -S {dev(case, end)} | grep -iE 'err|drop|crc|miss'")


def address(case: Case, end: str) -> str:
    """The address of the other end, as an end's route was asked for."""
    route = case.facts(end).route.found.to or case.facts(end).route.to
    return str(route or "ADDRESS").partition("/")[0]


def grave(m: Measured, cause: Held) -> Severity:
    """How grave a cause is, by what mending it would gain."""
    got = m.single.goodput_bps if m.single is not None else 0.0
    if not got or (m.single is not None and m.single.stalled):
        return "critical"
    if cause.expected_bps is None:
        return "warning"
    factor = cause.expected_bps / got
    return "critical" if factor >= GRAVE else "warning" if factor >= WORTH else "note"


def gain(m: Measured, cause: Held) -> str | None:
    """What one flow would reach without it."""
    if cause.expected_bps is None or m.single is None:
        return None
    if cause.expected_bps < WORTH * m.single.goodput_bps:
        return "little: one flow is already near what the path carries"
    return f"one flow from {rate(m.single.goodput_bps)} to about {rate(cause.expected_bps)}"


def evidence(m: Measured, cause: Held) -> tuple[Proof, ...]:
    """The numbers of a cause: its law first, then what TCP and UDP reached."""
    return (Proof(cause.where, "because", cause.law), *reached(m))


def reached(m: Measured) -> Iterator[Proof]:
    """What was measured in a direction, one line each."""
    way, tcp = m.direction, m.single
    if tcp is not None and not tcp.error:
        yield Proof(
            way, "one TCP flow", f"{rate(tcp.goodput_bps)}, {percent(tcp.retransmit_share)} sent again"
        )
    if m.several is not None:
        yield Proof(way, f"{m.several.flows} TCP flows", rate(m.several.goodput_bps))
    if m.udp is not None:
        yield Proof(way, f"UDP at {rate(m.udp.rate_bps)}", f"{percent(m.udp.loss)} lost")
    if m.idle_rtt_ns is not None:
        loaded = f", {time(m.loaded_rtt_ns / 1e9)} under load" if m.loaded_rtt_ns else ""
        yield Proof(way, "round trip", f"{time(m.idle_rtt_ns / 1e9)} idle{loaded}")


def setting(end: str, key: str, value: object) -> Command:
    """A sysctl, now and over a reboot."""
    quoted = f"'{value}'" if " " in str(value) else f"{value}"
    return Command(end, f"sysctl -w {key}={quoted}", f"echo '{key} = {value}' >> {SYSCTLS}")


def commands(case: Case, one: Named) -> tuple[Command, ...]:
    """What sets what a cure sets; the congestion control and the queue for all flows of its host."""
    if one.cure is None:
        return ()
    every = [(what.host, what.name, what.value) for what in one.cure.settings]
    if "cc" in one.cure.socket:
        every.append((one.where, "net.ipv4.tcp_congestion_control", one.cure.socket["cc"]))
    queue = f"tc qdisc replace dev {dev(case, one.where)} root {one.cure.queue}"
    return (*(setting(*what) for what in every), *((Command(one.where, queue),) if one.cure.queue else ()))


def on_at_both(case: Case, key: Number) -> bool:
    """Whether both ends are known to offer an option: where it is not agreed on, the path took it out."""
    return all(case.facts(end).number(key) for end in ENDS)


def taken_out(case: Case, m: Measured, option: str) -> tuple[str, tuple[Command, ...]]:
    """What to say of an option that leaves one end and does not reach the other, and how to see where."""
    text = (
        f"Something on the way between {name(case, m.sender)} and {name(case, m.receiver)} takes the option "
        f"{option} out of SYN packets (both ends offer it): a firewall, a NAT, a load balancer"
    )
    look = "'tcp[tcpflags] & tcp-syn != 0'   # is it still there on both sides of each box?"
    return text, tuple(Command(end, f"tcpdump -c 4 -ni {dev(case, end)} {look}") for end in ENDS)


def made(cause: Held, m: Measured, title: str, fix: tuple[Command, ...] = (), source: str = "") -> Finding:
    """A finding of a cause, by what all have alike."""
    return finding(
        cause.key,
        grave(m, cause),
        title,
        cause.where,
        evidence=evidence(m, cause),
        gain=gain(m, cause),
        limited=cause.limited,
        fix=fix,
        source=source,
    )


def held(cause: Held) -> str:
    """For how much of the time a cause held."""
    return telling.held(cause.limited)
