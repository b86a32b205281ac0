"""A comparison of 1000 cells in which nothing changed alarms at most once.

The values are made up as the suite's are: many cells hardly spread, others are chaotic, have two modes, long
tails, timeouts, ties of counts, or differ in few of their seeds; metrics of a cell may tell one story twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest

from rushhour.quantities.measures import Tolerance
from rushhour.verdict.minimum import least
from rushhour.verdict.rule import Estimate, Rule, adjust, decide, excludes, paired

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Random = np.random.Generator

RULE = Rule()
SHAPE = (2, RULE.max_seeds)
"""Both sides, each seed."""


def one_of(random: Random, values: list[float]) -> float:
    return float(random.choice(values))


def quiet(random: Random) -> Values:
    return 100 + one_of(random, [0.1, 0.5, 2]) * random.standard_normal(SHAPE)


def chaotic(random: Random) -> Values:
    return 100 * (1 + one_of(random, [0.05, 0.1, 0.2, 0.5]) * random.standard_normal(SHAPE))


def of_two_modes(random: Random) -> Values:
    """A flow leaves slow start by the one way or the other."""
    rare, ratio = one_of(random, [0.05, 0.1, 0.3, 0.5]), one_of(random, [1.2, 2, 5])
    return np.where(random.random(SHAPE) < rare, 100 * ratio, 100) + random.normal(0, 0.01, SHAPE)


def long_tailed(random: Random) -> Values:
    return 100 * np.exp(one_of(random, [0.3, 0.7, 1.2]) * random.standard_normal(SHAPE))


def of_few_giants(random: Random) -> Values:
    """Pareto; with 1.5 its variance is infinite."""
    return 100 * (1 + random.pareto(one_of(random, [1.5, 2.5]), SHAPE))


def of_timeouts(random: Random) -> Values:
    """Milliseconds: a few round trips, and 200 for each timeout."""
    return 10 + 200.0 * random.poisson(one_of(random, [0.05, 0.2, 1]), SHAPE) + random.normal(0, 0.1, SHAPE)


def counted(random: Random) -> Values:
    return random.poisson(one_of(random, [0.1, 0.5, 2, 20]), SHAPE).astype(np.float64)


def in_ticks(random: Random) -> Values:
    """A window in powers of two, a timer in jiffies: few values, many ties."""
    return 100 * np.round(random.normal(3, one_of(random, [0.3, 0.8]), SHAPE))


def parted_in_few(random: Random) -> Values:
    """The same losses on both sides, which matter in few seeds."""
    both = np.stack([100 + 5 * random.standard_normal(SHAPE[1])] * 2)
    return np.where(
        random.random(SHAPE) < one_of(random, [0.05, 0.2]), both * one_of(random, [0.5, 1.5]), both
    )


def coupled(random: Random) -> Values:
    """Seeds differ more than the sides do."""
    seeds = 100 + 20 * random.standard_normal(SHAPE[1])
    return seeds + one_of(random, [0.5, 3]) * random.standard_normal(SHAPE)


KINDS: tuple[Callable[[Random], Values], ...] = (
    quiet, chaotic, of_two_modes, long_tailed, of_few_giants, of_timeouts, counted, in_ticks, parted_in_few,
    coupled,
)  # fmt: skip


@dataclass(frozen=True)
class Metric:
    values: Values
    minimum: Tolerance
    within: Tolerance

    def estimate(self, seeds: int) -> Estimate:
        base, candidate = self.values[:, :seeds]
        return paired(base, candidate, RULE.confidence)

    def told(self, found: Estimate, adjusted: float, *, last: bool) -> int | None:
        matters, bound = (least(one, found.base, "packets") for one in (self.minimum, self.within))
        way = decide(found, matters, adjusted, RULE.level)
        return 0 if way is None and last and excludes(found, bound) else way


def cell(random: Random, kind: Callable[[Random], Values]) -> list[Metric]:
    first = kind(random)
    others = [1000 - first if random.random() < 0.5 else kind(random) for _ in range(2)]
    minimum = one_of(random, [1, 2, 5, 10])
    amounts = Tolerance(minimum, "%"), Tolerance(5 * minimum, "%")
    return [Metric(values, *amounts) for values in (first, *others)]


def compared(cells: list[list[Metric]]) -> tuple[set[int], int]:
    """The numbers of the cells that alarm, and how many stay undecided: the looks of `running.Bench`."""
    going, alarms = list(range(len(cells))), set[int]()
    for seeds in (1, *RULE.looks()):
        places = [(number, metric) for number in going for metric in cells[number]]
        found = [metric.estimate(seeds) for _, metric in places]
        adjusted = adjust([one.p for one in found])
        ways: dict[int, list[int | None]] = {number: [] for number in going}
        for (number, metric), one, p in zip(places, found, adjusted, strict=True):
            ways[number].append(metric.told(one, p, last=seeds == RULE.max_seeds))
        alarms |= {number for number, told in ways.items() if {1, -1} & set(told)}
        going = [number for number in going if None in ways[number] and number not in alarms]
    return alarms, len(going)


@pytest.mark.parametrize("world", range(3))
def test_a_thousand_pairs_of_one_distribution_alarm_at_most_once(world: int) -> None:
    random = np.random.default_rng(world)
    cells = [cell(random, KINDS[number % len(KINDS)]) for number in range(1000)]
    alarms, _ = compared(cells)
    assert len(alarms) <= 1


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.__name__))
def test_no_kind_of_chance_alarms_more_often_than_the_others(kind: Callable[[Random], Values]) -> None:
    """Suites of one kind alone: of ten at most two alarm (where each has 5 %, three do with 1 %)."""
    alarmed = 0
    for world in range(10):
        random = np.random.default_rng([world, 1])
        alarms, _ = compared([cell(random, kind) for _ in range(30)])
        alarmed += bool(alarms)
    assert alarmed <= 2
