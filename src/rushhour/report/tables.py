"""Tables of a report: which metrics tell most, one scale for a column, one row for a cell (or for a flow)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import TYPE_CHECKING

from rushhour.metrics.catalog import METRICS
from rushhour.metrics.value import Telling
from rushhour.quantities.words import Scale, quantity, scale_for
from rushhour.report.shares import METRIC as SHARE
from rushhour.report.shares import PERCENT, share, sharers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rushhour.metrics.value import MetricValue
    from rushhour.report.model import RunView

_SHARE = Telling("share", 25)
_EVERY = {SHARE: _SHARE} | {name: metric.telling for name, metric in METRICS.items() if metric.telling}
TELLING = dict(sorted(_EVERY.items(), key=lambda item: item[1].place))
"""Metrics in the order in which they are worth a column."""

_SCOPES = ("program", "flow", "group", "end", "total")
"""Whose values stand for a whole run, the last first."""

MAX_SHARES = 8
"""Sharers that are drawn over a sweep."""


@dataclass(frozen=True)
class Column:
    """One metric: its name in the catalogue, a short title, its unit, the scale of all its values.

    `of` names the sharer that it is about, where the table has a column for each of several.
    """

    metric: str
    title: str
    unit: str
    scale: Scale
    of: str = ""

    def said(self, value: float | None) -> str:
        """A single value of this column, with its unit."""
        return PERCENT.with_unit(value) if self.metric == SHARE else quantity(value, self.unit)


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


def cells_table(runs: Sequence[RunView], *, split: bool = False) -> Table:
    """Cells by the most telling metrics over the whole run, repetitions joined: mean, least and greatest.

    With `split`, the shares of the goodput stand beside it, a column for each of a few flows.
    """
    heads, groups = _cells(runs)
    wholes = [whole(run.metrics) for run in runs]
    columns = columns_of(runs, wholes)
    sharing = {one.name: one for one in sharers(runs)} if split else {}
    shares = [Column(SHARE, f"{name} share", "1", PERCENT, of=name) for name in sharing]
    place = sum(column.metric.startswith("goodput_") for column in columns)
    columns[place:place] = shares

    def number(member: int, column: Column) -> float | None:
        if column.of:
            return share(runs[member], sharing[column.of])
        return _value(wholes[member].get(column.metric))

    rows = []
    for head, members in groups.items():
        trusted = [member for member in members if runs[member].valid]
        found = [_joined([number(member, column) for member in trusted or members]) for column in columns]
        means, spreads = [mean for mean, _ in found], [spread for _, spread in found]
        rows.append(Row(head, means, members[0], len(trusted) == len(members), len(members), spreads))
    return Table(heads, columns, rows)


def columns_of(runs: Sequence[RunView], wholes: Sequence[Mapping[str, MetricValue]]) -> list[Column]:
    """The columns of `cells_table` but for the shares; `wholes` has what `whole` gives of each run."""
    warmup = any(run.warmup_s for run in runs)
    return _columns([metric for whole in wholes for metric in whole.values()], warmup=warmup)


def _cells(runs: Sequence[RunView]) -> tuple[tuple[str, ...], dict[tuple[str, ...], list[int]]]:
    """The factors, and the positions of the runs of each cell by its levels of them."""
    heads = tuple(key for key in (runs[0].factors if runs else {}) if key != "repetition")
    groups: dict[tuple[str, ...], list[int]] = {}
    for position, run in enumerate(runs):
        groups.setdefault(tuple(run.factors.get(key, "") for key in heads), []).append(position)
    return heads, groups


def flows_table(run: RunView) -> Table:
    """Flows by the most telling metrics that flows have."""
    by_scope: dict[str, dict[str, MetricValue]] = {}
    for value in run.metrics:
        by_scope.setdefault(value.scope, {})[value.metric] = value
    lines = [(flow, by_scope.get(flow.scope, {})) for flow in run.flows]
    # A flow's queue delay is its RTT without the base RTT: no column of its own.
    telling = (value for _, values in lines for value in values.values())
    columns = _columns(
        [value for value in telling if not value.metric.startswith("queue_delay")], warmup=run.warmup_s > 0
    )
    rows = [
        Row(
            (flow.name, flow.cc or flow.kind, flow.path, flow.active),
            [_value(values.get(column.metric)) for column in columns],
            valid=run.valid,
        )
        for flow, values in lines
    ]
    return Table(("flow", "kind", "path", "active"), columns, rows)


def whole(metrics: Sequence[MetricValue]) -> dict[str, MetricValue]:
    """One value of each metric for the whole run: the total; else the only queue's, group's or flow's.

    Where there are several, the run as a whole has no such number; the flows' table and the list of every
    number have them.
    """
    found: dict[str, dict[str, list[MetricValue]]] = {scope: {} for scope in _SCOPES}
    for value in metrics:
        scope = value.scope.partition(":")[0]
        part = scope == "group" and ", " in value.scope  # a size class of a group
        # Of a server and its client only one has an end of its own.
        endless = scope == "program" and value.value is None
        if scope in found and not part and not endless:
            found[scope].setdefault(value.metric, []).append(value)
    return {
        metric: values[0] for scope in _SCOPES for metric, values in found[scope].items() if len(values) == 1
    }


def _columns(values: Sequence[MetricValue], *, warmup: bool) -> list[Column]:
    # Without a warm-up the steady goodput is the goodput; with one it is the one to compare.
    unwanted = "goodput_bps" if warmup else "goodput_steady_bps"
    known: dict[str, list[MetricValue]] = {}
    for value in values:
        if value.value is not None and value.metric != unwanted:
            known.setdefault(value.metric, []).append(value)
    columns = []
    for metric, telling in TELLING.items():
        numbers = [value.value for value in known.get(metric, [])]
        if not numbers or (telling.if_any and not any(numbers)):
            continue
        unit = known[metric][0].unit
        scale = scale_of(metric, unit, numbers)
        columns.append(Column(metric, telling.title, "events" if telling.counts else unit, scale))
    return columns


def scale_of(metric: str, unit: str, values: Iterable[float | None]) -> Scale:
    """The scale of a metric's values wherever they are shown: a share in per cent, events as numbers."""
    if metric == SHARE:
        # Two decimals for all of a column rather than for those of its values that need them.
        longer = any(len(PERCENT.text(value).partition(".")[2]) > PERCENT.decimals for value in values)
        return replace(PERCENT, decimals=PERCENT.decimals + 1) if longer else PERCENT
    told = TELLING.get(metric)
    return scale_for(values, "events" if told and told.counts else unit)


def _value(value: MetricValue | None) -> float | None:
    return None if value is None else value.value


def _joined(values: Sequence[float | None]) -> tuple[float | None, tuple[float, float] | None]:
    known = [value for value in values if value is not None]
    if not known:
        return None, None
    spread = (min(known), max(known)) if len(known) > 1 else None
    return fmean(known), spread
