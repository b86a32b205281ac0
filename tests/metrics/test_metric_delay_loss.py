"""Delay, queues, loss, reordering: answers worked out by hand."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import builders as make
import numpy as np
import pytest
from builders import SECOND, found
from hypothesis import given
from hypothesis import strategies as st

from rushhour.metrics.loss import reorder_density, reorder_extents

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.record.record import Record

MS = 1_000_000


def udp(folder: Path, sequence: Any, delay_us: Any, sent: int, **more: Any) -> Record:
    sequence = np.asarray(sequence)
    rx = np.arange(1, len(sequence) + 1) * MS
    rows = make.rows(make.UDP, seq=sequence, tx_ns=rx - np.asarray(delay_us) * 1000, rx_ns=rx)
    return make.record(
        folder,
        {"udp": rows},
        flows=[make.flow(kind="udp", name="probe")],
        outcomes=[make.outcome(packets_sent=sent)],
        planned={0: {"packet_bytes": 100}},
        **more,
    )


def test_srtt_percentiles_are_of_the_samples_after_the_warm_up(tmp_path: Path) -> None:
    # 1…100 ms at 0.1…10 s; from 5.1 s on these are 51…100.
    number = np.arange(1, 101)
    rows = make.rows(make.TCP_PROBE, t_ns=number * SECOND // 10, srtt=number * 1000)
    record = make.record(tmp_path / "run", {"tcp_probe": rows}, warmup_ns=51 * SECOND // 10)

    assert found(record, "srtt_min_us") == {"flow:long": 51_000}
    assert found(record, "srtt_mean_us") == {"flow:long": 75_500}
    assert found(record, "srtt_p50_us") == {"flow:long": 75_500}
    assert found(record, "srtt_p95_us") == {"flow:long": pytest.approx(97_550)}
    assert found(record, "srtt_max_us") == {"flow:long": 100_000}
    # The idle path has 20 ms.
    assert found(record, "queue_delay_mean_us")["flow:long"] == 55_500


def test_without_probe_events_srtt_comes_from_tcp_info(tmp_path: Path) -> None:
    info = make.tcp_info(
        [SECOND, 2 * SECOND, 3 * SECOND], rtt=[0, 30_000, 40_000], min_rtt=[2**32 - 1, 21_000, 20_500]
    )
    record = make.record(tmp_path / "run", {"tcp_info": info})

    assert found(record, "srtt_mean_us") == {"flow:long": 35_000}
    assert found(record, "min_rtt_us") == {"flow:long": 20_500}
    assert record.series("srtt_us", flow=0).source == "tcp_info"


def test_one_way_delay_and_its_variation(tmp_path: Path) -> None:
    # Number 3 never came: the pairs are (0,1), (1,2), (4,5) with differences 50, -20, 5.
    record = udp(tmp_path / "run", [0, 1, 2, 4, 5], [100, 150, 130, 400, 405], sent=6)

    assert found(record, "one_way_delay_min_us") == {"flow:probe": 100}
    assert found(record, "one_way_delay_mean_us") == {"flow:probe": 237}
    assert record.series("ipdv_us", flow=0).values.tolist() == [50, -20, 5]
    assert found(record, "ipdv_mean_us") == {"flow:probe": 25}
    assert found(record, "ipdv_max_us") == {"flow:probe": 50}
    assert found(record, "loss") == {"flow:probe": pytest.approx(1 / 6), "total": pytest.approx(1 / 6)}


def test_loss_does_not_count_duplicates_as_arrivals(tmp_path: Path) -> None:
    record = udp(tmp_path / "run", [0, 1, 1, 1], [1, 1, 1, 1], sent=4)

    assert found(record, "loss")["total"] == 0.5
    assert found(record, "duplicates") == {"flow:probe": 2}
    assert found(record, "messages_sent") == {"flow:probe": 4, "total": 4}
    assert found(record, "messages_received") == {"flow:probe": 2, "total": 2}


def test_nothing_sent_is_undefined_not_lossless(tmp_path: Path) -> None:
    record = udp(tmp_path / "run", np.zeros(0, int), np.zeros(0, int), sent=0)

    assert found(record, "loss") == {"flow:probe": None}
    assert found(record, "reordered") == {"flow:probe": None}
    assert found(record, "one_way_delay_mean_us") == {}


def test_pings_without_answer_are_lost_and_have_no_rtt(tmp_path: Path) -> None:
    rows = make.rows(
        make.PING, seq=[0, 1, 2, 3], tx_ns=[0, 100, 200, 300], rx_ns=[20_000, -1, 30_200, 40_300]
    )
    record = make.record(tmp_path / "run", {"ping": rows}, flows=[make.flow(kind="ping", name="echo")])

    assert found(record, "loss") == {"flow:echo": 0.25}
    assert found(record, "ping_rtt_min_us") == {"flow:echo": 20}
    assert found(record, "ping_rtt_mean_us") == {"flow:echo": 30}
    assert found(record, "ping_rtt_mdev_us") == {"flow:echo": pytest.approx((200 / 3) ** 0.5)}
    assert found(record, "messages_sent") == {"flow:echo": 4}
    assert found(record, "messages_received") == {"flow:echo": 3}
    assert np.isnan(record.series("ping_rtt_us", flow=0).values[1])


def test_reorder_extent_of_two_late_packets(tmp_path: Path) -> None:
    # 4 and 5 come behind 6, 7, 8: at places 7 and 8, the first greater one (6) at place 4.
    record = udp(tmp_path / "run", [1, 2, 3, 6, 7, 8, 4, 5, 9, 10], np.ones(10, int), sent=11)

    assert reorder_extents(np.array([1, 2, 3, 6, 7, 8, 4, 5, 9, 10])).tolist() == [3, 4]
    assert found(record, "reordered") == {"flow:probe": 0.2}
    assert found(record, "reorder_extent_max") == {"flow:probe": 4}
    # Out of place: 4, 5 late by 3; 6, 7, 8 early by 2.
    assert found(record, "reorder_displaced") == {"flow:probe": 0.5}


def test_reorder_density_of_known_displacements() -> None:
    assert reorder_density(np.array([1, 2, 3, 4])) == {0: 1.0}
    # 2 1 3: number 1 late by one, number 2 early by one.
    assert reorder_density(np.array([2, 1, 3])) == pytest.approx({-1: 1 / 3, 0: 1 / 3, 1: 1 / 3})
    # A loss (no 2) is no displacement.
    assert reorder_density(np.array([1, 3, 4])) == {0: 1.0}


@given(st.permutations(list(range(12))))
def test_reorder_extents_agree_with_the_definition(order: list[int]) -> None:
    expected = [
        i - next(j for j in range(i) if order[j] > order[i])
        for i in range(len(order))
        if any(order[j] > order[i] for j in range(i))
    ]

    assert reorder_extents(np.array(order)).tolist() == expected


def test_queue_delay_of_an_end_is_backlog_over_rate(tmp_path: Path) -> None:
    # 125 000 B at 100 Mbit/s are 10 ms.
    rows = make.qdisc(np.array([0, 1, 2]) * SECOND, backlog=[0, 125_000, 250_000], qlen=[0, 83, 166])
    record = make.record(tmp_path / "run", {"qdisc": rows})

    assert record.series("queue_delay_us", end=2).values.tolist() == [0, 10_000, 20_000]
    assert found(record, "queue_delay_p50_us") == {"end:left → right": 10_000}
    assert found(record, "queue_max_bytes") == {"end:left → right": 250_000}


def test_exact_sojourn_times_are_preferred(tmp_path: Path) -> None:
    waited = make.rows(make.SOJOURN, t_ns=[SECOND, 2 * SECOND], end=2, sojourn_ns=[5 * MS, 7 * MS])
    rows = make.qdisc([SECOND], backlog=125_000)
    record = make.record(tmp_path / "run", {"qdisc": rows, "sojourn": waited})

    assert found(record, "queue_delay_mean_us") == {"end:left → right": 6_000}


def test_drops_do_not_count_calibration_and_survive_the_wrap(tmp_path: Path) -> None:
    drops = np.array([2**32 - 3, 2**32 - 1, 4], np.uint32)
    rows = make.qdisc(np.array([-1, 1, 2]) * SECOND, drops=drops)
    child = make.qdisc(
        np.array([-1, 1, 2]) * SECOND, parent=0x10001, handle=0x100000, kind=b"bfifo", drops=99
    )
    record = make.record(tmp_path / "run", {"qdisc": np.concatenate([rows, child])})

    assert found(record, "drops") == {"end:left → right": 7, "total": 7}


def test_marks_are_summed_over_the_qdiscs_that_count_them(tmp_path: Path) -> None:
    def codel(mark: int, ce: int) -> bytes:
        return struct.pack("<4Ii4I", 1514, 0, 0, 0, 0, 0, mark, 0, ce)

    rows = np.concatenate(
        [
            make.qdisc([0, SECOND]),
            make.qdisc([0], parent=0x10001, handle=0x100000, kind=b"codel", xstats=codel(1, 0)),
            make.qdisc([SECOND], parent=0x10001, handle=0x100000, kind=b"codel", xstats=codel(5, 2)),
        ]
    )
    record = make.record(tmp_path / "run", {"qdisc": rows})

    assert record.series("marks", end=2).values.tolist() == [1, 7]
    assert found(record, "marks") == {"end:left → right": 6, "total": 6}


def test_wire_loss_is_the_elements_own_count(tmp_path: Path) -> None:
    rows = make.rows(make.WIRE, t_ns=[0, 10 * SECOND], end=3, packets=[10, 1010], lost=[1, 26])
    ends = [make.end(), make.end(3, "right → left", role="wire", loss=0.02)]
    record = make.record(tmp_path / "run", {"wire": rows}, ends=ends)

    assert found(record, "wire_loss") == {"end:right → left": 0.025}
