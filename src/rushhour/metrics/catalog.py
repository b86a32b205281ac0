"""The catalogue of metrics: every one with unit, better-direction and definition.

Takes a record, gives metric values. To add a metric: write one function beside its kin, add one line here,
and one test with an answer worked out by hand.
"""

from __future__ import annotations

from sys import intern
from typing import TYPE_CHECKING

from rushhour.metrics import (
    backlog,
    changing,
    classes,
    completion,
    convergence,
    datagrams,
    delay,
    fairness,
    giving_up,
    goodput,
    growth,
    integrity,
    limits,
    loss,
    mptcp,
    paths,
    programs,
    queue,
    refusals,
    repair,
    rwnd,
    sockets,
    sojourn,
    stack,
    tcp,
    tcp_stack,
    traffic_class,
    transactions,
    window,
    zerocopy,
)
from rushhour.metrics.value import Metric, MetricValue

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rushhour.record.record import Record

_TOPICS = (
    goodput,
    delay,
    queue,
    backlog,
    sojourn,
    classes,
    loss,
    datagrams,
    refusals,
    integrity,
    traffic_class,
    stack,
    tcp,
    paths,
    window,
    growth,
    repair,
    giving_up,
    sockets,
    tcp_stack,
    zerocopy,
    limits,
    rwnd,
    fairness,
    convergence,
    changing,
    transactions,
    completion,
    programs,
    mptcp,
)

METRICS: Mapping[str, Metric] = {metric.name: metric for topic in _TOPICS for metric in topic.METRICS}


def known(rows: Iterable[object]) -> list[MetricValue] | None:
    """Values from rows of metric, scope, value, unit and note; None where one is not of the catalogue."""
    try:
        found = [_value(*row) for row in rows if isinstance(row, list | tuple)]
        sound = all(one.metric in METRICS and METRICS[one.metric].unit == one.unit for one in found)
    except TypeError:
        return None
    return found if sound else None


def _value(metric: str, scope: str, value: float | None, unit: str, note: str | None = None) -> MetricValue:
    # Few words in very many rows: each is kept once.
    return MetricValue(
        intern(metric), intern(scope), value, intern(unit), None if note is None else intern(note)
    )


def measure(record: Record) -> list[MetricValue]:
    """Every metric of the catalogue, at every scope it has in this record, in the catalogue's order."""
    return [
        MetricValue(metric.name, found.scope, found.value, metric.unit, found.note)
        for metric in METRICS.values()
        for found in metric.function(record)
    ]
