"""Findings on paths that carry nothing: no way, no port, no answer, no large packets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.causes.finding import Command, Proof, finding
from rushhour.causes.telling import sentence
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
    title = sentence(
        cause.key, host=name(case, m.receiver), sender=name(case, m.sender), address=address(case, m.sender)
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
    title = sentence(
        cause.key, sender=name(case, m.sender), host=name(case, m.receiver), port=f"{FIRST_PORT}"
    )
    fix = (Command(m.receiver, "nft list ruleset"), Command(m.receiver, "iptables -nvL"))
    return made(cause, m, title, fix)


def no_answers(case: Case, m: Measured, cause: Held) -> Finding:
    """What is sent arrives, and nothing comes back."""
    back = f"{m.receiver}→{m.sender}"
    title = sentence(cause.key, way=m.direction, back=back)
    return made(cause, m, title, (Command(m.receiver, f"traceroute -n {address(case, m.receiver)}"),))


def stalled(case: Case, m: Measured, cause: Held) -> Finding:
    """A connection was made, and nothing followed."""
    title = sentence(cause.key, way=m.direction, sender=name(case, m.sender))
    return made(cause, m, title, (Command(m.sender, f"traceroute -n -T {address(case, m.sender)}"),))


def black_hole(case: Case, m: Measured, cause: Held) -> Finding:
    """Large packets vanish, and nobody says so."""
    passed = m.sizes.passed
    then = "connections are made, and data never arrives"
    title = sentence(cause.key, size=f"{passed or 'some'}", way=m.direction, then=then)
    fix = [setting(m.sender, "net.ipv4.tcp_mtu_probing", 1)]
    if passed:
        fix = [Command(m.sender, f"ip link set dev {dev(case, m.sender)} mtu {passed}"), *fix]
    return made(cause, m, title, tuple(fix))


def no_way(error: HostError, peers: Mapping[str, str]) -> Finding:
    """The kernels themselves know no way between the ends; `peers` are the addresses of the other, by end."""
    return finding(
        "no-route",
        "critical",
        sentence("no-route", why=error.message),
        "a→b",
        evidence=tuple(Proof(end, "address of the other", peer) for end, peer in peers.items()),
        gain="any transfer at all",
        fix=tuple(Command(end, f"ip route get {peer}") for end, peer in peers.items()),
    )
