"""Collects what figures need of each run while a report reads it; nothing else of a run is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from pydantic import ValidationError

from rushhour.metrics.completion import DISTRIBUTIONS, transfers
from rushhour.metrics.value import TOTAL, at, is_copy
from rushhour.models.case import cases
from rushhour.models.registry import MODELS, predict
from rushhour.quantities.factors import matches
from rushhour.report.curves import Curve, thinned
from rushhour.report.figure import curves, distribution, matrix, points
from rushhour.report.figure.distribution import Shares, shares
from rushhour.report.model import kernel_name
from rushhour.report.panels import bottlenecks
from rushhour.series.series import RUN, SERIES
from rushhour.spec.figure import Figure
from rushhour.spec.sweep import Sweep
from rushhour.summary import comparison
from rushhour.summary.measured import metrics_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rushhour.metrics.value import MetricValue
    from rushhour.models.case import Prediction
    from rushhour.record.record import Record
    from rushhour.record.result_set import ResultSet
    from rushhour.report.figure.description import Drawing
    from rushhour.spec.published import Published

POINTS = 400_000
"""Samples of all curves of all figures of a report together."""
LEAST, MOST = 240, 2_000
"""Samples of one curve."""
MAX_FLOWS = 64
"""Flows of one run whose curves are looked at; no figure has so many lines."""


@dataclass(frozen=True)
class Taken:
    """What a figure takes of one run at one scope: value, curve or distribution, and the theory beside it.

    `factors` are the cell's as they are written, with `flow`, `end` and `kernel` where they say something.
    """

    run: int
    cell: int
    repetition: int
    scope: str
    factors: Mapping[str, Any]
    value: float | None = None
    curve: Curve | None = None
    shares: Shares | None = None
    predictions: Mapping[str, Prediction] | None = None
    duration_s: float = 0.0
    valid: bool = True


class Collector:
    """Takes what the figures of a scenario need of one run after the other, then makes the figures."""

    def __init__(
        self, figures: Sequence[Figure], sweep: Sweep, published: Sequence[Published] = (), runs: int = 1
    ) -> None:
        self.figures = figures
        self._sweep = sweep
        self._published = published
        self._taken: list[list[Taken]] = [[] for _ in figures]
        self._invalid = [0 for _ in figures]
        self._repeated = [False for _ in figures]
        over_time = sum(figure.over_time for figure in figures)
        self._share = min(MOST, max(LEAST, POINTS // max(1, runs * over_time)))

    @classmethod
    def of(cls, results: ResultSet, wanted: Callable[[Figure], bool] = lambda _: True) -> Collector:
        """The collector of a result set: figures, sweep and published data as its `set.json` has them.

        Only figures that are `wanted` are made.
        """
        resolved = results.about.scenario.resolved
        try:
            figures = [Figure.model_validate(figure) for figure in resolved.figure]
            sweep = Sweep.model_validate(resolved.sweep)
        except ValidationError:  # of another version: the tables are still there to be reported
            return cls((), Sweep())
        figures = [figure for figure in figures if wanted(figure)]
        return cls(figures, sweep, comparison.published(results), len(results))

    def wants(self, factors: Mapping[str, object]) -> bool:
        """Whether a figure is about the cell of these factors."""
        return any(matches(figure.where, factors) for figure in self.figures)

    def take(self, record: Record, metrics: Sequence[MetricValue], run: int) -> None:
        """Take what is needed of a run; `run` is its position in the report."""
        known: dict[tuple[str, int], Curve | None] = {}
        for place, figure in enumerate(self.figures):
            if not matches(figure.where, record.factors):
                continue
            if not record.valid:
                self._invalid[place] += 1
                if figure.kind != "matrix":
                    continue
            if figure.x is None and record.manifest.repetition:
                self._repeated[place] = True
                continue
            if not record.is_whole and (figure.kind == "cdf" or figure.x is None):
                continue  # they are drawn of tables
            if figure.kind == "cdf":
                found = _distributions(record, figure)
            elif figure.x is None:
                found = _curves(record, figure, self._share, known)
            else:
                found = values_of(figure, metrics)
            self._taken[place] += [_taken(record, figure, run, one) for one in found]

    def drawings(self) -> list[Drawing]:
        """The figures for which there was something to draw, in the scenario's order."""
        made = []
        for place, figure in enumerate(self.figures):
            notes = left_out_invalid(self._invalid[place])
            notes += ["Of the repetitions only the first is drawn."] if self._repeated[place] else []
            drawing = _drawing(figure, self._sweep, self._taken[place], self._published, tuple(notes))
            made += [drawing] if drawing is not None else []
        return made


def left_out_invalid(runs: int) -> list[str]:
    """What is said of invalid runs that a figure leaves out."""
    return [f"{runs} invalid {'run is' if runs == 1 else 'runs are'} left out."] if runs else []


def figures_of(results: ResultSet) -> list[Drawing]:
    """The figures of a result set, in a pass of their own over its runs."""
    collector = Collector.of(results)
    if collector.figures:
        for run, record in enumerate(results):
            collector.take(record, metrics_of(record), run)
    return collector.drawings()


def _drawing(
    figure: Figure,
    sweep: Sweep,
    taken: Sequence[Taken],
    published: Sequence[Published],
    notes: tuple[str, ...],
) -> Drawing | None:
    if not taken:
        return None
    if figure.kind == "matrix":
        return matrix.build(figure, sweep, taken, notes)
    if figure.kind == "cdf":
        return distribution.build(figure, sweep, taken, notes)
    if figure.x is None:
        return curves.build(figure, sweep, taken, published, notes)
    return points.build(figure, sweep, taken, published, notes)


class AtScope(NamedTuple):
    """A scope, and the value, the curve or the distribution there."""

    scope: str
    value: float | None = None
    curve: Curve | None = None
    shares: Shares | None = None


def _taken(record: Record, figure: Figure, run: int, found: AtScope) -> Taken:
    kind, _, name = found.scope.partition(":")
    own = {"end" if kind == "end" else "flow": name} if name else {}
    return Taken(
        run,
        record.manifest.cell.index,
        record.manifest.repetition,
        found.scope,
        {**record.factors, **own, "kernel": kernel_name(record.manifest.kernel)},
        found.value,
        found.curve,
        found.shares,
        _predictions(record, figure, kind, name) if figure.model else None,
        record.context.duration_ns / 1e9,
        record.valid,
    )


def _predictions(record: Record, figure: Figure, kind: str, name: str) -> dict[str, Prediction]:
    every = record.once(cases)
    if kind == "flow":
        chosen = [every[name]] if name in every else []
    elif kind == "end":
        narrow = {end.end for end in record.context.ends.values() if end.label == name}
        chosen = [every[flow.name] for flow in record.flows() if flow.bottleneck_end in narrow]
    else:
        chosen = list(every.values())
    return {model: predict(MODELS[model], figure.y, chosen) for model in figure.model if model in MODELS}


def values_of(figure: Figure, metrics: Sequence[MetricValue]) -> Iterator[AtScope]:
    """The values of the metric at the scopes that the figure is about."""
    of_metric = [value for value in metrics if value.metric == figure.quantity]
    named = {name for _, name in figure.factors}
    if figure.flow:
        chosen = [
            v for v in of_metric if _is_flow(figure.flow, v.scope.removeprefix("flow:")) and ":" in v.scope
        ]
    elif figure.scope:
        chosen = at(of_metric, scope=figure.scope)
    elif named & {"flow", "end"}:
        chosen = [v for v in of_metric if v.scope.partition(":")[0] in named]
    else:
        chosen = at(of_metric)
    return (AtScope(value.scope, value.value) for value in chosen)


def _is_flow(wanted: str, name: str) -> bool:
    """Whether a flow is the one wanted, or one of its copies (`mice.3`)."""
    return name == wanted or is_copy(name, wanted)


def _curves(
    record: Record, figure: Figure, share: int, known: dict[tuple[str, int], Curve | None]
) -> Iterator[AtScope]:
    """The series of the flows or ends that the figure is about, or of the run."""
    span = (figure.begin, figure.end)
    for scope, number in _owners(record, figure):
        key = (figure.y, number)
        if key not in known:
            known[key] = _curve(record, figure.y, number)
        curve = known[key]
        part = None if curve is None else _within(curve, span)
        if part is not None and bool(np.any(np.isfinite(part.values))):
            yield AtScope(scope, curve=thinned(part, share))


def _distributions(record: Record, figure: Figure) -> Iterator[AtScope]:
    """The distributions of the groups, flows or ends that the figure is about."""
    if figure.y in DISTRIBUTIONS:
        wanted = figure.flow or figure.scope
        groups = [f"group:{group}" for group in record.once(transfers)]
        for scope, values in DISTRIBUTIONS[figure.y][1](record):
            chosen = scope in groups if wanted is None else wanted in (scope, scope.partition(":")[2])
            found = shares(values, whole=True) if chosen else None
            if found is not None:
                yield AtScope(scope, shares=found)
        return
    begin_s = figure.begin.seconds if figure.begin else record.context.warmup_ns / 1e9
    end_s = figure.end.seconds if figure.end else record.context.duration_ns / 1e9
    for scope, number in _owners(record, figure):
        series = record.series(figure.y, **{SERIES[figure.y].scope: number})
        inside = (series.t_s >= begin_s) & (series.t_s <= end_s)
        found = shares(series.values[inside], whole=False)
        if found is not None:
            yield AtScope(scope, shares=found)


def _owners(record: Record, figure: Figure) -> list[tuple[str, int]]:
    context = record.context
    wanted = figure.flow or figure.scope
    if SERIES[figure.y].scope == RUN:
        return [(TOTAL, 0)]
    if SERIES[figure.y].scope == "end":
        ends = [end for end in context.ends.values() if wanted in (end.label, f"end:{end.label}")]
        return [(f"end:{end.label}", end.end) for end in (ends if wanted else bottlenecks(record))]
    flows = [f for f in record.flows() if wanted is None or _is_flow(wanted.removeprefix("flow:"), f.name)]
    return [(f"flow:{flow.name}", flow.id) for flow in flows[:MAX_FLOWS]]


def _curve(record: Record, name: str, number: int) -> Curve | None:
    scope = SERIES[name].scope
    series = record.series(name, **({} if scope == RUN else {scope: number}))
    if not len(series) or bool(np.all(np.isnan(series.values))):
        return None
    t_s, values = series.t_s, series.values
    if np.any(np.diff(t_s) < 0):
        order = np.argsort(t_s, kind="stable")
        t_s, values = t_s[order], values[order]
    return Curve(series.label, None, t_s, values, SERIES[name].shape)


def _within(curve: Curve, span: tuple[Any, Any]) -> Curve:
    """The part of a curve between two instants; a value that is held begins with the one before."""
    begin, end = span
    if begin is None and end is None:
        return curve
    low = 0 if begin is None else int(np.searchsorted(curve.t_s, begin.ns / 1e9))
    high = len(curve.t_s) if end is None else int(np.searchsorted(curve.t_s, end.ns / 1e9, side="right"))
    low = max(0, low - 1) if curve.shape == "hold" else low
    return Curve(curve.label, None, curve.t_s[low:high], curve.values[low:high], curve.shape)
