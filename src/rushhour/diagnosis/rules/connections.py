"""Findings on connections that programs have between both ends: what their own transfers wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.causes.finding import Command, Proof, finding
from rushhour.causes.table import CAUSES
from rushhour.causes.telling import held, sentence
from rushhour.causes.thresholds import MAIN, UNREAD
from rushhour.diagnosis.case import receiver, sender
from rushhour.diagnosis.rules.measured_words import name
from rushhour.quantities.short import rate, size
from rushhour.quantities.words import plural

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
            yield _found(case, one, "connection-slow-reader", to, one.rwnd)
        elif one.rwnd >= MAIN:
            yield _found(case, one, "connection-receive-buffer", to, one.rwnd)
        elif one.sndbuf >= MAIN:
            yield _found(case, one, "connection-send-buffer", from_, one.sndbuf)
        elif one.idle >= MAIN:
            yield _found(case, one, "connection-slow-writer", from_, one.idle)


def _found(case: Case, one: Connection, key: str, end: End, share: float) -> Finding:
    words = {
        "host": name(case, end),
        "name": one.name,
        "unread": size(one.unread),
        "rate": rate(one.rate_bps),
    }
    title = sentence(key, held=held(share), **words)
    ends = (
        Proof(
            sender(one.where),
            "sent",
            f"{rate(one.rate_bps)} by {one.cc}, {plural(one.retransmits, 'segment')} again",
        ),
        Proof(sender(one.where), "unsent", size(one.unsent)),
        Proof(receiver(one.where), "unread", size(one.unread)),
    )
    port = one.port if end == sender(one.where) else one.peer_port
    look = Command(end, f"ss -tinmp '( sport = :{port} )'")
    return finding(key, CAUSES[key].worst, title, end, evidence=ends, limited=share, fix=(look,))
