"""Checks of figures: that they draw something there is, over factors there are, beside theory that fits."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from rushhour.spec.check.problem import Problem
from rushhour.spec.check.where import check_where
from rushhour.spec.figure import END, FLOW, OWN
from rushhour.spec.graph import subflow_names
from rushhour.spec.keys import nearest
from rushhour.spec.levels import worth

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from rushhour.spec.figure import Figure
    from rushhour.spec.scenario import Scenario
    from rushhour.spec.vocabulary import Vocabulary


_RUN = "run"  # the scope of a series that belongs to no flow or queue


def check_figures(scenario: Scenario, words: Vocabulary | None) -> Iterator[Problem]:
    """Check every figure against the sweep, the flows, and what can be measured and predicted."""
    values = scenario.sweep.values
    for index, figure in enumerate(scenario.figure):
        here = ("figure", index)
        found = [
            *_check_kind(figure, words),
            *_check_factors(figure, values),
            *check_where(figure.where, values),
            *_check_scales(figure, values),
            *_check_time(figure, scenario),
            *_check_of_run(figure, words),
        ]
        yield from (problem._replace(path=(*here, *problem.path)) for problem in found)


def _check_kind(figure: Figure, words: Vocabulary | None) -> Iterator[Problem]:
    if figure.kind == "matrix":
        yield from _check_matrix(figure, words)
        return
    if figure.metric is not None:
        yield Problem(
            ("metric",), 'belongs to kind = "matrix"', 'the metric of a figure with lines is its "y"'
        )
    if figure.kind == "cdf":
        yield from _check_distribution(figure, words)
        return
    if words is not None:
        yield from _check_quantity("y", figure.y, words, over_time=figure.x is None)
        yield from _check_models(figure, words)


def _check_matrix(figure: Figure, words: Vocabulary | None) -> Iterator[Problem]:
    if figure.x is None:
        yield Problem(("x",), "is missing: a matrix has a factor across", 'write x = "a factor of the sweep"')
    if figure.metric is None:
        yield Problem(("metric",), "is missing: a matrix shows a metric", 'for example metric = "jain_index"')
    elif words is not None:
        yield from _check_quantity("metric", figure.metric, words, over_time=False)
    for key in ("lines", "model", "y_scale", "x_scale", "from", "to"):
        given = {"from": figure.begin, "to": figure.end}.get(key) or getattr(figure, key, None)
        if given:
            yield Problem(
                (key,), 'does not belong to kind = "matrix"', 'a matrix has "x", "y", "metric", "panels"'
            )


def _check_distribution(figure: Figure, words: Vocabulary | None) -> Iterator[Problem]:
    """Check that there is something of which each sample or flow has a value, and no other axis."""
    if words is not None and figure.y not in words.series and figure.y not in words.distributions:
        hint = nearest(figure.y, [*words.distributions, *words.series])
        yield Problem(("y",), f'there is no distribution of "{figure.y}"', hint)
    given = {"from": figure.begin, "to": figure.end}
    for key in ("x", "model", "y_scale"):
        if getattr(figure, key):
            hint = 'the values of y lie across, their share upwards; factors go to "lines" and "panels"'
            yield Problem((key,), 'does not belong to kind = "cdf"', hint)
    for key in given if words is not None and figure.y in words.distributions else ():
        if given[key]:
            hint = "leave it out; every flow that started after the warm-up is counted"
            yield Problem((key,), f'"{figure.y}" is of whole flows, not of a part of the time', hint)


def _check_quantity(key: str, name: str, words: Vocabulary, *, over_time: bool) -> Iterator[Problem]:
    """Check that what is drawn is a series (over time) or a metric (over a factor)."""
    wanted: Collection[str] = words.series if over_time else words.metrics
    other: Collection[str] = words.metrics if over_time else words.series
    if name in wanted:
        return
    if name in other and over_time:
        hint = f"give x, a factor, to draw it; {nearest(name, wanted)}"
        yield Problem((key,), f'"{name}" is a metric: one number of a run, not a series over time', hint)
    elif name in other:
        hint = f"leave x out to draw it over time; {nearest(name, wanted)}"
        yield Problem((key,), f'"{name}" is a series over time, not a metric', hint)
    else:
        what = "series" if over_time else "metric"
        yield Problem((key,), f'there is no {what} "{name}"', nearest(name, wanted))


def _check_of_run(figure: Figure, words: Vocabulary | None) -> Iterator[Problem]:
    """Check that a series of the run as a whole is not asked for of one flow or queue."""
    if words is None or figure.x is not None or figure.kind == "matrix":
        return
    if figure.y not in words.series or words.series[figure.y].scope != _RUN:
        return
    hint = "leave it out"
    for key in ("flow", "scope"):
        if getattr(figure, key) is not None:
            yield Problem((key,), f'"{figure.y}" over time is of all flows together', hint)
    for key, factor in figure.factors:
        if factor in (FLOW, END):
            yield Problem(
                (key,), f'"{figure.y}" over time is of all flows together, not of one {factor}', hint
            )


def _check_models(figure: Figure, words: Vocabulary) -> Iterator[Problem]:
    for place, name in enumerate(figure.model):
        model = words.models.get(name)
        if model is None:
            yield Problem(("model", place), f'there is no model "{name}"', nearest(name, words.models))
        elif figure.y not in model.laws:
            fitting = [other for other, known in words.models.items() if figure.y in known.laws]
            hint = f"it predicts {', '.join(model.laws)}" + (
                f"; {figure.y} is predicted by {', '.join(fitting)}" if fitting else ""
            )
            yield Problem(("model", place), f'the model "{name}" says nothing of {figure.y}', hint)


def _check_factors(figure: Figure, values: Mapping[str, Sequence[Any]]) -> Iterator[Problem]:
    twice = [name for name, count in Counter(name for _, name in figure.factors).items() if count > 1]
    for name in twice:
        keys = " and ".join(dict.fromkeys(key for key, factor in figure.factors if factor == name))
        yield Problem(
            (keys.partition(" ")[0],), f'"{name}" stands twice, in {keys}', "each factor has one place"
        )
    for key, name in figure.factors:
        own = OWN if key in ("lines", "panels") else ()
        if name not in values and name not in own:
            yield Problem((key,), f'"{name}" is no factor of the sweep', nearest(name, [*values, *own]))


def _check_scales(figure: Figure, values: Mapping[str, Sequence[Any]]) -> Iterator[Problem]:
    if figure.x_scale is None or figure.kind == "cdf":
        return
    if figure.x is None:
        yield Problem(("x_scale",), "time has a linear axis", "leave x_scale out")
    elif figure.x in values and worth(values[figure.x]) is None:
        yield Problem(
            ("x_scale",), f'the values of "{figure.x}" are words: they have no scale', "leave it out"
        )


def _check_time(figure: Figure, scenario: Scenario) -> Iterator[Problem]:
    given = [(key, value) for key, value in (("from", figure.begin), ("to", figure.end)) if value is not None]
    if given and figure.x is not None and figure.kind == "lines":
        yield Problem(
            (given[0][0],), "belongs to a time axis, and this figure has the factor x", "leave it out"
        )
    if figure.begin is not None and figure.end is not None and figure.begin >= figure.end:
        yield Problem(("from",), f'"{figure.begin}" is not before to = "{figure.end}"')
    names = {flow.label for flow in scenario.flow} | set(subflow_names(scenario))
    copies = {f"{f.label}.{k}" for f in scenario.flow if f.count > 1 for k in range(1, f.count + 1)}
    if figure.flow is not None and figure.flow not in names | copies:
        yield Problem(("flow",), f'no flow is named "{figure.flow}"', nearest(figure.flow, sorted(names)))
    if figure.flow is not None and figure.scope is not None:
        yield Problem(("scope",), "stands beside flow", "give one of them")
