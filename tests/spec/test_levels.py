"""What the levels of a factor are worth: numbers of one unit, or words."""

import pytest

from rushhour.spec.levels import worth


@pytest.mark.parametrize(
    ("levels", "values", "unit"),
    [
        (["10ms", "500us", "1s"], [0.01, 5e-4, 1], "s"),
        (["10mbit", "1gbit"], [1e7, 1e9], "bit/s"),
        (["0%", "0.5%"], [0.0, 0.005], "1"),
        (["1", "2.5"], [1.0, 2.5], ""),
        (["1bdp", "0.5bdp"], [1.0, 0.5], "BDP"),
        (["10p", "100p"], [10, 100], "packets"),
    ],
)
def test_levels_of_one_kind_are_numbers_in_its_unit(
    levels: list[str], values: list[float], unit: str
) -> None:
    found = worth(levels)
    assert found is not None
    assert found.values == pytest.approx(values)
    assert found.unit == unit


@pytest.mark.parametrize("levels", [["cubic", "reno"], ["10ms", "10mbit"], ["1bdp", "100kB"], ["nan", "1"]])
def test_words_and_mixtures_are_no_numbers(levels: list[str]) -> None:
    assert worth(levels) is None
