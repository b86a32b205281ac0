"""Requests and responses, and flows with an end: how many, how fast."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rushhour.metrics.value import TOTAL, Found, Metric, Telling, distribution, of_flow
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.metrics.value import Distribution
    from rushhour.record.record import Record


def _per_second(record: Record) -> Iterator[Found]:
    total, seconds = 0, 0.0
    for flow in record.flows(*kinds.CALLS) if record.has("transaction") else ():
        done = record.table("transaction", flow=flow.id)["end_ns"]
        span = flow.active_ns
        begin = max(record.context.warmup_ns, flow.start_ns if span is None else span[0])
        stop = record.context.duration_ns if span is None else min(span[1], record.context.duration_ns)
        if stop <= begin:
            yield Found(of_flow(flow), None, "the flow was not active after the warm-up")
            continue
        count = int(np.count_nonzero((done > begin) & (done <= stop)))
        total, seconds = total + count, max(seconds, (stop - begin) / 1e9)
        yield Found(of_flow(flow), count * 1e9 / (stop - begin))
    if seconds:
        yield Found(TOTAL, total / seconds)


def _latency(record: Record) -> Iterator[Distribution]:
    for flow in record.flows(*kinds.CALLS) if record.has("transaction") else ():
        series = record.series("transaction_us", flow=flow.id)
        yield of_flow(flow), series.values[series.t_s >= record.context.warmup_ns * 1e-9]


def _completion(record: Record) -> Iterator[Found]:
    for flow in record.flows(*kinds.TCP_STREAMS):
        if flow.bytes is None:
            continue
        done, received = flow.outcome.receiver_done_ns, flow.outcome.bytes_received
        if done is None or received is None or received < flow.bytes:
            yield Found(of_flow(flow), None, f"{received or 0} of {flow.bytes} bytes had arrived at the end")
        else:
            yield Found(of_flow(flow), (done - flow.start_ns) / 1e9)


METRICS = [
    Metric(
        "transactions_per_second",
        "1/s",
        "higher",
        ("flow", "total"),
        "Transactions (request and response; crr: with the connection's set-up) completed after the "
        "warm-up over the time the flow was active. Total: all of them over the longest such time.",
        _per_second,
        telling=Telling("transactions", 270),
    ),
    *distribution(
        "transaction",
        ("flow",),
        "the time from sending a request (crr: from connecting) to having the whole response, of "
        "transactions completed after the warm-up.",
        _latency,
        title="transaction time",
        telling={"p50": Telling("transaction median", 280), "p95": Telling("transaction p95", 290)},
    ),
    Metric(
        "flow_completion_time_s",
        "s",
        "lower",
        ("flow",),
        "Time from the start of a TCP flow of given size, its handshake included, to the last byte at the "
        "receiver. Undefined if it did not complete.",
        _completion,
        telling=Telling("completion", 300),
    ),
]
