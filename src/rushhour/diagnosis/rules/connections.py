"""Findings on connections that programs have between both ends: what their own transfers wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.causes.finding import Command, Proof, finding
from rushhour.causes.table import CAUSES
from rushhour.causes.thresholds import MAIN, UNREAD
from rushhour.diagnosis.case import receiver, sender
from rushhour.diagnosis.rules.measured_words import name
from rushhour.quantities.short import percent, rate, size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.causes.finding import Finding
    from rushhour.diagnosis.case import Case, End
    from rushhour.diagnosis.connections import Connection

MOST = 5
"""Connections that are told of."""


def connections(case: Case) -> Iterator[Finding]:
    """What each connection over which data went waited for, before anything was measured."""
    for one in case.connections[:MOST]:
        from_, to = sender(one.where), receiver(one.where)
        if one.rwnd >= MAIN and one.unread >= UNREAD:
            title = (
                f"The program on {name(case, to)} that reads {one.name} is too slow: {size(one.unread)} lay "
                f"unread, and for {percent(one.rwnd)} of the time the sender waited for it."
            )
            yield _found(one, "connection-slow-reader", title, to, one.rwnd)
        elif one.rwnd >= MAIN:
            title = (
                f"The receive buffer of a connection on {name(case, to)} ({one.name}) is full for "
                f"{percent(one.rwnd)} of the time: its program sets SO_RCVBUF, or tcp_rmem bounds it."
            )
            yield _found(one, "connection-receive-buffer", title, to, one.rwnd)
        elif one.sndbuf >= MAIN:
            title = (
                f"The send buffer of a connection on {name(case, from_)} ({one.name}) is full for "
                f"{percent(one.sndbuf)} of the time: its program sets SO_SNDBUF, or tcp_wmem bounds it."
            )
            yield _found(one, "connection-send-buffer", title, from_, one.sndbuf)
        elif one.idle >= MAIN:
            title = (
                f"The program on {name(case, from_)} that writes {one.name} gives {rate(one.rate_bps)}: for "
                f"{percent(one.idle)} of the time the network waited for it."
            )
            yield _found(one, "connection-slow-writer", title, from_, one.idle)


def _found(one: Connection, key: str, title: str, end: End, share: float) -> Finding:
    ends = (
        Proof(
            sender(one.where), "sent", f"{rate(one.rate_bps)} by {one.cc}, {one.retransmits} segments again"
        ),
        Proof(sender(one.where), "unsent", size(one.unsent)),
        Proof(receiver(one.where), "unread", size(one.unread)),
    )
    port = one.port if end == sender(one.where) else one.peer_port
    look = Command(end, f"ss -tinmp '( sport = :{port} )'")
    return finding(key, CAUSES[key].worst, title, end, evidence=ends, limited=share, fix=(look,))
