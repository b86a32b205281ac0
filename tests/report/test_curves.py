"""Thinning keeps what the eye would see: every extreme, every gap, both ends."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rushhour.report.curves import Curve, counted, thinned


def curve(values: list[float], shape: str = "line") -> Curve:
    return Curve("x", 0, np.arange(len(values), dtype=float), np.array(values, float), shape)  # type: ignore[arg-type]


def test_a_short_curve_stays_as_it_is() -> None:
    kept = thinned(curve([1, 2, 3]), 100)
    assert kept.values.tolist() == [1, 2, 3]
    assert kept.samples == 3


def test_repetitions_between_equal_neighbours_are_left_out() -> None:
    kept = thinned(curve([5, 5, 5, 5, 6, 6, 6]), 100)
    assert kept.t_s.tolist() == [0, 3, 4, 6]
    assert kept.samples == 7


def test_points_are_never_joined_by_leaving_repetitions_out() -> None:
    assert len(thinned(curve([5, 5, 5, 5], "points"), 100).t_s) == 4


def test_a_single_spike_among_a_million_samples_stays() -> None:
    values = np.sin(np.arange(1_000_000) / 1e4)
    values[654_321] = 99.0
    kept = thinned(Curve("x", 0, np.arange(1e6), values), 4000)
    assert len(kept.t_s) <= 4000
    assert 99.0 in kept.values


def test_the_start_of_a_gap_stays() -> None:
    values = np.random.default_rng(1).normal(size=10_000)
    values[5000:5100] = np.nan
    kept = thinned(Curve("x", 0, np.arange(1e4), values), 400)
    missing = np.flatnonzero(np.isnan(kept.values))
    assert kept.t_s[missing].tolist() == [5000]


@given(
    st.lists(st.one_of(st.floats(-1e9, 1e9), st.just(float("nan"))), min_size=1, max_size=400),
    st.integers(8, 60),
)
def test_extremes_and_ends_always_survive(values: list[float], limit: int) -> None:
    kept = thinned(curve(values), limit)
    known = [value for value in values if not np.isnan(value)]
    assert np.all(np.diff(kept.t_s) > 0)
    if known:
        assert np.nanmin(kept.values) == min(known)
        assert np.nanmax(kept.values) == max(known)
        finite = kept.t_s[~np.isnan(kept.values)]
        where = np.flatnonzero(~np.isnan(values))
        assert finite[0] == where[0]
        assert finite[-1] == where[-1]


@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 50)), min_size=1, max_size=300),
    st.integers(1, 50),
)
def test_events_drawn_as_one_are_all_counted(events: list[tuple[int, int]], limit: int) -> None:
    events.sort()
    times, numbers = (np.array(column, np.float64) for column in zip(*events, strict=True))
    whole = Curve("drops", None, times, numbers, "points")
    kept = counted(whole, limit)
    assert kept.values.sum() == whole.values.sum()
    assert kept.samples == len(whole.t_s)
    assert len(kept.t_s) <= max(limit, 1)
    assert np.all(np.diff(kept.t_s) >= 0)
    assert kept.t_s[0] == whole.t_s[0]
