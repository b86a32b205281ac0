"""Checks of what decides a comparison: that there is such a metric, of such a flow, with such a unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.quantities.factors import named
from rushhour.quantities.measures import kin
from rushhour.quantities.units import UnitError
from rushhour.spec.check.problem import Problem
from rushhour.spec.check.where import check_where
from rushhour.spec.graph import subflow_names
from rushhour.spec.judge import placeholders
from rushhour.spec.keys import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.spec.judge import Judge
    from rushhour.spec.scenario import Expect, Scenario
    from rushhour.spec.vocabulary import MetricWord, Vocabulary


def check_judging(scenario: Scenario, words: Vocabulary | None) -> Iterator[Problem]:
    """Check `guards` and every `[[judge]]` against the sweep, the flows, and what can be measured."""
    values = scenario.sweep.values
    for name in placeholders(scenario.guards or ""):
        if name not in values:
            yield Problem(("guards",), f'"{{{name}}}" is no factor of the sweep', nearest(name, values))
    for index, judge in enumerate(scenario.judge):
        found = [
            *_check_metric(judge, words),
            *_check_place(judge, scenario),
            *check_where(judge.where, values),
        ]
        yield from (problem._replace(path=("judge", index, *problem.path)) for problem in found)


def _check_metric(judge: Judge, words: Vocabulary | None) -> Iterator[Problem]:
    if words is None:
        return
    metric = words.metrics.get(judge.metric)
    if metric is None:
        yield _unknown(judge.metric, words)
        return
    yield from _check_amounts(judge, metric)
    yield from _check_scope(judge, metric, words)


def check_expected(scenario: Scenario, expect: Expect, words: Vocabulary | None) -> Iterator[Problem]:
    """Check that an expectation is about something that is measured; paths are those within it."""
    metric = None if words is None else words.metrics.get(expect.metric)
    if words is not None and metric is not None:
        yield from _check_scope(expect, metric, words)
    elif words is not None:
        yield _unknown(expect.metric, words)
    yield from _check_place(expect, scenario)


def _unknown(name: str, words: Vocabulary) -> Problem:
    hint = f"{nearest(name, words.metrics)}; docs/metrics.md has all"
    return Problem(("metric",), f'there is no metric "{name}"', hint)


def _check_scope(asked: Judge | Expect, metric: MetricWord, words: Vocabulary) -> Iterator[Problem]:
    hint = f"it has the scopes {', '.join(metric.scopes)}"
    if asked.flow is not None and "flow" not in metric.scopes:
        yield Problem(("flow",), f'"{metric.name}" is not measured of single flows', hint)
    # A label may have a colon of its own.
    kind, colon, _ = (asked.scope or "").partition(":")
    known = {scope for one in words.metrics.values() for scope in one.scopes} if colon else ()
    if kind in known and kind not in metric.scopes:
        yield Problem(("scope",), f'"{metric.name}" is not measured at {kind}:…', hint)


def _check_amounts(judge: Judge, metric: MetricWord) -> Iterator[Problem]:
    for key, amount in (("minimum", judge.minimum), ("within", judge.within)):
        if amount is None:
            continue
        try:
            amount.around(1.0, metric.unit)
        except UnitError as error:
            hint = f'{nearest(amount.unit, kin(metric.unit))}; or a share of the value, "5%"'
            yield Problem((key,), f"{error}, the unit of {metric.name}", hint)
            return
    least, most = judge.minimum, judge.within
    if least is None or most is None or least.relative != most.relative:
        return
    if most.around(1.0, metric.unit) < least.around(1.0, metric.unit):
        hint = "it is what chaotic runs must exclude: as much as minimum, or more"
        yield Problem(("within",), f'"{most}" is less than the minimum, "{least}"', hint)


def _check_place(asked: Judge | Expect, scenario: Scenario) -> Iterator[Problem]:
    names = [flow.label for flow in scenario.flow]
    copies = [f"{flow.label}.{k + 1}" for flow in scenario.flow if flow.count > 1 for k in range(flow.count)]
    names += subflow_names(scenario)
    arriving = {flow.label for flow in scenario.flow if flow.arrivals is not None}
    for name in named(asked.flow):
        if name not in {*names, *copies}:
            yield Problem(("flow",), f'no flow is named "{name}"', nearest(name, names))
        if name in arriving:
            hint = f'name them together: scope = "group:{name}"'
            yield Problem(("flow",), f'"{name}" are flows that arrive: single ones are not measured', hint)
    if asked.flow is not None and asked.scope is not None:
        yield Problem(("scope",), "stands beside flow", "keep one of flow and scope")
