"""Whether what arrives is what was sent, of flows that compare it byte by byte (`verify`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.metrics.value import TOTAL, Found, Metric, Telling, of_flow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.record.record import Record

CORRUPTED = "corrupted_bytes"


def _corrupted(record: Record) -> Iterator[Found]:
    known = ((flow, flow.outcome.corrupted_bytes) for flow in record.flows())
    found = {of_flow(flow): float(count) for flow, count in known if count is not None}
    yield from (Found(scope, count) for scope, count in found.items())
    if found:
        yield Found(TOTAL, sum(found.values()))


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
        title="Bytes that nobody sent",
        telling=Telling("corrupted", 30),
    ),
]
