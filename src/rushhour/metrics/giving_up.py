"""When a connection ended by an error that nobody had asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.metrics.value import NO_EVENT, Found, Metric, Telling, of_flow
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.record.record import Record

_TABLE = "inet_sk_error_report"


def _gave_up(record: Record) -> Iterator[Found]:
    flows = record.flows(*kinds.ONE_CONNECTION)
    if _untold(record):
        yield from (Found(of_flow(flow), None, NO_EVENT) for flow in flows)
    # The table is only there when something was told.
    for flow in flows if record.has(_TABLE) else ():
        told = record.table(_TABLE, flow=flow.id)["t_ns"]
        told = told[told < record.context.end_ns]
        if len(told):
            yield Found(of_flow(flow), (int(told.min()) - flow.start_ns) / 1e6)


def _untold(record: Record) -> bool:
    """Whether the agent looked for the event in vain: 5.10 has none, 6.1 has it."""
    return any(f"no event sock:{_TABLE}" in warning for warning in record.result.warnings)


METRICS = [
    Metric(
        "gave_up_ms",
        "ms",
        "none",
        ("flow",),
        "When a sender's kernel gave its connection up and told the application by an error (sk_err: "
        "ETIMEDOUT, EHOSTUNREACH, ECONNREFUSED, ECONNRESET …), from the flow's start. A connection that is "
        "kept, or closed as asked, has none; nor has one whose application has left, for nobody is told.",
        _gave_up,
        telling=Telling("gave up", 45),
    ),
]
