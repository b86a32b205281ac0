"""Goodput, sending rate, utilization, fairness, convergence: answers worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import builders as make
import numpy as np
import pytest
from builders import SECOND, found
from hypothesis import given
from hypothesis import strategies as st

from rushhour.metrics.convergence import first_fair
from rushhour.series.sharing import jain_index

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.record.record import Record

TENTHS = np.arange(1, 101) * SECOND // 10


def note(record: Record, metric: str, scope: str) -> str | None:
    return next(value.note for value in record.metrics() if (value.metric, value.scope) == (metric, scope))


def receiver(rate_bps: float, flow: int = 0, t_ns: Any = TENTHS) -> Any:
    """Samples of a receiver whose bytes rise evenly from t = 0."""
    return make.tcp_info(t_ns, flow, side=1, bytes_received=(t_ns * rate_bps / 8e9).astype(np.int64))


def test_goodput_is_bytes_over_the_time_the_flow_was_active(tmp_path: Path) -> None:
    # 100 MB from 1 s to 9 s: 800 Mbit / 8 s.
    done = make.outcome(connected_ns=SECOND, receiver_done_ns=9 * SECOND, bytes_sent=120_000_000)
    record = make.record(tmp_path / "run", outcomes=[done])

    assert found(record, "goodput_bps") == {"flow:long": 100e6, "total": 100e6}
    assert found(record, "send_rate_bps") == {"flow:long": 120e6, "total": 120e6}


def test_total_goodput_spans_from_the_first_connection_to_the_last_byte(tmp_path: Path) -> None:
    # 10 MB in 0..4 s and 30 MB in 6..10 s: 320 Mbit over 10 s.
    outcomes = [
        make.outcome(0, receiver_done_ns=4 * SECOND, bytes_received=10_000_000),
        make.outcome(1, connected_ns=6 * SECOND, bytes_received=30_000_000),
    ]
    record = make.record(tmp_path / "run", flows=[make.flow(0, "a"), make.flow(1, "b")], outcomes=outcomes)

    assert found(record, "goodput_bps") == {"flow:a": 20e6, "flow:b": 60e6, "total": 32e6}


def test_a_flow_that_never_connected_has_no_goodput(tmp_path: Path) -> None:
    nothing = make.outcome(
        connected_ns=None, sender_done_ns=None, receiver_done_ns=None, bytes_received=None, error="refused"
    )
    record = make.record(tmp_path / "run", outcomes=[nothing])

    assert found(record, "goodput_bps") == {"flow:long": None, "total": None}
    assert note(record, "goodput_bps", "flow:long") == "refused"


def test_data_behind_a_hole_count_when_they_came(tmp_path: Path) -> None:
    """10 Mbit/s; a hole from 5.8 to 6.2 s holds 0.5 MB back, and the warm-up ends within it."""
    t_ns = TENTHS
    hole = (t_ns > 5_800_000_000) & (t_ns < 6_200_000_000)
    total = np.where(hole, 5_800_000_000, t_ns) // 800
    info = make.tcp_info(t_ns, side=1, bytes_received=total)
    memory = np.zeros((len(t_ns), 9), "<u4")
    memory[:, 0] = np.where(hole, 600_000, 0)
    info["skmem"] = memory.view("V36")[:, 0]
    outcome = make.outcome(bytes_received=12_500_000)
    record = make.record(tmp_path / "run", {"tcp_info": info}, outcomes=[outcome], warmup_ns=6 * SECOND)

    assert found(record, "goodput_steady_bps")["flow:long"] == pytest.approx(10e6)


def test_steady_goodput_leaves_the_warm_up_out(tmp_path: Path) -> None:
    # 40 Mbit/s up to 5 s, then 80 Mbit/s: after a warm-up of 6 s it is 80 exactly.
    t_ns = TENTHS
    total = np.where(t_ns <= 5 * SECOND, t_ns * 5 // 1000, 25_000_000 + (t_ns - 5 * SECOND) // 100)
    info = make.tcp_info(t_ns, side=1, bytes_received=total)
    done = make.outcome(bytes_received=75_000_000)
    record = make.record(tmp_path / "run", {"tcp_info": info}, outcomes=[done], warmup_ns=6 * SECOND)

    assert found(record, "goodput_steady_bps") == {"flow:long": 80e6, "total": 80e6}
    assert found(record, "goodput_bps")["flow:long"] == 60e6


def test_goodput_series_is_the_difference_of_raw_samples(tmp_path: Path) -> None:
    t_ns = np.array([1, 2, 4]) * SECOND
    info = make.tcp_info(t_ns, side=1, bytes_received=[1_000_000, 3_000_000, 5_000_000])
    done = make.outcome(receiver_done_ns=5 * SECOND, bytes_received=5_000_000)
    record = make.record(tmp_path / "run", {"tcp_info": info}, outcomes=[done], sample_ns=SECOND)

    series = record.series("goodput_bps", flow="long")

    assert series.t_s.tolist() == [1, 2, 4, 5]
    assert series.values.tolist() == [8e6, 16e6, 8e6, 0]
    assert (series.unit, series.label, series.source) == ("bit/s", "long", "tcp_info")


def test_a_sliver_at_the_end_is_joined_to_its_neighbour(tmp_path: Path) -> None:
    # The last 1000 bytes came 1 µs after the last sample: no 8 Gbit/s.
    info = make.tcp_info([SECOND], side=1, bytes_received=[1_000_000])
    done = make.outcome(receiver_done_ns=SECOND + 1000, bytes_received=1_001_000)
    record = make.record(tmp_path / "run", {"tcp_info": info}, outcomes=[done], sample_ns=SECOND)

    assert record.series("goodput_bps", flow=0).values == pytest.approx([8.008e6], rel=1e-5)


def test_udp_goodput_counts_each_datagram_once(tmp_path: Path) -> None:
    # 1000 B each 1 ms for 1 s, number 7 twice: 8 Mbit/s.
    number = np.r_[np.arange(1000), 7]
    rx = np.r_[np.arange(1, 1001) * 1_000_000, 8_500_000]
    rows = make.rows(make.UDP, seq=number, tx_ns=rx - 500, rx_ns=rx)
    record = make.record(
        tmp_path / "run",
        {"udp": rows},
        flows=[make.flow(kind="udp", stop_ns=SECOND)],
        outcomes=[make.outcome(receiver_done_ns=SECOND, bytes_received=1_000_000)],
        planned={0: {"packet_bytes": 1000}},
    )

    series = record.series("goodput_bps", flow=0)

    assert series.values == pytest.approx(np.full(10, 8e6))
    assert series.t_s == pytest.approx(np.arange(1, 11) / 10)
    # From the first arrival at 1 ms to the last at 1 s: 999 datagrams in 999 ms.
    assert found(record, "goodput_steady_bps")["flow:long"] == pytest.approx(8e6)


def test_utilization_is_frames_over_the_rate_while_flows_are_active(tmp_path: Path) -> None:
    # 100 Mbit/s link; 62.5 MB of frames from 0 to 10 s.
    t_ns = np.arange(11) * SECOND
    rows = make.rows(make.INTERFACE, t_ns=t_ns, end=2, tx_bytes=np.arange(11) * 6_250_000 + 99)
    record = make.record(tmp_path / "run", {"interface": rows})

    assert found(record, "utilization") == {"end:left → right": 0.5}


def test_utilization_does_not_count_what_passed_before_the_warm_up(tmp_path: Path) -> None:
    t_ns = np.arange(11) * SECOND
    sent = np.where(t_ns <= 4 * SECOND, 0, (t_ns - 4 * SECOND) // 80)
    rows = make.rows(make.INTERFACE, t_ns=t_ns, end=2, tx_bytes=sent)
    record = make.record(tmp_path / "run", {"interface": rows}, warmup_ns=4 * SECOND)

    assert found(record, "utilization")["end:left → right"] == 1.0


def test_two_readings_around_a_short_flow_are_enough_for_utilization(tmp_path: Path) -> None:
    # Connected at 50 ms; the second reading comes a moment after the end: 62.19 MB in 9.95 s at 100 Mbit/s.
    rows = make.rows(make.INTERFACE, t_ns=[256, 10 * SECOND + 512], end=2, tx_bytes=[99, 99 + 62_187_506])
    record = make.record(
        tmp_path / "run",
        {"interface": rows},
        outcomes=[make.outcome(connected_ns=50_000_000, receiver_done_ns=10 * SECOND + 9)],
    )

    assert found(record, "utilization")["end:left → right"] == pytest.approx(0.5, rel=1e-6)


def test_without_readings_utilization_is_undefined_not_zero(tmp_path: Path) -> None:
    record = make.record(tmp_path / "run")

    assert found(record, "utilization") == {"end:left → right": None}


def test_jain_index_of_known_shares() -> None:
    assert jain_index([5, 5, 5, 5]) == 1.0
    assert jain_index([1, 0, 0, 0]) == 0.25
    assert jain_index([3, 1]) == 0.8
    assert np.isnan(jain_index([0, 0]))


@given(st.lists(st.floats(1e-3, 1e12), min_size=1, max_size=50), st.floats(1e-3, 1e3))
def test_jain_index_has_its_bounds_and_no_scale(shares: list[float], scale: float) -> None:
    index = jain_index(shares)

    assert 1 / len(shares) - 1e-9 <= index <= 1 + 1e-9
    assert jain_index([share * scale for share in shares]) == pytest.approx(index)


def test_jain_index_is_over_the_time_all_flows_are_active(tmp_path: Path) -> None:
    # Alone flow a has 90 Mbit/s up to 5 s; then a 30 and b 10: (40)² / (2 · 1000) = 0.8.
    t_ns = TENTHS
    a = np.where(t_ns <= 5 * SECOND, t_ns * 90 / 8000, 56_250_000 + (t_ns - 5 * SECOND) * 30 / 8000)
    later = t_ns[t_ns > 5 * SECOND]
    info = np.concatenate(
        [
            make.tcp_info(t_ns, 0, side=1, bytes_received=a.astype(np.int64)),
            make.tcp_info(
                later, 1, side=1, bytes_received=((later - 5 * SECOND) * 10 / 8000).astype(np.int64)
            ),
        ]
    )
    outcomes = [
        make.outcome(0, bytes_received=75_000_000),
        make.outcome(1, connected_ns=5 * SECOND, bytes_received=6_250_000),
    ]
    record = make.record(
        tmp_path / "run", {"tcp_info": info}, flows=[make.flow(0, "a"), make.flow(1, "b")], outcomes=outcomes
    )

    assert found(record, "jain_index") == {"total": pytest.approx(0.8)}
    assert found(record, "goodput_share") == {"flow:a": pytest.approx(0.75), "flow:b": pytest.approx(0.25)}


def test_flows_that_never_meet_have_no_index(tmp_path: Path) -> None:
    info = np.concatenate([receiver(8e6, 0), receiver(8e6, 1)])
    outcomes = [
        make.outcome(0, receiver_done_ns=4 * SECOND),
        make.outcome(1, connected_ns=5 * SECOND),
    ]
    flows = [make.flow(0, "a", stop_ns=4 * SECOND), make.flow(1, "b")]
    record = make.record(tmp_path / "run", {"tcp_info": info}, flows=flows, outcomes=outcomes)

    assert found(record, "jain_index") == {"total": None}


def test_one_flow_has_no_fairness(tmp_path: Path) -> None:
    assert found(make.record(tmp_path / "run"), "jain_index") == {}


def test_first_fair_needs_its_windows_in_a_row() -> None:
    fair, unfair = [5.0, 5.0], [9.0, 1.0]

    assert first_fair(np.array([unfair, fair, unfair, fair, fair, fair]), windows=3) == 3
    assert first_fair(np.array([fair, fair]), windows=3) is None
    assert first_fair(np.array([[6.0, 4.0]] * 3), windows=3) == 0
    assert first_fair(np.array([[6.1, 3.9]] * 3), windows=3) is None
    assert first_fair(np.zeros((3, 2)), windows=3) is None


def test_convergence_counts_from_the_last_connection(tmp_path: Path) -> None:
    # b joins at 2 s; up to 5 s a has 80 and b 20 Mbit/s, then both 50: fair from the fourth window on.
    t_ns = np.arange(1, 151) * SECOND // 10
    a = np.where(t_ns <= 5 * SECOND, t_ns * 80 / 8000, 50_000_000 + (t_ns - 5 * SECOND) * 50 / 8000)
    late = t_ns[t_ns > 2 * SECOND]
    b = np.where(
        late <= 5 * SECOND, (late - 2 * SECOND) * 20 / 8000, 7_500_000 + (late - 5 * SECOND) * 50 / 8000
    )
    info = np.concatenate(
        [
            make.tcp_info(t_ns, 0, side=1, bytes_received=a.astype(np.int64)),
            make.tcp_info(late, 1, side=1, bytes_received=b.astype(np.int64)),
        ]
    )
    end_ns = 15 * SECOND
    outcomes = [
        make.outcome(0, receiver_done_ns=end_ns, bytes_received=112_500_000),
        make.outcome(1, connected_ns=2 * SECOND, receiver_done_ns=end_ns, bytes_received=70_000_000),
    ]
    flows = [make.flow(0, "a", stop_ns=end_ns), make.flow(1, "b", stop_ns=end_ns)]
    record = make.record(
        tmp_path / "run", {"tcp_info": info}, flows=flows, outcomes=outcomes, duration_ns=end_ns
    )

    assert found(record, "convergence_time_s") == {"total": 3.0}


def test_flows_that_stay_unequal_do_not_converge(tmp_path: Path) -> None:
    info = np.concatenate([receiver(80e6, 0), receiver(20e6, 1)])
    record = make.record(tmp_path / "run", {"tcp_info": info}, flows=[make.flow(0, "a"), make.flow(1, "b")])

    assert found(record, "convergence_time_s") == {"total": None}
    assert "never stayed fair" in (note(record, "convergence_time_s", "total") or "")
