"""What the findings on measurements are made of: evidence, gain, commands, how grave."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Any

from rushhour.diagnosis.case import ENDS
from rushhour.diagnosis.cause import possible_bps
from rushhour.diagnosis.finding import Command, Evidence, Finding
from rushhour.quantities.short import percent, rate, time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.diagnosis.case import Case
    from rushhour.diagnosis.cause import Cause
    from rushhour.diagnosis.finding import Severity
    from rushhour.diagnosis.measured import Measured

GRAVE, WORTH = 2.0, 1.15
"""Factor that mending a cause gains from which it is critical, from which it is worth a warning. Below, what
was measured may be luck."""
SYSCTLS = "/etc/sysctl.d/90-rushhour.conf"


def name(case: Case, end: str) -> str:
    """An end as a sentence calls it: `a (alice)`."""
    place = case.facts(end).place
    return f"{end} ({place})" if place and place != end else end


def dev(case: Case, end: str) -> str:
    """The device that an end's packets leave by, as a shell's word: the kernel allows names like `a;b`."""
    return quote(str(case.facts(end).get("link", "dev") or "DEV"))


def address(case: Case, end: str) -> str:
    """The address of the other end, as an end's route was asked for."""
    route = case.facts(end).get("route", "found", "to") or case.facts(end).get("route", "to")
    return str(route or "ADDRESS").partition("/")[0]


def grave(m: Measured, cause: Cause) -> Severity:
    """How grave a cause is, by what mending it would gain."""
    got = m.single.goodput_bps if m.single is not None else 0.0
    if not got or (m.single is not None and m.single.stalled):
        return "critical"
    if cause.expected_bps is None:
        return "warning"
    factor = cause.expected_bps / got
    return "critical" if factor >= GRAVE else "warning" if factor >= WORTH else "note"


def gain(m: Measured, cause: Cause) -> str | None:
    """What one flow would reach without it."""
    if cause.expected_bps is None or m.single is None:
        return None
    if cause.expected_bps < WORTH * m.single.goodput_bps:
        return "little: one flow is already near what the path carries"
    return f"one flow from {rate(m.single.goodput_bps)} to about {rate(cause.expected_bps)}"


def evidence(m: Measured, cause: Cause) -> tuple[Evidence, ...]:
    """The numbers of a cause: its law first, then what TCP and UDP reached."""
    return (Evidence(cause.where, "because", cause.law), *reached(m))


def reached(m: Measured) -> Iterator[Evidence]:
    """What was measured in a direction, one line each."""
    way, tcp = m.direction, m.single
    if tcp is not None and not tcp.error:
        yield Evidence(
            way, "one TCP flow", f"{rate(tcp.goodput_bps)}, {percent(tcp.retransmit_share)} sent again"
        )
    if m.several is not None:
        yield Evidence(way, f"{m.several.flows} TCP flows", rate(m.several.goodput_bps))
    if m.udp is not None:
        yield Evidence(way, f"UDP at {rate(m.udp.rate_bps)}", f"{percent(m.udp.loss)} lost")
    if m.idle_rtt_ns is not None:
        loaded = f", {time(m.loaded_rtt_ns / 1e9)} under load" if m.loaded_rtt_ns else ""
        yield Evidence(way, "round trip", f"{time(m.idle_rtt_ns / 1e9)} idle{loaded}")


def setting(end: str, key: str, value: object) -> Command:
    """A sysctl, now and over a reboot."""
    quoted = f"'{value}'" if " " in str(value) else f"{value}"
    return Command(end, f"sysctl -w {key}={quoted}", f"echo '{key} = {value}' >> {SYSCTLS}")


def sysctl(case: Case, end: str, key: str) -> Any:
    """A sysctl of an end; None where it is not known."""
    return case.facts(end).get("sysctl", key)


def on_at_both(case: Case, key: str) -> bool:
    """Whether both ends are known to offer an option: where it is not agreed on, the path took it out."""
    return all(sysctl(case, end, key) for end in ENDS)


def taken_out(case: Case, m: Measured, option: str) -> tuple[str, tuple[Command, ...]]:
    """What to say of an option that leaves one end and does not reach the other, and how to see where."""
    text = (
        f"Something on the way between {name(case, m.sender)} and {name(case, m.receiver)} takes the option "
        f"{option} out of SYN packets (both ends offer it): a firewall, a NAT, a load balancer"
    )
    look = "'tcp[tcpflags] & tcp-syn != 0'   # is it still there on both sides of each box?"
    return text, tuple(Command(end, f"tcpdump -c 4 -ni {dev(case, end)} {look}") for end in ENDS)


def triple(case: Case, end: str, key: str, most: int) -> str:
    """Least, usual and greatest buffer, the greatest raised to `most`."""
    known = sysctl(case, end, key)
    usual = {"net.ipv4.tcp_rmem": (4096, 131072), "net.ipv4.tcp_wmem": (4096, 16384)}[key]
    least, middle = known[:2] if isinstance(known, list) and len(known) == 3 else usual
    return f"{least} {max(int(middle), usual[1])} {most}"


def made(
    cause: Cause, m: Measured, title: str, fix: tuple[Command, ...] = (), source: str | None = None
) -> Finding:
    """A finding of a cause, by what all have alike."""
    return Finding(
        key=cause.key,
        severity=grave(m, cause),
        layer=cause.layer,
        title=title,
        where=cause.where,
        evidence=evidence(m, cause),
        gain=gain(m, cause),
        limited=cause.limited,
        fix=fix,
        source=source or cause.source,
    )


def held(cause: Cause) -> str:
    """For how much of the time a cause held."""
    return f"for {percent(cause.limited)} of the time"


def bdp(m: Measured) -> float:
    """Bytes in flight that fill the path, if the ends let it."""
    return (possible_bps(m) or 0) * (m.idle_rtt_ns or 0) / 8e9
