"""Published and measured, side by side.

Takes a result set and the published data of its scenario, gives for each published number what was measured
of the same cells, the difference, and whether that is still agreement. Nothing is fitted.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from rushhour.errors import RecordError
from rushhour.metrics.catalog import METRICS
from rushhour.metrics.value import MetricValue, at
from rushhour.quantities.factors import matches
from rushhour.quantities.measures import convert
from rushhour.quantities.words import plural
from rushhour.record.record import Record
from rushhour.series.part import between
from rushhour.spec import Published
from rushhour.spec.published import SEED
from rushhour.spec.sweep import LABEL
from rushhour.summary import index
from rushhour.summary.summary import Statistics, statistics

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from rushhour.record.result_set import ResultSet
    from rushhour.spec.published import Kind, Value

UNITS: Mapping[str, str] = {metric.name: metric.unit for metric in METRICS.values()}
"""The units of all metrics: what published data are checked against."""


@dataclass(frozen=True)
class Compared:
    """One published number and what was measured of its cells, all in the table's unit.

    `measured` describes the valid runs of one cell; its mean is what `difference` is taken of. `relative` is
    None where zero was published. `agrees` is None where nothing was measured; `note` says why.
    Of a bound (`kind`) `agrees` says whether it is kept.
    """

    where: Mapping[str, Any]
    published: float
    kind: Kind
    spread: float | None
    measured: Statistics
    difference: float | None
    relative: float | None
    agrees: bool | None
    note: str


@dataclass(frozen=True)
class Comparison:
    """A published table beside the runs on one kernel."""

    table: Published
    kernel: str
    rows: Sequence[Compared]

    @property
    def agreeing(self) -> int:
        """Numbers that agree."""
        return sum(row.agrees is True for row in self.rows)

    @property
    def measured(self) -> int:
        """Numbers of which something was measured."""
        return sum(row.agrees is not None for row in self.rows)


@dataclass(frozen=True)
class _Run:
    """One run of the set, by what the index of the set says of it."""

    folder: str
    kernel: str
    valid: bool
    factors: Mapping[str, object]


def published(results: ResultSet) -> list[Published]:
    """The published data that `set.json` keeps; empty where there are none, or the runs were a quick look.

    Raises:
        RecordError: they are damaged.
    """
    about = results.about
    if about.quick:
        return []
    try:
        return [Published.model_validate(table) for table in about.published]
    except ValidationError as error:
        raise RecordError(
            f"the published data of the set make no sense: {plural(error.error_count(), 'fault')}",
            where=str(results.path / "set.json"),
            hint="run the scenario again; known runs come from the cache",
        ) from error


def compare(results: ResultSet) -> list[Comparison]:
    """Hold the published data of a set against its runs, table by table, kernel by kernel."""
    tables = published(results)
    if not tables:
        return []
    runs = [_run(record) for record in results]
    values = _Values(results)
    made = []
    for table in tables:
        for kernel in dict.fromkeys(run.kernel for run in runs):
            mine = [run for run in runs if run.kernel == kernel]
            rows = [row for value in table.values for row in _rows_of(table, value, mine, values)]
            made.append(Comparison(table, kernel, rows))
    return made


class _Values:
    """Metric values of runs at the scopes that a table asks for; each run is measured once for each part."""

    def __init__(self, results: ResultSet) -> None:
        self._results = results
        self._known: dict[str, dict[str, list[MetricValue]]] = {}

    @cached_property
    def _paths(self) -> dict[str, Path]:
        return {path.name: path for path in self._results.folders()}

    def of(self, table: Published, run: _Run) -> tuple[float | None, str]:
        """The value of a run in the table's unit, or why there is none."""
        if table.begin is None and table.to is None:
            found = self._whole(table.metric).get(run.folder, [])
        elif not self._record(run.folder).is_whole:
            return None, "the tables of this run were not kept (--keep metrics)"
        else:
            found = self._part(table, run.folder)
        chosen = at(found, table.flow, table.scope)
        if len({value.scope for value in chosen}) > 1 and table.flow is None:
            return None, f"{table.metric} has several scopes here, and the table names none"
        known = [value.value for value in chosen if value.value is not None]
        if not known:
            notes = [value.note for value in chosen if value.note]
            return None, notes[0] if notes else f"{table.metric} was not measured here"
        # Copies of one flow are one thing to the document: their mean.
        return convert(fmean(known), UNITS.get(table.metric, table.unit), table.unit), ""

    def _whole(self, metric: str) -> Mapping[str, list[MetricValue]]:
        if metric not in self._known:
            every = self._results.once(index.values)
            self._known[metric] = {
                folder: [value for value in values if value.metric == metric]
                for folder, values in every.items()
            }
        return self._known[metric]

    def _record(self, folder: str) -> Record:
        return Record.open(self._paths[folder])

    def _part(self, table: Published, folder: str) -> list[MetricValue]:
        metric = METRICS.get(table.metric)
        if metric is None:
            return []
        part = between(
            self._record(folder),
            None if table.begin is None else table.begin.ns,
            None if table.to is None else table.to.ns,
        )
        return [
            MetricValue(metric.name, found.scope, found.value, metric.unit, found.note)
            for found in metric.function(part)
        ]


def _rows_of(table: Published, value: Value, runs: Iterable[_Run], values: _Values) -> Iterator[Compared]:
    """The number held against its cell; against each cell that the document does not tell apart."""
    cells: dict[tuple[object, ...], list[_Run]] = {}
    for run in runs:
        if matches(value.where, run.factors):
            cells.setdefault(tuple(run.factors.get(key) for key in table.over), []).append(run)
    for levels, mine in cells.items() or [((), [])]:
        where = dict(value.where) | dict(zip(table.over, levels, strict=False))
        yield _compared(table, value, where, mine, values)


def _compared(
    table: Published, value: Value, where: Mapping[str, object], mine: Sequence[_Run], values: _Values
) -> Compared:
    kind = table.kind_of(value)
    found, notes = [], Counter[str]()
    mixed = _mixed(mine)
    for run in [] if mixed else mine:
        number, note = values.of(table, run) if run.valid else (None, "the run is invalid")
        found.append(number)
        notes.update([note] if note else [])
    measured = statistics(found)
    note = notes.most_common(1)[0][0] if notes else "" if mine else "no such cell was run"
    note = f"the cells differ in {mixed}, which the number does not name" if mixed else note
    if measured.mean is None:
        return Compared(where, value.value, kind, value.spread, measured, None, None, None, note)
    difference = measured.mean - value.value
    relative = difference / abs(value.value) if value.value else None
    agrees = _agrees(table, value, difference)
    return Compared(where, value.value, kind, value.spread, measured, difference, relative, agrees, note)


def _agrees(table: Published, value: Value, difference: float) -> bool:
    """Whether a point is met within its tolerance, or a bound is kept."""
    kind = table.kind_of(value)
    if kind in ("below", "above"):
        return difference < 0 if kind == "below" else difference > 0
    allowed = max(table.agrees.around(value.value, table.unit), value.spread or 0.0)
    # A sum of decimal fractions may miss its own limit by the last bit.
    return abs(difference) <= allowed * (1 + 1e-9)


def _mixed(runs: Sequence[_Run]) -> str:
    """The first factor in which runs differ that should be repetitions of one cell; "" where none does."""
    keys = dict.fromkeys(key for run in runs for key in run.factors if key != SEED)
    differing = [key for key in keys if len({str(run.factors.get(key)) for run in runs}) > 1]
    labels = [key for key in differing if key.startswith(LABEL)]
    return next(iter((*labels, *differing)), "")


def _run(record: Record) -> _Run:
    return _Run(record.path.name, record.manifest.kernel.name, record.valid, record.factors)


def document(comparisons: Iterable[Comparison]) -> list[dict[str, Any]]:
    """The comparisons as JSON values."""
    return [
        {
            "source": one.table.source,
            "title": one.table.title,
            "metric": one.table.metric,
            "unit": one.table.unit,
            "how": one.table.how,
            "kernel": one.kernel,
            "agrees": str(one.table.agrees),
            "agreeing": one.agreeing,
            "measured": one.measured,
            "cause": one.table.cause,
            "tried": list(one.table.tried),
            "guess": one.table.guess,
            "values": list(_rows(one)),
        }
        for one in comparisons
    ]


def _rows(comparison: Comparison) -> Iterator[dict[str, object]]:
    for row in comparison.rows:
        yield {
            "where": dict(row.where),
            "published": row.published,
            "kind": row.kind,
            "spread": row.spread,
            "measured": row.measured.mean,
            "runs": row.measured.n,
            "low": row.measured.min,
            "high": row.measured.max,
            "difference": row.difference,
            "relative": row.relative,
            "agrees": row.agrees,
            "note": row.note,
        }
