"""Findings on paths that carry nothing: no way, no port, no answer, no large packets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.causes.finding import Command, Proof, finding
from rushhour.diagnosis.rules.measured_words import address, dev, made, name, setting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.causes.finding import Finding
    from rushhour.causes.held import Held
    from rushhour.diagnosis.case import Case
    from rushhour.diagnosis.measured import Measured
    from rushhour.errors import HostError

FIRST_PORT = 5001


def unreachable(case: Case, m: Measured, cause: Held) -> Finding:
    """Nothing gets through at all."""
    title = (
        f"{name(case, m.receiver)} cannot be reached from {name(case, m.sender)}: what is sent to its data "
        f"address {address(case, m.sender)} is dropped."
    )
    to = address(case, m.sender)
    fix = (
        Command(m.sender, f"ip route get {to}"),
        Command(m.sender, f"traceroute -n {to}"),
        Command(m.receiver, "nft list ruleset"),
    )
    return made(cause, m, title, fix)


def port_blocked(case: Case, m: Measured, cause: Held) -> Finding:
    """Echoes pass, connections do not."""
    title = (
        f"TCP from {name(case, m.sender)} to {name(case, m.receiver)} is blocked (ports {FIRST_PORT} and "
        "above), while echo requests are answered: a firewall."
    )
    fix = (Command(m.receiver, "nft list ruleset"), Command(m.receiver, "iptables -nvL"))
    return made(cause, m, title, fix)


def no_answers(case: Case, m: Measured, cause: Held) -> Finding:
    """What is sent arrives, and nothing comes back."""
    back = f"{m.receiver}→{m.sender}"
    title = f"Packets {m.direction} arrive, but nothing comes back: packets {back} are dropped on the way."
    return made(cause, m, title, (Command(m.receiver, f"traceroute -n {address(case, m.receiver)}"),))


def stalled(case: Case, m: Measured, cause: Held) -> Finding:
    """A connection was made, and nothing followed."""
    title = (
        f"Connections {m.direction} are made and then nothing arrives: data from {name(case, m.sender)} "
        "is dropped."
    )
    return made(cause, m, title, (Command(m.sender, f"traceroute -n -T {address(case, m.sender)}"),))


def black_hole(case: Case, m: Measured, cause: Held) -> Finding:
    """Large packets vanish, and nobody says so."""
    passed = m.sizes.passed
    title = (
        f"Packets above {passed or 'some'} bytes vanish on the way {m.direction} without an error (a "
        "path-MTU black hole): connections are made, and data never arrives."
    )
    fix = [setting(m.sender, "net.ipv4.tcp_mtu_probing", 1)]
    if passed:
        fix = [Command(m.sender, f"ip link set dev {dev(case, m.sender)} mtu {passed}"), *fix]
    return made(cause, m, title, tuple(fix))


def no_way(error: HostError, peers: Mapping[str, str]) -> Finding:
    """The kernels themselves know no way between the ends; `peers` are the addresses of the other, by end."""
    return finding(
        "no-route",
        "critical",
        f"No packet can go from one end to the other and back: {error.message}.",
        "a→b",
        evidence=tuple(Proof(end, "address of the other", peer) for end, peer in peers.items()),
        gain="any transfer at all",
        fix=tuple(Command(end, f"ip route get {peer}") for end, peer in peers.items()),
    )
