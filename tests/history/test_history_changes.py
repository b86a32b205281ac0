"""Changes of a series: found where they are, and not found where there is only luck."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rushhour.history import Point, changes, release_order

if TYPE_CHECKING:
    from collections.abc import Sequence


def series(rows: Sequence[Sequence[float | None]], *, agents: list[str] | None = None) -> list[Point]:
    """A point for each row of values; the seeds are the same for all."""
    return [
        Point(f"k{place}", f"6.{place}", place, (agents or ["a"] * len(rows))[place], "2026-11-21T09:00:00Z",
              {(seed, seed): value for seed, value in enumerate(row)})
        for place, row in enumerate(rows)
    ]  # fmt: skip


def test_what_is_equal_has_no_change() -> None:
    assert changes(series([[1.0, 2.0]] * 5), exact=True) == []
    assert changes(series([[1.0, 2.0]] * 5), exact=False) == []
    assert changes([], exact=True) == []
    assert changes(series([[1.0]]), exact=True) == []


def test_an_exact_change_is_where_it_is_and_as_large_as_it_is() -> None:
    found = changes(series([[10.0]] * 3 + [[9.0]] * 2), exact=True)

    assert [(one.at, one.exact, one.before, one.after) for one in found] == [(3, True, 10.0, 9.0)]
    assert found[0].relative == pytest.approx(-0.1)


def test_of_a_change_of_one_seed_it_is_said_that_it_is_no_shift() -> None:
    calm, moved = [10.0, 12.0, 14.0, 16.0], [10.0, 12.0, 14.0, 16.4]
    [found] = changes(series([calm, calm, moved]), exact=True)

    assert (found.at, found.exact, found.shift) == (2, True, False)


def test_a_change_that_all_seeds_share_is_a_shift() -> None:
    # Seeds scatter by 30 %, the change is 5 % of each: by pairs it is plain.
    base = [10.0, 12.0, 14.0, 16.0]
    [found] = changes(series([base] * 3 + [[value * 0.95 for value in base]] * 2), exact=True)

    assert (found.at, found.shift) == (3, True)
    assert found.relative == pytest.approx(-0.05)


def test_what_differs_by_less_than_matters_is_no_shift() -> None:
    base = [10.0, 12.0, 14.0, 16.0]
    [found] = changes(series([base, [value * 1.0001 for value in base]]), exact=True)

    assert (found.exact, found.shift) == (True, False)


def test_an_undefined_value_is_another_value() -> None:
    found = changes(series([[None], [None], [5.0]]), exact=True)

    assert [(one.at, one.before, one.after, one.relative) for one in found] == [(2, None, 5.0, None)]


def test_another_agent_is_said() -> None:
    [found] = changes(series([[1.0], [2.0]], agents=["a", "b"]), exact=True)
    assert found.agent


def test_seeds_that_only_one_side_has_decide_nothing() -> None:
    points = series([[10.0, 11.0], [10.0, 11.0, 50.0]])
    assert changes(points, exact=True) == []


def others(points: list[Point], seeds: int) -> list[Point]:
    """The same points, with seeds that nobody else has."""
    return [
        replace(point, values={(seed + seeds, 0): value for (seed, _), value in point.values.items()})
        for point in points
    ]


def test_other_seeds_are_no_exact_change() -> None:
    points = series([[10.0, 12.0], [10.0, 12.0], [11.0, 13.0]])
    assert changes([*points[:2], *others(points[2:], 100)], exact=True) == []
    [found] = changes(points, exact=True)
    assert found.exact


def test_a_level_that_shifts_with_other_seeds_is_a_shift_and_not_exact() -> None:
    calm, moved = [10.0, 10.1, 9.9, 10.0], [20.0, 20.1, 19.9, 20.0]
    points = series([calm] * 3 + [moved] * 3)
    [found] = changes([*points[:3], *others(points[3:], 100)], exact=True)
    assert (found.at, found.exact, found.shift) == (3, False, True)


@given(st.lists(st.sampled_from([1.0, 2.0, 3.0]), min_size=1, max_size=12))
def test_exact_changes_are_just_where_neighbours_differ(values: list[float]) -> None:
    found = changes(series([[value] for value in values]), exact=True)
    assert [one.at for one in found] == [at for at in range(1, len(values)) if values[at] != values[at - 1]]


@pytest.mark.parametrize(("points", "runs"), [(12, 5), (40, 3), (60, 1), (2, 5), (4, 3)])
def test_false_alarms_in_real_time_are_rare(points: int, runs: int) -> None:
    luck = np.random.default_rng(20261121)
    tries = 200
    alarms = 0
    for _ in range(tries):
        rows = (100 + 2 * luck.standard_normal((points, runs))).tolist()
        alarms += bool(changes(series(rows), exact=False))
    # A series of luck alone is to give an alarm in about one of a hundred; of 200, seven or more have a
    # probability of 0.5 % then (binomial).
    assert alarms <= 6


@pytest.mark.parametrize("runs", [3, 5])
def test_false_alarms_of_chaotic_exact_runs_are_rare(runs: int) -> None:
    """Every kernel disturbs every run a little, and a run's value is as good as drawn anew."""
    luck = np.random.default_rng(20261121)
    tries = 200
    alarms = 0
    for _ in range(tries):
        rows = (100 + 5 * luck.standard_normal((10, runs))).tolist()
        alarms += any(one.shift for one in changes(series(rows), exact=True))
    assert alarms <= 6


def test_one_disturbance_in_a_long_calm_is_no_shift() -> None:
    """Twenty equal kernels tell no more of luck than one."""
    luck = np.random.default_rng(1)
    alarms = 0
    for _ in range(200):
        first, second = (100 + 5 * luck.standard_normal((2, 5))).tolist()
        alarms += any(one.shift for one in changes(series([first] * 20 + [second] * 20), exact=True))
    assert alarms <= 6


def test_a_step_is_found_where_it_is() -> None:
    luck = np.random.default_rng(7)
    exactly = 0
    for _ in range(100):
        levels = np.repeat([100.0, 94.0, 103.0], 8)
        rows = (levels[:, None] * (1 + 0.02 * luck.standard_normal((24, 5)))).tolist()
        found = [one.at for one in changes(series(rows), exact=False)]
        exactly += found == [8, 16]
    # Steps of six and nine standard deviations of a mean: all but a few are found at the very place.
    assert exactly >= 95


def test_the_newest_point_alone_can_be_a_step() -> None:
    luck = np.random.default_rng(3)
    levels = np.array([100.0] * 15 + [85.0])
    rows = (levels[:, None] * (1 + 0.02 * luck.standard_normal((16, 5)))).tolist()

    [found] = changes(series(rows), exact=False)

    assert found.at == 15
    assert found.relative == pytest.approx(-0.15, abs=0.03)


def test_a_single_outlier_without_repetition_is_no_step() -> None:
    luck = np.random.default_rng(3)
    rows = [[100 + value] for value in luck.standard_normal(20).tolist()]
    for place in (0, 10, 19):
        spoilt = [*rows[:place], [150.0], *rows[place + 1 :]]
        assert changes(series(spoilt), exact=False) == []
    [found] = changes(series([*rows, [150.0], [151.0]]), exact=False)
    assert found.at == 20


def test_releases_in_their_order() -> None:
    ordered = [
        "unknown", "5.10.262", "6.1.192", "6.12.9", "6.12.10", "6.13.0-rc1", "6.13.0-rc1-00042-gabcdef12",
        "6.13.0-rc10", "6.13.0", "6.13.0-00007-gabcdef12", "6.13.0-01200-gabcdef12", "6.13.1", "7.2.13",
    ]  # fmt: skip
    assert sorted(sorted(ordered), key=release_order) == ordered
    assert release_order("6.13") == release_order("6.13.0") == release_order("v6.13")
