"""The advertised window: the rules worked out by hand, and what sockets of live kernels advertise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rushhour.models.window import new_window, old_window, scaling_ratio

if TYPE_CHECKING:
    from experiments import Experiment


def test_half_a_buffer_less_a_segment_is_window() -> None:
    # 262144/2 - 1448 = 129624, a multiple of the scale's 4.
    assert old_window(262_144) == 129_624


def test_three_quarters_less_what_is_just_arriving() -> None:
    # (102400 - 2216) · 3/4 = 75138; the segment's own 1448 would leave more.
    assert old_window(102_400, adv_win_scale=2) == 75_138


def test_without_a_scale_whole_segments_are_advertised() -> None:
    # 102400/2 - 1448 = 49752 is below 65536, so there is no scale: 34 segments.
    assert old_window(102_400) == 34 * 1448


def test_newer_kernels_measure_what_is_payload() -> None:
    # 1448 of 2280 bytes are payload: 162/256. (262144 - 2280) · 162/256 = 164445, rounded up to fours.
    assert scaling_ratio() == 162
    assert new_window(262_144) == 164_448


def test_a_window_beyond_its_scale_is_cut_off() -> None:
    # The handshake allowed for half of 235520, a scale of 1; (235520 - 2280) · 162/256 is more than fits.
    assert new_window(235_520) == 65_535 * 2


SCENARIO = """
duration = "500ms"
[topology]
preset = "dumbbell"
rate = "1gbit"
rtt = "1ms"
[sysctl]
net.ipv4.tcp_moderate_rcvbuf = 0
net.ipv4.tcp_adv_win_scale = {scale}
[[flow]]
name = "one"
cc = "reno"
rcvbuf = "{rcvbuf}B"
[readings]
qdisc = false
"""
OLD = [(1, 51_200), (1, 117_760), (2, 51_200), (2, 131_072)]
NEW = [(1, 51_200), (1, 66_560), (1, 117_760), (1, 131_072)]


@pytest.mark.virtual
def test_live_sockets_advertise_what_the_rule_says(experiment: Experiment) -> None:
    """Exactly: the window is a matter of integers. Once the stream runs, it is that of an empty buffer."""
    for kernel, cases in (("debian-6.1", OLD), ("debian-6.12", NEW)):
        for scale, rcvbuf in cases:
            record = experiment(SCENARIO.format(scale=scale, rcvbuf=rcvbuf), kernel=kernel)
            rows = record.table("tcp_probe")
            steady = int(rows["snd_wnd"][rows["t_ns"] > 200_000_000].max())
            told = old_window(2 * rcvbuf, scale) if kernel == "debian-6.1" else new_window(2 * rcvbuf)
            assert steady == told, (kernel, scale, rcvbuf)
