"""Findings on paths that carry nothing: no way, no port, no answer, no large packets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.diagnose.finding import Command
from rushhour.diagnose.rules.measured_words import dev, made, name, setting

if TYPE_CHECKING:
    from rushhour.diagnose.case import Case
    from rushhour.diagnose.cause import Cause
    from rushhour.diagnose.finding import Finding
    from rushhour.diagnose.measured import Measured

FIRST_PORT = 5001


def unreachable(case: Case, m: Measured, cause: Cause) -> Finding:
    """Nothing gets through at all."""
    title = (
        f"{name(case, m.receiver)} cannot be reached from {name(case, m.sender)} by its data address: no "
        "echo "
        "and no connection was answered."
    )
    to = address(case, m.sender)
    fix = (
        Command(m.sender, f"ip route get {to}"),
        Command(m.sender, f"traceroute -n {to}"),
        Command(m.receiver, "nft list ruleset"),
    )
    return made(cause, m, title, fix)


def port_blocked(case: Case, m: Measured, cause: Cause) -> Finding:
    """Echoes pass, connections do not."""
    title = (
        f"TCP from {name(case, m.sender)} to {name(case, m.receiver)} is blocked (ports {FIRST_PORT} and "
        "above), "
        "while echo requests are answered: a firewall."
    )
    fix = (Command(m.receiver, "nft list ruleset"), Command(m.receiver, "iptables -nvL"))
    return made(cause, m, title, fix)


def one_way(case: Case, m: Measured, cause: Cause) -> Finding:
    """A connection was made, and nothing followed."""
    title = (
        f"Connections {m.direction} are made and then nothing arrives: data from {name(case, m.sender)} "
        "is dropped."
    )
    return made(cause, m, title, (Command(m.sender, f"traceroute -n -T {address(case, m.sender)}"),))


def black_hole(case: Case, m: Measured, cause: Cause) -> Finding:
    """Large packets vanish, and nobody says so."""
    passed = m.sizes.passed
    title = (
        f"Packets above {passed or 'some'} bytes vanish on the way {m.direction} without an error (a "
        "path-MTU black "
        f"hole): connections are made, and data never arrives."
    )
    fix = [setting(m.sender, "net.ipv4.tcp_mtu_probing", 1)]
    if passed:
        fix = [Command(m.sender, f"ip link set dev {dev(case, m.sender)} mtu {passed}"), *fix]
    return made(cause, m, title, tuple(fix))


def address(case: Case, end: str) -> str:
    """The address of the other end, as an end's route was asked for."""
    route = case.facts(end).get("route", "found", "to") or case.facts(end).get("route", "to")
    return str(route or "ADDRESS")
