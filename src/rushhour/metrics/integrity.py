"""Whether what arrives is what was sent, of flows that compare it byte by byte (`verify`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.metrics.value import TOTAL, Found, Metric, of_flow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.record.context import Flow
    from rushhour.record.record import Record

CORRUPTED = "corrupted_bytes"


def corrupted(record: Record) -> Iterator[tuple[Flow, int]]:
    """Flows that were verified, and how many of their bytes arrived wrong."""
    for flow in record.flows():
        if flow.outcome.corrupted_bytes is not None:
            yield flow, flow.outcome.corrupted_bytes


def _corrupted(record: Record) -> Iterator[Found]:
    flows = [*corrupted(record)]
    for flow, count in flows:
        yield Found(of_flow(flow), float(count))
    if flows:
        yield Found(TOTAL, float(sum(count for _, count in flows)))


METRICS = [
    Metric(
        CORRUPTED,
        "B",
        "lower",
        ("flow", "total"),
        "Payload bytes that reached the receiving application and are not those that were sent at their "
        "place in the stream, or in their datagram (flows with `verify`). Anything above 0 is a fault: a "
        "network may lose, repeat and reorder, but TCP and UDP hand over nothing that was not sent (RFC 9293 "
        "section 3.8, RFC 768). Every comparison judges it, whatever the scenario asks.",
        _corrupted,
        minimum="1B",
    ),
]
