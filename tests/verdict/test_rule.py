"""The rule: luck is no change, a change is found, and nothing is said that n values cannot say."""

import math
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rushhour.quantities.measures import Tolerance
from rushhour.verdict.minimum import COUNT, floor, least
from rushhour.verdict.realtime import mann_whitney, needed, unpaired
from rushhour.verdict.rule import Estimate, Rule, adjust, decide, paired, worst

NUMBERS = st.floats(-1e9, 1e9, allow_nan=False)
PAIRS = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=20)


@given(st.lists(NUMBERS, min_size=1, max_size=20))
def test_equal_values_are_no_change(values: list[float]) -> None:
    found = paired(values, values, 0.95)
    assert (found.difference, found.low, found.high, found.p) == (0, 0, 0, 1)
    assert decide(found, 0.0, found.p, 0.05) == 0


@given(PAIRS)
def test_sides_exchanged_give_the_opposite(pairs: list[tuple[float, float]]) -> None:
    base, candidate = zip(*pairs, strict=True)
    one, other = paired(base, candidate, 0.95), paired(candidate, base, 0.95)
    assert one.difference == pytest.approx(-other.difference, rel=1e-9, abs=1e-6)
    assert one.p == pytest.approx(other.p, rel=1e-6)


@given(PAIRS)
def test_n_pairs_say_no_more_than_they_can(pairs: list[tuple[float, float]]) -> None:
    base, candidate = zip(*pairs, strict=True)
    found = paired(base, candidate, 0.95)
    assert min(1, 2 * 4.0 ** -len(pairs)) <= found.p <= 1
    assert found.low <= found.difference <= found.high


def test_one_pair_can_tell_that_nothing_changed_but_never_that_something_did() -> None:
    """x ± 9.68 |x| holds the mean of any normal value 95 times of 100 (Edelman 1990)."""
    found = paired([100.0], [101.0], 0.95)
    assert found.p == 1
    assert [found.low, found.high] == pytest.approx([-8.68, 10.68], abs=0.01)
    assert decide(found, 5.0, found.p, 0.05) is None
    assert decide(paired([100.0], [100.4], 0.95), 5.0, 1.0, 0.05) == 0
    assert decide(paired([100.0], [50.0], 0.95), 5.0, 1.0, 0.05) is None


@pytest.mark.parametrize("spread", [0.1, 0.5, 1.0, 2.0, 10.0])
def test_the_interval_of_one_pair_covers_as_it_says(spread: float) -> None:
    random = np.random.default_rng(9)
    found = (paired([0.0], [1 + spread * z], 0.95) for z in random.standard_normal(2000))
    assert np.mean([one.low <= 1 <= one.high for one in found]) >= 0.94


def test_student_by_a_known_answer() -> None:
    """Differences 1, 2, 3, 4, 5: mean 3, standard error √0.5, t = 4.2426 with 4 degrees of freedom."""
    found = paired([0.0] * 5, [1.0, 2.0, 3.0, 4.0, 5.0], 0.95)
    assert found.difference == 3
    assert found.high - found.low == pytest.approx(2 * 2.7764 * math.sqrt(0.5), rel=1e-4)
    assert found.p == pytest.approx(0.01324, rel=1e-3)


@pytest.mark.parametrize(
    ("low", "high", "difference", "adjusted", "expected"),
    [
        (6, 8, 7, 0.01, 1),
        (-8, -6, -7, 0.01, -1),
        (1, 3, 2, 0.001, 0),  # sure, and too little to matter
        (-1, 13, 6, 0.2, None),  # perhaps
        (-8, 8, 0, 1.0, None),  # nothing is known
        (4, 8, 6, 0.2, None),  # one among many
    ],
)
def test_decisions(low: float, high: float, difference: float, adjusted: float, expected: int | None) -> None:
    estimate = Estimate(5, 100.0, difference, low, high, adjusted)
    assert decide(estimate, 5.0, adjusted, 0.05) == expected


def test_adjusted_by_a_known_answer() -> None:
    """Four tests, Benjamini and Hochberg: p·m/rank, made monotonous."""
    assert adjust([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 0.16 / 3, 0.16 / 3, 0.5])
    assert adjust([0.01], family=10) == pytest.approx([0.1])
    assert adjust([]) == []


def null(random: np.random.Generator, kind: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Values of a cell in which each run is a sample of its own, whatever the kernel."""
    if kind == "normal":
        return 100 + 20 * random.standard_normal(shape)
    if kind == "heavy":
        return np.exp(random.standard_normal(shape)) * 100
    if kind == "counts":
        return random.poisson(1.0, shape).astype(np.float64)
    return np.where(random.random(shape) < 0.5, 100.0, 150.0) + random.normal(0, 1e-3, shape)


def suite_of_luck(kind: str, seed: int, rule: Rule, cells: int = 60, metrics: int = 3) -> int:
    """How many metrics of chaotic cells get a verdict though both sides are one kernel."""
    random = np.random.default_rng(seed)
    whole = null(random, kind, (2, cells, metrics, rule.max_seeds))
    open_cells, alarms = list(range(cells)), 0
    for n in rule.looks():
        pairs = [(cell, metric) for cell in open_cells for metric in range(metrics)]
        found = [paired(whole[0][at][:n], whole[1][at][:n], rule.confidence) for at in pairs]
        adjusted = adjust([estimate.p for estimate in found])
        told = [
            decide(estimate, least(Tolerance(5, "%"), estimate.base, "packets"), p, rule.level)
            for estimate, p in zip(found, adjusted, strict=True)
        ]
        alarms += sum(way in (1, -1) for way in told)
        undecided = {at[0] for at, way in zip(pairs, told, strict=True) if way is None}
        open_cells = [cell for cell in open_cells if cell in undecided]
    return alarms


@pytest.mark.parametrize("kind", ["normal", "heavy", "counts", "bimodal"])
def test_a_suite_of_chaotic_cells_raises_no_alarm(kind: str) -> None:
    """Sixty cells in which every value is another sample: of 60 whole suites at most 5 % may raise any."""
    alarmed = sum(suite_of_luck(kind, seed, Rule()) > 0 for seed in range(60))
    # P(more than 8 of 60) < 0.5 % where each has 5 %.
    assert alarmed <= 8


@pytest.mark.parametrize(("spread", "seeds"), [(0.002, 5), (0.02, 20)])
def test_a_true_effect_of_six_percent_is_found(spread: float, seeds: int) -> None:
    """Beside the 179 other quantities of a suite, with pairs that spread as good cells do."""
    random = np.random.default_rng(7)
    base = 100 + 100 * spread * random.standard_normal((200, seeds))
    candidate = 106.5 + 100 * spread * random.standard_normal((200, seeds))
    found = [paired(x, y, 0.95) for x, y in zip(base, candidate, strict=True)]
    level = Rule().level
    ways = [decide(one, 5.0, one.p * 12, level) for one in found]
    assert ways.count(1) >= 190 if seeds == 20 else ways.count(1) == 0, "5 seeds cannot tell one among 12"
    assert ways.count(-1) == 0


def test_a_change_in_every_cell_is_found_with_five_seeds() -> None:
    random = np.random.default_rng(8)
    base = 100 + 0.1 * random.standard_normal((200, 5))
    found = [paired(x, x * 1.06 + random.normal(0, 0.1, 5), 0.95) for x in base]
    adjusted = adjust([one.p for one in found])
    assert {decide(one, 5.0, p, Rule().level) for one, p in zip(found, adjusted, strict=True)} == {1}


def test_looks_double_up_to_the_most() -> None:
    assert Rule().looks() == [5, 10, 20, 40]
    assert Rule(seeds=3, max_seeds=3).looks() == [3]
    assert Rule(seeds=4, max_seeds=10).looks() == [4, 8, 10]


def test_the_whole_is_as_its_worst_part() -> None:
    assert worst(["same", "better"]) == "better"
    assert worst(["inconclusive", "better", "invalid"]) == "invalid"
    assert worst(["invalid", "worse", "same"]) == "worse"
    assert worst([]) == "same"


@pytest.mark.parametrize(
    ("minimum", "base", "unit", "expected"),
    [
        ("5%", 200.0, "packets", 10.0),
        ("5%", 0.0, "packets", COUNT),  # 0 → 1 is a change, one drop in one of five seeds is none
        ("5%", 0.0, "µs", 2.0),
        ("5%", 1e7, "bit/s", 5e5),
        ("1ms", 5.0, "µs", 1000.0),
        ("2 segments", 1000.0, "segments", 2.0),
        ("1 %-point", 0.5, "1", 0.01),
    ],
)
def test_the_least_that_matters(minimum: str, base: float, unit: str, expected: float) -> None:
    assert least(Tolerance.parse(minimum), base, unit) == pytest.approx(expected)


@given(st.sampled_from(["µs", "s", "bit/s", "1", "%", "packets", "1/min", "B"]))
def test_every_unit_has_a_floor(unit: str) -> None:
    assert floor(unit) > 0


@pytest.mark.parametrize("seed", range(200))
def test_mann_whitney_is_scipys(seed: int) -> None:
    from scipy.stats import mannwhitneyu  # noqa: PLC0415 - slow to import, and only used here

    random = np.random.default_rng(seed)
    m, n = random.integers(1, 30, 2)
    x, y = random.normal(size=m), random.normal(0.5, size=n)
    if seed % 2:  # with ties
        x, y = np.round(2 * x), np.round(2 * y)
    together = np.concatenate([x, y])
    exact = len(np.unique(together)) == m + n and m * n <= 625
    assume = "exact" if exact else "asymptotic"
    expected = 1.0 if np.ptp(together) == 0 else mannwhitneyu(x, y, method=assume).pvalue
    assert mann_whitney(x, y) == pytest.approx(expected, rel=1e-12)


def test_unpaired_by_a_known_answer() -> None:
    """5 against 5: the interval runs from the 3rd to the 23rd of 25 differences (U = 2 is critical)."""
    x, y = [1.0, 2.0, 3.0, 4.0, 5.0], [11.0, 12.0, 13.0, 14.0, 15.0]
    found = unpaired(x, y, 0.95)
    shifts = sorted(b - a for a in x for b in y)
    assert (found.difference, found.low, found.high) == (10, shifts[2], shifts[22])
    assert found.p == pytest.approx(2 / 252)


@given(st.lists(NUMBERS, min_size=4, max_size=12), st.lists(NUMBERS, min_size=4, max_size=12))
def test_the_interval_leaves_zero_out_where_the_test_refuses(x: list[float], y: list[float]) -> None:
    if len({*x, *y}) < len(x) + len(y):
        return
    found = unpaired(x, y, 0.95)
    assert (found.low > 0 or found.high < 0) == (found.p <= 0.05)
    assert found.p == mann_whitney(np.array(x), np.array(y))


def test_real_time_luck_raises_no_alarm() -> None:
    random = np.random.default_rng(3)
    alarmed = 0
    for _ in range(60):
        sides: Any = random.lognormal(0, 0.1, (2, 100, 10))
        found = [unpaired(x, y, 0.95) for x, y in zip(*sides, strict=True)]
        adjusted = adjust([one.p for one in found])
        told = [decide(one, 0.05, p, 0.05) for one, p in zip(found, adjusted, strict=True)]
        alarmed += any(way in (1, -1) for way in told)
    assert alarmed <= 8


def test_as_many_repetitions_as_are_said_to_be_needed_do() -> None:
    """Noether's number finds a change of the least size that matters four times out of five, or so."""
    random = np.random.default_rng(4)
    x, y = 100 + 5 * random.standard_normal(300), 100 + 5 * random.standard_normal(300)
    count = needed(x, y, 5.0, 0.05)
    assert count is not None
    assert 12 <= count <= 30
    hits = 0
    for _ in range(200):
        base = 100 + 5 * random.standard_normal(count)
        hits += mann_whitney(base, 105 + 5 * random.standard_normal(count)) <= 0.05
    assert 0.65 <= hits / 200 <= 0.95


def test_no_number_of_repetitions_finds_what_cannot_be_told() -> None:
    assert needed([1.0, 1.0], [1.0, 1.0], 0.0, 0.05) is None


@pytest.mark.parametrize("command", ["compare", "bisect"])
def test_commands_have_the_seeds_of_the_rule(command: str) -> None:
    """Their modules know them by themselves: what judges is not read for --help."""
    options = {
        one.name: one.default for one in import_module(f"rushhour.cli.{command}").__dict__[command].params
    }
    assert (options["seeds"], options["max_seeds"]) == (Rule().seeds, Rule().max_seeds)
