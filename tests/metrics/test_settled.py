"""Shares that drift are told, those that swing are not; what was on its way at the end is not lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import builders as make
import numpy as np
import pytest
from builders import SECOND, found

from rushhour.metrics.doubts import doubts
from rushhour.metrics.settled import trend

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from rushhour.record.record import Record

MS = 1_000_000
EDGES = np.arange(1001) * SECOND // 100  # 10 s


def sharing(folder: Path, share: NDArray[np.float64]) -> Record:
    """Two datagram flows, of which the first has this share of the 200 datagrams of each 10 ms."""
    rows = []
    for number, part in enumerate((share, 1 - share)):
        counts = np.round(200 * part).astype(int)
        rx = np.concatenate([at + np.arange(n) * 10_000 for at, n in zip(EDGES, counts, strict=False)])
        rows.append(
            make.rows(make.UDP, flow=np.full(len(rx), number), seq=np.arange(len(rx)), tx_ns=rx, rx_ns=rx)
        )
    flows = [make.flow(n, kind="udp", name=name, stop_ns=10 * SECOND) for n, name in enumerate("ab")]
    outcomes = [
        make.outcome(n, packets_sent=len(one), connected_ns=0, receiver_done_ns=10 * SECOND)
        for n, one in enumerate(rows)
    ]
    planned = {n: {"packet_bytes": 100} for n in (0, 1)}
    return make.record(folder, {"udp": np.concatenate(rows)}, flows=flows, outcomes=outcomes, planned=planned)


@pytest.mark.parametrize("rises", [1, -1])
def test_a_share_that_drifts_to_the_end_is_told(tmp_path: Path, rises: int) -> None:
    share = 0.5 + rises * np.linspace(-0.3, 0.3, 1000)
    (doubt,) = doubts(sharing(tmp_path / "run", share))
    assert "more time" in doubt
    assert "still rising" in doubt or "still falling" in doubt


@pytest.mark.parametrize("swing", [0.0, 0.2])
def test_a_share_that_swings_about_a_mean_has_settled(tmp_path: Path, swing: float) -> None:
    share = 0.5 + swing * np.sin(np.arange(1000) / 1000 * 40 * np.pi)
    assert doubts(sharing(tmp_path / "run", share)) == []


def test_a_share_that_drifts_at_the_beginning_only_has_settled(tmp_path: Path) -> None:
    share = np.concatenate([np.linspace(0.1, 0.6, 400), np.full(600, 0.6)])
    assert doubts(sharing(tmp_path / "run", share)) == []


def test_the_trend_is_manns() -> None:
    # n = 5, all in order: S = 10, its variance without a trend 5 · 4 · 15 / 18.
    assert trend(np.arange(5.0)) == pytest.approx(9 / np.sqrt(50 / 3))
    assert trend(np.zeros(5)) == 0


def one_way(folder: Path, came: int, sent: int, delay_ms: int) -> Record:
    """A datagram each 10 ms for 10 s, of which so many came, each after the same delay."""
    tx = np.arange(came) * 10 * MS
    rows = make.rows(make.UDP, seq=np.arange(came), tx_ns=tx, rx_ns=tx + delay_ms * MS)
    outcome = make.outcome(packets_sent=sent, sender_done_ns=10 * SECOND)
    flows = [make.flow(kind="udp", name="probe")]
    return make.record(
        folder, {"udp": rows}, flows=flows, outcomes=[outcome], planned={0: {"packet_bytes": 100}}
    )


@pytest.mark.parametrize(
    ("came", "loss"),
    [
        (950, 0.0),  # half a second of delay: fifty were on their way
        (900, 50 / 950),  # and fifty before them ought to have come
        (1000, 0.0),
    ],
)
def test_what_is_on_its_way_at_the_end_is_not_lost(tmp_path: Path, came: int, loss: float) -> None:
    record = one_way(tmp_path / "run", came, 1000, 500)
    assert found(record, "loss")["flow:probe"] == pytest.approx(loss, abs=2e-3)


def test_where_nothing_arrives_all_is_lost(tmp_path: Path) -> None:
    assert found(one_way(tmp_path / "run", 0, 1000, 0), "loss")["flow:probe"] == 1.0


@pytest.mark.parametrize(
    ("flow", "words"),
    [
        ({"bottleneck_bps": 100 * 10**9, "frame_bytes": 1514}, "121 ns"),
        ({"bottleneck_bps": 45 * 10**9, "frame_bytes": 1514}, ""),
        ({"bottleneck_bps": 100 * 10**9, "frame_bytes": 9014}, ""),
        ({"kind": "rr", "base_rtt_ns": 100_000}, "100 µs"),
        ({"kind": "rr", "base_rtt_ns": 250_000}, ""),
        ({"kind": "tcp", "base_rtt_ns": 100_000}, ""),
    ],
)
def test_what_virtual_time_cannot_resolve_is_told(tmp_path: Path, flow: dict[str, Any], words: str) -> None:
    """docs/labs.md says what these limits were measured by."""
    record = make.record(tmp_path / "run", {}, flows=[make.flow(**flow)], outcomes=[make.outcome()])
    told = doubts(record)
    assert bool(told) == bool(words)
    assert all(words in sentence for sentence in told)
