"""Sends of datagrams that the kernel refused: what it learnt of an earlier one, it tells at the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.metrics.value import Found, Metric, of_flow
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.record.record import Record


def _refused(record: Record) -> Iterator[Found]:
    for flow in record.flows(*kinds.UDP_STREAMS):
        outcome = flow.outcome
        if outcome.sends_refused is not None:
            yield Found(of_flow(flow), float(outcome.sends_refused))
        elif record.plan.flow(flow.id).leave_ns is not None and outcome.packets_sent is not None:
            yield Found(of_flow(flow), 0.0)


METRICS = [
    Metric(
        "refused_sends",
        "events",
        "none",
        ("flow",),
        "Sends of datagrams that failed: an earlier one met a port that nobody reads (ECONNREFUSED, RFC 1122 "
        "section 4.1.3.3), or there was no route (EHOSTUNREACH, ENETUNREACH). A datagram whose send fails "
        "does not leave.",
        _refused,
    ),
]
