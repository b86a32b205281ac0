"""TCP's own acts, RFC 6349, limits, transactions: answers worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as make
import numpy as np
import pytest
from builders import SECOND, found

from rushhour.metrics.catalog import METRICS
from rushhour.report.panels import panels_of

if TYPE_CHECKING:
    from pathlib import Path


def test_retransmits_take_the_greater_of_two_lower_bounds(tmp_path: Path) -> None:
    events = make.rows(make.TCP_RETRANSMIT, t_ns=[1, 2, 3], flow=[0, 0, 1])
    info = np.concatenate(
        [
            make.tcp_info([SECOND], 0, total_retrans=1, data_segs_out=100),
            make.tcp_info([SECOND], 1, total_retrans=5, data_segs_out=100),
        ]
    )
    record = make.record(
        tmp_path / "run",
        {"tcp_retransmit_skb": events, "tcp_info": info},
        flows=[make.flow(0, "a"), make.flow(1, "b")],
    )

    assert found(record, "retransmits") == {"flow:a": 2, "flow:b": 5, "total": 7}
    assert found(record, "retransmit_fraction") == {"flow:a": 0.01, "flow:b": 0.05, "total": 0.03}


def test_without_readings_retransmits_are_undefined_not_zero(tmp_path: Path) -> None:
    assert found(make.record(tmp_path / "run"), "retransmits") == {"flow:long": None}


def test_a_kernel_without_a_field_has_no_value_for_it(tmp_path: Path) -> None:
    # Linux 6.1 gives 232 bytes, without total_rto.
    info = make.tcp_info([SECOND], length=232, dsack_dups=3)
    record = make.record(tmp_path / "run", {"tcp_info": info})

    assert found(record, "spurious_retransmits") == {"flow:long": 3}
    assert found(record, "timeouts") == {"flow:long": None}


def test_the_examples_of_rfc_6349(tmp_path: Path) -> None:
    # Section 4.2: 102 000 sent, 2000 again: 98.03 %. Section 4.3: 25 ms idle, 32 ms in transfer: 28 %.
    info = make.tcp_info([SECOND], bytes_sent=102_000, bytes_retrans=2_000, rtt=32_000)
    record = make.record(tmp_path / "run", {"tcp_info": info}, flows=[make.flow(base_rtt_ns=25_000_000)])

    assert found(record, "tcp_efficiency_pct") == {"flow:long": pytest.approx(98.03, abs=0.01)}
    assert found(record, "buffer_delay_pct") == {"flow:long": pytest.approx(28)}


def test_transfer_time_ratio_is_actual_over_ideal(tmp_path: Path) -> None:
    # 100 Mbit/s · 1448/1514 = 95.641 Mbit/s carry 100 MB in 8.3647 s; it took 10.
    record = make.record(tmp_path / "run")

    assert found(record, "transfer_time_ratio") == {"flow:long": pytest.approx(10 / 8.364641, rel=1e-6)}


def test_limits_add_up_to_the_whole_time(tmp_path: Path) -> None:
    info = make.tcp_info([10 * SECOND], busy_time=8_000_000, rwnd_limited=2_000_000, sndbuf_limited=1_000_000)
    record = make.record(tmp_path / "run", {"tcp_info": info})

    assert found(record, "limited_cwnd_pct") == {"flow:long": 50}
    assert found(record, "limited_rwnd_pct") == {"flow:long": 20}
    assert found(record, "limited_sndbuf_pct") == {"flow:long": 10}
    assert found(record, "limited_application_pct") == {"flow:long": 20}


def test_a_busy_time_one_tick_ahead_of_the_clock_still_adds_up(tmp_path: Path) -> None:
    record = make.record(tmp_path / "run", {"tcp_info": make.tcp_info([SECOND], busy_time=1_001_000)})

    assert found(record, "limited_cwnd_pct") == {"flow:long": 100}
    assert found(record, "limited_application_pct") == {"flow:long": 0}


def test_transactions_per_second_and_their_latency(tmp_path: Path) -> None:
    # One each 10 ms, each takes 2 ms, from 0 to 10 s; the first 5 s are warm-up.
    start = np.arange(1000) * 10_000_000
    rows = make.rows(make.TRANSACTION, seq=np.arange(1000), start_ns=start, end_ns=start + 2_000_000)
    record = make.record(
        tmp_path / "run", {"transaction": rows}, flows=[make.flow(kind="rr", name="rr")], warmup_ns=5 * SECOND
    )

    assert found(record, "transactions_per_second") == {"flow:rr": 100, "total": 100}
    assert found(record, "transaction_p50_us") == {"flow:rr": 2000}
    assert found(record, "transaction_max_us") == {"flow:rr": 2000}
    panel = next(panel for panel in panels_of(record, 10_000) if panel.id == "transactions")
    assert [(curve.label, set(curve.values)) for curve in panel.curves] == [("rr", {2000.0})]


def test_flow_completion_time_includes_the_handshake(tmp_path: Path) -> None:
    flows = [make.flow(0, "done", start_ns=SECOND), make.flow(1, "cut")]
    outcomes = [
        make.outcome(0, connected_ns=SECOND + 1000, receiver_done_ns=3 * SECOND, bytes_received=5000),
        make.outcome(1, bytes_received=4999),
    ]
    record = make.record(
        tmp_path / "run", flows=flows, outcomes=outcomes, planned={0: {"bytes": 5000}, 1: {"bytes": 5000}}
    )

    assert found(record, "flow_completion_time_s") == {"flow:done": 2.0, "flow:cut": None}


def test_every_metric_has_unit_direction_source_and_some_scope() -> None:
    for name, metric in METRICS.items():
        assert name == metric.name
        assert metric.unit
        assert metric.better in {"higher", "lower", "none"}
        assert set(metric.scopes) <= {"flow", "end", "total", "kind", "group", "class", "node", "program"}
        assert metric.definition[0].isupper()
        assert metric.definition.endswith((".", "density."))


def test_what_is_undefined_says_why_and_scopes_are_as_declared(tmp_path: Path) -> None:
    flows = [make.flow(0, "a"), make.flow(1, "b"), make.flow(2, "u", "udp"), make.flow(3, "p", "ping")]
    record = make.record(tmp_path / "run", flows=flows)

    for value in record.metrics():
        assert value.value is not None or value.note, value
        assert value.scope.partition(":")[0] in METRICS[value.metric].scopes, value


def test_segments_that_arrived_and_their_shares(tmp_path: Path) -> None:
    info = np.concatenate(
        [
            make.tcp_info([SECOND, 2 * SECOND], 0, side=1, data_segs_in=[10, 30]),
            make.tcp_info([SECOND], 1, side=1, data_segs_in=10),
        ]
    )
    flows = [make.flow(0, "a"), make.flow(1, "b")]
    record = make.record(tmp_path / "run", {"tcp_info": info}, flows=flows)

    assert found(record, "segments_received") == {"flow:a": 30, "flow:b": 10, "total": 40}
    assert found(record, "segments_share") == {"flow:a": 0.75, "flow:b": 0.25}
