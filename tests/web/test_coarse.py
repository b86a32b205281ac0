"""Means over longer windows keep what was moved."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rushhour.report.curves import Curve
from rushhour.web.play.coarse import averaged

RATES = st.lists(st.floats(0, 1e9), min_size=2, max_size=200)


@given(RATES, st.integers(30_000_000, 10**9), st.integers(0, 40))
def test_what_was_moved_stays(rates: list[float], window_ns: int, late: int) -> None:
    step = 0.025
    stamps = (late + 1 + np.arange(len(rates), dtype=np.float64)) * step
    curve = Curve("x", 0, stamps, np.array(rates), "interval")
    means = averaged(curve, window_ns)
    widths = np.diff(np.concatenate(([late * step], means.t_s)))
    assert float(np.sum(means.values * widths)) == pytest.approx(sum(rates) * step)
    assert means.t_s[-1] == pytest.approx(curve.t_s[-1])
    assert np.all(widths <= window_ns * 1e-9 + 1e-12)


def test_a_constant_rate_stays_what_it_is_where_repetitions_were_left_out() -> None:
    curve = Curve("x", 0, np.array([0.1, 0.2, 0.9, 1.0]), np.full(4, 5e6), "interval")
    assert averaged(curve, 250_000_000).values == pytest.approx(np.full(4, 5e6))


def test_windows_begin_at_multiples_for_every_flow() -> None:
    curve = Curve("x", 0, np.arange(0.15, 1.01, 0.05), np.arange(18.0), "interval")
    assert averaged(curve, 200_000_000).t_s == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
