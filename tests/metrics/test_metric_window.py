"""The congestion window: least, mean over time, greatest; answers worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as make
import pytest
from builders import SECOND, found

if TYPE_CHECKING:
    from pathlib import Path


def test_the_mean_of_a_window_is_over_time(tmp_path: Path) -> None:
    # 10 for one second, 40 for three: (10 + 120) / 4. What lies before the warm-up does not count.
    probe = make.rows(
        make.TCP_PROBE, t_ns=[0, SECOND, 2 * SECOND, 5 * SECOND], snd_cwnd=[99, 10, 40, 20], flow=0
    )
    record = make.record(tmp_path / "run", {"tcp_probe": probe}, warmup_ns=SECOND)

    assert found(record, "cwnd_mean_segments") == {"flow:long": pytest.approx(32.5)}
    assert found(record, "cwnd_min_segments") == {"flow:long": 10}
    assert found(record, "cwnd_max_segments") == {"flow:long": 40}


def test_without_readings_there_is_no_window(tmp_path: Path) -> None:
    assert found(make.record(tmp_path / "run"), "cwnd_max_segments") == {"flow:long": None}
