"""Checks of the whole experiment: its length, its readings, its sweep's size, its expectations."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from rushhour.spec.check.figures import check_figures
from rushhour.spec.check.judging import check_expected, check_judging
from rushhour.spec.check.problem import Problem
from rushhour.spec.check.where import check_where
from rushhour.spec.sweep import MAX_CELLS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rushhour.spec.scenario import Expect, Scenario
    from rushhour.spec.vocabulary import Vocabulary

BOUNDS = ("min", "above", "max", "below")
MAX_SAMPLES = 1_000_000  # a reading costs about 1 kB of record
_FINEST_SAMPLE = 10_000  # ns; finer than this the kernel's own clock granularity shows


def check_experiment(scenario: Scenario, words: Vocabulary | None) -> Iterator[Problem]:
    """Check what belongs to no flow and no link."""
    yield from _check_time(scenario)
    for index, expect in enumerate(scenario.expect):
        yield from check_expect(scenario, index, expect, words)


def check_sweep(scenario: Scenario, words: Vocabulary | None) -> Iterator[Problem]:
    """Check the sweep as a whole: its size, and that expectations and figures name its cells."""
    if scenario.sweep.size > MAX_CELLS:
        yield Problem(
            ("sweep",),
            f"{scenario.sweep.size} cells are more than {MAX_CELLS}",
            "split the sweep, or couple factors in [[sweep.together]]",
        )
    for index, expect in enumerate(scenario.expect):
        for problem in check_where(expect.where, scenario.sweep.values):
            yield problem._replace(path=("expect", index, *problem.path))
    yield from check_judging(scenario, words)
    yield from check_figures(scenario, words)


def _leaves_room(low: str, high: str, bounds: Mapping[str, float]) -> bool:
    both_pass = (low, high) == ("min", "max")
    return bounds[low] <= bounds[high] if both_pass else bounds[low] < bounds[high]


def _check_time(scenario: Scenario) -> Iterator[Problem]:
    endless = [flow for flow in scenario.flow if flow.ends_by_itself() is None]
    if scenario.duration is None and (endless or not scenario.flow or scenario.program):
        who = f'flow "{endless[0].label}" has no end of its own that is known beforehand' if endless else ""
        yield Problem(
            ("duration",),
            f"the experiment has no duration{': ' + who if who else ''}",
            'write duration = "30s"',
        )
        return
    span = scenario.span.ns
    if span == 0:
        yield Problem(("duration",), "the experiment has no length", 'write for example duration = "30s"')
        return
    if scenario.warmup.ns >= span:
        yield Problem(
            ("warmup",),
            f'"{scenario.warmup}" leaves nothing of the experiment\'s {scenario.span}',
            "shorten it",
        )
    if scenario.sample is None:
        return
    if scenario.sample.ns < _FINEST_SAMPLE or scenario.sample.ns > span:
        yield Problem(
            ("sample",), f'"{scenario.sample}" is not between "10us" and the duration, "{scenario.span}"'
        )
    elif span // scenario.sample.ns > MAX_SAMPLES:
        yield Problem(
            ("sample",),
            f"{span // scenario.sample.ns} samples are more than {MAX_SAMPLES}",
            "sample less often; tcp_probe still gives one row per ACK",
        )


def check_expect(
    scenario: Scenario, index: int, expect: Expect, words: Vocabulary | None
) -> Iterator[Problem]:
    """Check one expectation: that something can pass, and that it is about something that is measured."""
    here = ("expect", index)
    bounds = {key: value for key in BOUNDS if (value := getattr(expect, key)) is not None}
    if not bounds and expect.equals is None:
        yield Problem(
            here, "expects nothing of its metric", "give min, max, above, below, or equals with tolerance"
        )
    if expect.equals is not None and bounds:
        yield Problem(
            (*here, "equals"), f"stands beside {' and '.join(bounds)}", "give either a range or a value"
        )
    for low, high in product(("min", "above"), ("max", "below")):
        if low in bounds and high in bounds and not _leaves_room(low, high, bounds):
            words_of = "more than" if bounds[low] > bounds[high] else "not below"
            message = f"{bounds[low]:g} is {words_of} {high} = {bounds[high]:g}: nothing can pass"
            yield Problem((*here, low), message)
    if expect.tolerance is not None and expect.equals is None:
        yield Problem((*here, "tolerance"), "has no equals to be near to", "add equals, or use min and max")
    for problem in check_expected(scenario, expect, words):
        yield problem._replace(path=(*here, *problem.path))
