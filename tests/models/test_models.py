"""Models against the numbers their sources print."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from rushhour.models import bdp, cubic, dctcp, highspeed, mathis, pftk, queueing, red

if TYPE_CHECKING:
    from types import ModuleType


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


@pytest.mark.parametrize(("rate", "loss"), [(1e6, 2e-2), (10e6, 2.9e-4), (100e6, 1.4e-5), (1e9, 6.3e-7)])
def test_cubic_rates_of_rfc_8312_table_3(rate: float, loss: float) -> None:
    # 1500-byte packets, 0.1 s; the table counts them whole and rounds the loss to two digits.
    assert cubic.rate_bps(1500, 0.1, loss) == pytest.approx(rate, rel=0.04)


def test_cubic_regions_meet_where_their_windows_do() -> None:
    assert cubic.friendly_alpha() == pytest.approx(9 / 17)  # RFC 9438, section 4.3: 0.529
    assert cubic.friendly_window_segments(1e-2) == pytest.approx(math.sqrt(150))
    assert cubic.is_friendly(0.1, 1e-3)
    assert not cubic.is_friendly(0.1, 1e-4)
    # A short path is Reno's for longer: the RFC's table for 10 ms leaves it at 1e-6 only.
    assert cubic.is_friendly(0.01, 1e-5)


@pytest.mark.parametrize(("loss", "mbit"), [(1e-2, 3.12), (1e-3, 11.07), (1e-4, 35.4)])
def test_pftk_approximate(loss: float, mbit: float) -> None:
    # 1448 bytes, R = 40 ms, T0 = 240 ms, by hand: at 1e-2 269.7 segments a second,
    # 1 / (0.04 √(0.02/3) + 0.24 · 3 √(0.03/8) · 0.01 · 1.0032).
    assert pftk.rate_bps(1448, 0.04, loss, pftk.timeout_s(0.04)) / 1e6 == pytest.approx(mbit, rel=3e-3)


def test_pftk_full_by_hand() -> None:
    # p = 0.02, b = 2, R = 0.1 s, T0 = 0.4 s. E[W] = 2/3 + √(8·0.98/0.12 + 4/9) = 8.777;
    # Q = 0.0588 (1 + 0.9412 (1 - 0.98^5.777)) / (1 - 0.98^8.777) = 0.3967; f = 1.0208;
    # packets 49 + 8.777 + 0.4048 = 58.18;
    # seconds 0.1 (8.777 + 1) + 0.3967 · 0.4 · 1.0208 / 0.98 = 1.1430.
    rate = pftk.full_rate_bps(1, 0.1, 0.02, 0.4, b=pftk.DELAYED) / 8
    assert rate == pytest.approx(58.18 / 1.1430, rel=2e-3)


def test_pftk_full_and_approximate_meet_at_little_loss() -> None:
    full, approximate = (f(1448, 0.1, 1e-6, 0.3) for f in (pftk.full_rate_bps, pftk.rate_bps))
    assert full == pytest.approx(approximate, rel=5e-3)
    assert approximate == pytest.approx(mathis.rate_bps(1448, 0.1, 1e-6), rel=5e-3)


def test_pftk_is_bound_by_the_receivers_window() -> None:
    # Both forms approach W_max segments a round trip as losses vanish.
    for model in (pftk.full_rate_bps, pftk.rate_bps):
        assert model(1000, 0.1, 1e-7, 0.4, w_max=20) == pytest.approx(20 * 8000 / 0.1, rel=1e-3)


def test_pftk_of_rfc_5348() -> None:
    # 1000 bytes, 100 ms, 1 %: 1000 / (0.008165 + 0.4 · 3 · 0.061237 · 0.01 · 1.0032) = 112 330 B/s.
    assert pftk.tfrc_rate_bps(1000, 0.1, 0.01) / 8 == pytest.approx(112_330, rel=1e-4)


@pytest.mark.parametrize(
    ("loss", "window"), [(1e-3, 38), (1e-4, 263), (1e-5, 1795), (1e-6, 12279), (1e-7, 83981)]
)
def test_highspeed_response_of_rfc_3649_table_3(loss: float, window: float) -> None:
    # The RFC rounds S to 0.835 and W to 0.12/p^0.835, which is up to 1.2 % off its own two points.
    assert highspeed.window_segments(loss) == pytest.approx(window, rel=0.013)
    assert pytest.approx(-0.835, abs=5e-4) == highspeed.S


@pytest.mark.parametrize("model", [mathis, cubic, highspeed, pftk])
def test_every_law_of_loss_says_where_it_ends(model: ModuleType) -> None:
    assert model.outside(1e-3) is None
    for loss in (0, 0.3):
        assert model.outside(loss)


def test_highspeed_is_reno_below_38() -> None:
    assert highspeed.window_segments(1e-2) == pytest.approx(12)
    assert highspeed.increase(20) == 1
    assert highspeed.decrease(20) == 0.5


@pytest.mark.parametrize(
    ("window", "a", "b"),
    [(118, 2, 0.44), (1058, 8, 0.33), (5036, 20, 0.25), (10661, 30, 0.21), (83333, 70, 0.1)],
)
def test_highspeed_steps_of_rfc_3649_appendix_b(window: int, a: float, b: float) -> None:
    assert highspeed.decrease(window) == pytest.approx(b, abs=0.006)
    # The appendix names the window at which the rounded-up a(w) first is that number.
    assert highspeed.increase(window) == pytest.approx(a, rel=0.05)


def test_highspeed_of_linux_takes_the_step_above() -> None:
    assert highspeed.linux_decrease(30) == 0.5
    assert highspeed.linux_decrease(500) == 89 / 256
    # By the kernel's table every step is the formula's value to two digits.
    for window, in_256 in highspeed.STEPS:
        assert in_256 / 256 == pytest.approx(highspeed.decrease(window), abs=0.007)


def test_highspeed_counted_in_acks_reaches_less() -> None:
    ratio = highspeed.window_segments(1e-4, highspeed.DELAYED) / highspeed.window_segments(1e-4)
    assert ratio == pytest.approx(2**highspeed.S)
    assert highspeed.window_segments(1e-2, 2) == pytest.approx(1.2 / math.sqrt(0.02))


def test_dctcp_sawtooth() -> None:
    # 10 Gbit/s of 1500 bytes, 100 µs, K = 65 (the paper's figure 12): 83.3 + 65 packets.
    rate = 10e9 / 12000
    assert dctcp.critical_window(rate, 1e-4, 65, 2) == pytest.approx(74.2, abs=0.1)
    assert dctcp.alpha_approximate(74.2) == pytest.approx(0.164, abs=1e-3)
    # The paper's ½ √(2N (C·RTT + K)) is 12.2 and 27.2 packets; the whole equation lies a tenth above.
    for flows, wide in ((2, 12.2), (10, 27.2)):
        low, high = dctcp.queue_range(rate, 1e-4, 65, flows)
        assert high == 65 + flows
        assert high - low == pytest.approx(wide, rel=0.1)


@pytest.mark.parametrize("window", [10, 100, 1000])
def test_dctcp_alpha_solves_its_equation(window: float) -> None:
    alpha = dctcp.alpha(window)
    assert alpha**2 * (1 - alpha / 4) == pytest.approx((2 * window + 1) / (window + 1) ** 2)
    assert alpha == pytest.approx(dctcp.alpha_approximate(window), rel=0.1)


def test_dctcp_threshold_and_range() -> None:
    assert dctcp.least_threshold(7000, 0.1) == 100
    assert dctcp.marked_window_segments(0.02) == 100
    assert dctcp.outside(8333, 0.01, 20) is None
    assert "C·RTT/7" in str(dctcp.outside(8333, 0.1, 20))
    assert "segments" in str(dctcp.outside(1000, 0.001, 2))


def test_red_drops_evenly_spaced_and_so_nearly_twice_its_chance() -> None:
    at = {queue: red.chance(queue, 50, 250, 0.1) for queue in (49, 50, 150, 250)}
    assert at == {49: 0, 50: 0, 150: pytest.approx(0.05), 250: 1}
    assert red.dropped(0.05) == pytest.approx(0.1 / 1.05)
    assert red.mean_queue_bytes(red.dropped(0.05), 50, 250, 0.1) == pytest.approx(150)
    assert red.mean_queue_bytes(0.9, 50, 250, 0.1) == 250
