"""The rules: pure functions from a case to what is wrong in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from rushhour.diagnosis.rules import (
    connections,
    device,
    host,
    link,
    measured_limits,
    measured_path,
    packet_filter,
    queue,
    route,
    sizes,
    socket,
    system,
    tcp,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rushhour.causes.finding import Finding
    from rushhour.diagnosis.case import Case

    Rule: TypeAlias = Callable[[Case], Iterable[Finding]]

RULES: tuple[Rule, ...] = (
    connections.connections,
    measured_limits.limits,
    measured_path.bufferbloat,
    measured_path.asymmetry,
    measured_path.half_duplex,
    measured_path.large_packets,
    measured_path.echo_loss,
    measured_path.jitter,
    measured_path.other_loss,
    measured_path.echo_blocked,
    *socket.RULES,
    *tcp.RULES,
    *sizes.RULES,
    *queue.RULES,
    *packet_filter.RULES,
    *link.RULES,
    *device.RULES,
    *route.RULES,
    *system.RULES,
    *host.RULES,
)
"""Every rule, in the order in which equals among their findings are told."""


def judge(case: Case) -> list[Finding]:
    """What all rules find, in the order of the rules."""
    return [finding for rule in RULES for finding in rule(case)]
