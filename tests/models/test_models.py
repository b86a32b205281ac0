"""Models against the numbers their sources print."""

from __future__ import annotations

import pytest

from rushhour.models import bdp, cubic, mathis, queueing


def test_bdp_and_window_limit_of_rfc_6349() -> None:
    # Section 3.3.1: 100 Mbit/s and 5 ms are 62.5 kB; a window of 16 kB carries 25.6 Mbit/s over 5 ms.
    assert bdp.bdp_bytes(100e6, 0.005) == 62_500
    assert bdp.window_limited_bps(16_000, 0.005) == pytest.approx(25.6e6)
    assert bdp.goodput_bps(100e6, 1448, 1514) == pytest.approx(95.6407e6, rel=1e-5)


def test_a_full_queue_delays_by_limit_over_rate() -> None:
    assert queueing.full_queue_delay_s(250_000, 50e6) == 0.04


def test_an_overload_loses_what_does_not_fit() -> None:
    assert queueing.overload_loss(200e6, 100e6) == 0.5
    assert queueing.overload_loss(50e6, 100e6) == 0


@pytest.mark.parametrize(("b", "expected"), [(0, 0.75), (0.25, 0.893), (0.5, 0.964), (1, 1.0), (3, 1.0)])
def test_reno_against_a_buffer(b: float, expected: float) -> None:
    assert queueing.reno_utilization(b) == pytest.approx(expected, abs=5e-4)


def test_mathis_and_its_inverse() -> None:
    rate = mathis.rate_bps(1448, 0.04, 1e-3)

    assert rate == pytest.approx(11.2e6, rel=0.01)
    assert mathis.constant(rate, 1448, 0.04, 1e-3) == pytest.approx(mathis.PERIODIC)
    assert mathis.window_segments(1e-4, 1.2) == pytest.approx(120)


@pytest.mark.parametrize(
    ("loss", "window"), [(1e-2, 12), (1e-3, 38), (1e-4, 187), (1e-5, 1054), (1e-6, 5926)]
)
def test_cubic_mean_window_of_rfc_8312_table_1(loss: float, window: float) -> None:
    assert cubic.mean_window_segments(0.1, loss) == pytest.approx(window, rel=0.025)


def test_cubic_starts_at_beta_and_is_back_after_k() -> None:
    k = cubic.k_seconds(100)

    assert k == pytest.approx(75 ** (1 / 3))
    assert cubic.window_segments(0, 100) == pytest.approx(70)
    assert cubic.window_segments(k, 100) == pytest.approx(100)
