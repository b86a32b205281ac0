"""Gaps between arrivals, spacing and runs of losses, what IP counted: answers worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as make
import numpy as np
import pytest
from builders import found

from rushhour.metrics.datagrams import losses
from rushhour.series.readings import delivered

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.record.record import Record

US = 1_000


def arrived(folder: Path, sequence: list[int], at_us: list[int], delay_us: list[int] | int = 0) -> Record:
    rx = np.asarray(at_us) * US
    rows = make.rows(make.UDP, seq=np.asarray(sequence), tx_ns=rx - np.asarray(delay_us) * US, rx_ns=rx)
    return make.record(
        folder,
        {"udp": rows},
        flows=[make.flow(kind="udp", name="probe")],
        outcomes=[make.outcome(packets_sent=20)],
        planned={0: {"packet_bytes": 100}},
    )


def test_gaps_are_between_arrivals_whatever_their_numbers(tmp_path: Path) -> None:
    record = arrived(tmp_path / "run", [0, 2, 1, 1], [100, 150, 250, 251])

    assert found(record, "arrival_gap_min_us") == {"flow:probe": 1}
    assert found(record, "arrival_gap_p50_us") == {"flow:probe": 50}
    assert found(record, "arrival_gap_max_us") == {"flow:probe": 100}


def test_the_spread_of_the_delay(tmp_path: Path) -> None:
    record = arrived(tmp_path / "run", [0, 1, 2, 3], [1000, 2000, 3000, 4000], [10, 30, 10, 30])

    assert found(record, "one_way_delay_sd_us") == {"flow:probe": pytest.approx(10)}


def test_losses_are_seen_behind_the_missing_numbers(tmp_path: Path) -> None:
    # 0 and 1 lost, seen by 2 at 100 µs; 4 by 5 at 300 µs; 7, 8 and 9 by 10 at 700 µs.
    record = arrived(tmp_path / "run", [2, 3, 5, 6, 10], [100, 200, 300, 400, 700])

    assert found(record, "first_loss_us") == {"flow:probe": 100}
    assert found(record, "loss_gap_min_us") == {"flow:probe": 200}
    assert found(record, "loss_gap_max_us") == {"flow:probe": 400}
    assert found(record, "loss_run_mean") == {"flow:probe": 2}
    assert found(record, "loss_run_max") == {"flow:probe": 3}


def test_a_late_datagram_and_a_second_copy_are_no_losses(tmp_path: Path) -> None:
    record = arrived(tmp_path / "run", [0, 2, 1, 1, 3], [100, 150, 250, 251, 300])

    assert found(record, "first_loss_us") == {"flow:probe": None}
    assert found(record, "loss_gap_mean_us") == {"flow:probe": None}
    assert found(record, "loss_run_max") == {"flow:probe": 0}


def test_what_never_came_behind_the_last_is_no_run() -> None:
    seen, lengths = losses(np.array([0, 1, 4]), np.array([10, 20, 30]))
    assert (seen.tolist(), lengths.tolist()) == ([30], [2])
    seen, lengths = losses(np.zeros(0, np.int64), np.zeros(0, np.int64))
    assert (seen.tolist(), lengths.tolist()) == ([], [])


def test_what_ip_counted_is_summed_over_hosts(tmp_path: Path) -> None:
    counters = {
        "s1": {"Ip.FragCreates": 6, "Icmp.InDestUnreachs": 1, "Icmp.InTimeExcds": 2},
        "r1": {"Ip.ReasmOKs": 2, "Ip.ReasmFails": 1, "IpExt.InCEPkts": 4, "IpExt.InECT0Pkts": 7},
        "r2": {"IpExt.InECT1Pkts": 3},
    }
    record = make.record(tmp_path / "run", result={"counters": counters})

    expected = {"fragments_made": 6, "reassembled": 2, "reassembly_failures": 1, "icmp_errors_received": 3}
    expected |= {"ce_received": 4, "ect_received": 10}
    for metric, value in expected.items():
        assert found(record, metric) == {"total": value}
    assert found(make.record(tmp_path / "old"), "ce_received") == {}


def test_reads_that_give_several_datagrams(tmp_path: Path) -> None:
    def reads(folder: str, **told: int) -> dict[str, float | None]:
        rows = make.rows(make.UDP, seq=np.arange(4), tx_ns=0, rx_ns=US)
        flows = [make.flow(kind="udp", name="probe")]
        outcomes = [make.outcome(packets_received=40, **told)]
        record = make.record(tmp_path / folder, {"udp": rows}, flows=flows, outcomes=outcomes)
        return found(record, "datagrams_per_read")

    assert reads("several", reads=10) == {"flow:probe": 4}
    assert reads("nothing", reads=0) == {"flow:probe": None}
    assert reads("one by one") == {}


def test_the_last_datagram_of_a_burst_has_its_own_size(tmp_path: Path) -> None:
    """Bursts of 3 · 100 B, 100 B, 40 B: number 5 is the last of the second."""
    rx = np.arange(1, 6) * US
    rows = make.rows(make.UDP, seq=np.array([0, 1, 2, 5, 3]), tx_ns=0, rx_ns=rx)
    record = make.record(
        tmp_path / "run",
        {"udp": rows},
        flows=[make.flow(kind="udp", name="probe")],
        outcomes=[make.outcome(packets_sent=6)],
        planned={0: {"packet_bytes": 100, "burst": 3, "last_bytes": 40}},
    )

    assert delivered(record, record.flows("udp")[0])[1].tolist() == [100, 200, 240, 280, 380]
