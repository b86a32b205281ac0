"""Jain's index over time: answers worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import builders as make
import numpy as np
import pytest
from builders import SECOND

from rushhour.report.panels import panels_of

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.record.record import Record

TENTHS = np.arange(1, 101) * SECOND // 10


def receiver(rates_bps: Any, flow: int = 0) -> Any:
    """Samples each tenth of a second of a receiver at these rates, one a tenth (or always the same)."""
    each = np.broadcast_to(np.asarray(rates_bps, np.float64), len(TENTHS))
    return make.tcp_info(TENTHS, flow, side=1, bytes_received=np.cumsum(each / 80).astype(np.int64))


def two(folder: Path, a: Any, b: Any, *, begin: int = 0, done: int = 10 * SECOND) -> Record:
    """A run of 10 s with a flow `a` all the time and a flow `b` from `begin` to `done`."""
    info = [receiver(a), receiver(b, 1)]
    counts = [int(np.sum(np.broadcast_to(rates, 100)) / 80) for rates in (a, b)]
    return make.record(
        folder,
        {"tcp_info": np.concatenate(info)},
        flows=[make.flow(0, "a"), make.flow(1, "b")],
        outcomes=[
            make.outcome(0, bytes_received=counts[0]),
            make.outcome(
                1, connected_ns=begin, sender_done_ns=done, receiver_done_ns=done, bytes_received=counts[1]
            ),
        ],
    )


def test_each_window_has_its_own_index(tmp_path: Path) -> None:
    # 30 to 10 Mbit/s for the first half is 0.8, then 20 to 20 is 1.
    first = np.arange(100) < 50
    record = two(tmp_path / "run", np.where(first, 30e6, 20e6), np.where(first, 10e6, 20e6))
    series = record.series("jain_index")

    assert (series.label, series.unit, series.source) == ("all flows", "1", "tcp_info")
    assert series.t_s == pytest.approx(np.arange(1, 101) / 10)  # a hundredth of 10 s
    assert series.values[:50] == pytest.approx(0.8)
    assert series.values[50:] == pytest.approx(1.0)


def test_there_is_none_where_fewer_than_two_are_active_in_the_whole_window(tmp_path: Path) -> None:
    there = (np.arange(100) >= 30) & (np.arange(100) < 60)
    record = two(tmp_path / "run", 20e6, np.where(there, 20e6, 0), begin=2_950_000_000, done=6 * SECOND)
    series = record.series("jain_index")
    defined = np.isfinite(series.values)

    # The window that ends at 3.0 s began before the second flow did.
    assert series.t_s[defined][[0, -1]] == pytest.approx([3.1, 6.0])
    assert series.values[defined] == pytest.approx(1.0, abs=1e-6)


def test_a_flow_that_gets_nothing_counts(tmp_path: Path) -> None:
    series = two(tmp_path / "run", 20e6, 0).series("jain_index")

    assert series.values == pytest.approx(0.5)


@pytest.mark.parametrize(("rate_bps", "windows"), [(115_840, 10), (231_680, 20), (40_000, 10)])
def test_a_window_is_long_enough_for_packets_of_the_slowest(
    tmp_path: Path, rate_bps: float, windows: int
) -> None:
    # Ten packets of 1448 bytes at 231.68 kbit/s take half a second, at half of it one; a tenth at most.
    series = two(tmp_path / "run", 20e6, rate_bps).series("jain_index")

    assert len(series) == windows


def test_datagrams_and_segments_share_one_link(tmp_path: Path) -> None:
    # 20 Mbit/s of datagrams of 1250 bytes beside 10 Mbit/s of TCP: (2 + 1)² / (2 · (4 + 1)) = 0.9.
    arrived = np.arange(1, 20_001) * (SECOND // 2_000)
    record = make.record(
        tmp_path / "run",
        {
            "udp": make.rows(make.UDP, flow=1, seq=range(20_000), tx_ns=arrived, rx_ns=arrived),
            "tcp_info": receiver(10e6),
        },
        flows=[make.flow(), make.flow(1, "call", "udp")],
        outcomes=[make.outcome(0, bytes_received=12_500_000), make.outcome(1)],
        planned={1: {"packet_bytes": 1250}},
    )

    assert record.series("jain_index").values[1:] == pytest.approx(0.9)


def test_one_flow_alone_has_no_panel(tmp_path: Path) -> None:
    alone = make.record(tmp_path / "alone", {"tcp_info": receiver(20e6)})
    both = two(tmp_path / "both", 20e6, 20e6)

    assert "fairness" not in [panel.id for panel in panels_of(alone, 10_000)]
    (panel,) = [panel for panel in panels_of(both, 10_000) if panel.id == "fairness"]
    assert [limit.value for limit in panel.limits] == [1.0, 0.5]
