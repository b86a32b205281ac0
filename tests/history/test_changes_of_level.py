"""Optimal partitioning: never worse than what ruptures finds, and where it looks everywhere the same."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from rushhour.history.levels import changes_of_level


def cost(values: np.ndarray, places: list[int], penalty: float) -> float:
    pieces = pairwise([0, *places, len(values)])
    deviations = sum(float(((values[a:b] - values[a:b].mean()) ** 2).sum()) for a, b in pieces)
    return deviations + penalty * len(places)


def steps(seed: int, count: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    return 1e6 + random.normal(size=count) + np.repeat(3 * random.normal(size=count), 8)[:count]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("penalty", [1.5, 5.0, 12.0])
def test_it_is_what_pelt_finds(seed: int, penalty: float) -> None:
    import ruptures  # noqa: PLC0415 - slow to import, and only used here

    values = steps(seed, 60)
    found = ruptures.Pelt(model="l2", min_size=1, jump=1).fit(values).predict(pen=penalty)
    assert changes_of_level(values, penalty) == [end for end in found if end < len(values)]


@pytest.mark.parametrize("seed", range(10))
def test_nothing_is_better_with_levels_of_two_at_least(seed: int) -> None:
    values = steps(seed, 9)
    found = changes_of_level(values, 4.0, 2)
    assert all(b - a >= 2 for a, b in pairwise([0, *found, 9]))
    allowed = [
        [*places]
        for count in range(5)
        for places in combinations(range(1, 9), count)
        if all(b - a >= 2 for a, b in pairwise([0, *places, 9]))
    ]
    assert cost(values, found, 4.0) == pytest.approx(min(cost(values, one, 4.0) for one in allowed))


@pytest.mark.parametrize("count", [1, 2, 30])
def test_one_level_has_no_change(count: int) -> None:
    assert changes_of_level(np.full(count, 7.5), 1.0) == []
