"""Tables of a report: which metrics tell most, one scale for a column, one row for a cell (or for a flow)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rushhour.report.words import Scale, scale_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushhour.metrics.value import MetricValue
    from rushhour.report.model import RunView

TELLING: tuple[tuple[str, str], ...] = (
    ("goodput_bps", "goodput"),
    ("goodput_steady_bps", "goodput after warm-up"),
    ("utilization", "utilization"),
    ("jain_index", "Jain index"),
    ("rtt_p50_us", "RTT median"),
    ("rtt_p95_us", "RTT p95"),
    ("ping_rtt_p50_us", "echo RTT median"),
    ("queue_delay_p50_us", "queue delay median"),
    ("queue_delay_p95_us", "queue delay p95"),
    ("one_way_delay_p50_us", "one-way delay median"),
    ("one_way_delay_p95_us", "one-way delay p95"),
    ("loss", "loss"),
    ("drops", "drops"),
    ("retransmits", "retransmits"),
    ("retransmit_fraction", "retransmitted"),
    ("convergence_time_s", "convergence"),
    ("transactions_per_second", "transactions/s"),
    ("transaction_p50_us", "transaction median"),
    ("transaction_p95_us", "transaction p95"),
    ("flow_completion_time_s", "completion"),
)
"""Metrics in the order in which they are worth a column, with short titles."""


@dataclass(frozen=True)
class Column:
    """One metric: its name in the catalogue, a short title, its unit, the scale of all its values."""

    metric: str
    title: str
    unit: str
    scale: Scale


@dataclass(frozen=True)
class Row:
    """One line: what it is about, and a value (None: undefined) for each column.

    `spread` holds least and greatest over repetitions, where there are several; `run` is the position of the
    (first) run.
    """

    head: tuple[str, ...]
    values: list[float | None]
    run: int = 0
    valid: bool = True
    count: int = 1
    spread: list[tuple[float, float] | None] = field(default_factory=list)


@dataclass(frozen=True)
class Table:
    """Heads of the first columns, the metric columns, the rows."""

    heads: tuple[str, ...]
    columns: list[Column]
    rows: list[Row]


def cells_table(runs: Sequence[RunView]) -> Table:
    """Cells by the most telling metrics over the whole run, repetitions joined: mean, least and greatest."""
    heads = tuple(key for key in (runs[0].factors if runs else {}) if key != "repetition")
    groups: dict[tuple[str, ...], list[int]] = {}
    for position, run in enumerate(runs):
        groups.setdefault(tuple(run.factors.get(key, "") for key in heads), []).append(position)
    totals = [_worst_of_scopes(run.metrics) for run in runs]
    columns = _columns([metric for total in totals for metric in total.values()])
    rows = []
    for head, members in groups.items():
        trusted = [member for member in members if runs[member].valid]
        found = [
            _joined([totals[member].get(column.metric) for member in trusted or members])
            for column in columns
        ]
        rows.append(
            Row(head, [mean for mean, _ in found], members[0], len(trusted) == len(members), len(members),
                [spread for _, spread in found])
        )  # fmt: skip
    return Table(heads, columns, rows)


def flows_table(run: RunView) -> Table:
    """Flows by the most telling metrics that flows have."""
    scopes = [(flow, f"flow:{flow.name}") for flow in run.flows]
    by_scope: dict[str, dict[str, MetricValue]] = {}
    for value in run.metrics:
        by_scope.setdefault(value.scope, {})[value.metric] = value
    columns = _columns([value for _, scope in scopes for value in by_scope.get(scope, {}).values()])
    rows = []
    for flow, scope in scopes:
        values = by_scope.get(scope, {})
        head = (flow.name, flow.cc or flow.kind, flow.path, flow.when)
        rows.append(Row(head, [_value(values.get(column.metric)) for column in columns], valid=run.valid))
    return Table(("flow", "", "path", "active"), columns, rows)


def _worst_of_scopes(metrics: Sequence[MetricValue]) -> dict[str, MetricValue]:
    # A metric at scope `total`; where it has none but one of another scope, that one.
    total = {value.metric: value for value in metrics if value.scope == "total"}
    others: dict[str, list[MetricValue]] = {}
    for value in metrics:
        if value.metric not in total:
            others.setdefault(value.metric, []).append(value)
    single = {metric: values[0] for metric, values in others.items() if len(values) == 1}
    return {**single, **total}


def _columns(values: Sequence[MetricValue]) -> list[Column]:
    known: dict[str, list[MetricValue]] = {}
    for value in values:
        if value.value is not None:
            known.setdefault(value.metric, []).append(value)
    return [
        Column(
            metric,
            title,
            known[metric][0].unit,
            scale_for([value.value for value in known[metric]], known[metric][0].unit),
        )
        for metric, title in TELLING
        if metric in known
    ]


def _value(value: MetricValue | None) -> float | None:
    return None if value is None else value.value


def _joined(values: Sequence[MetricValue | None]) -> tuple[float | None, tuple[float, float] | None]:
    known = [value.value for value in values if value is not None and value.value is not None]
    if not known:
        return None, None
    spread = (min(known), max(known)) if len(known) > 1 else None
    return sum(known) / len(known), spread
