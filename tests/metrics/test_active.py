"""How long a flow was active whose receiver never came to its end; answers worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as make
import pytest
from builders import found

if TYPE_CHECKING:
    from pathlib import Path

MS = 1_000_000
CUT = {"receiver_done_ns": None, "bytes_sent": 300_000, "bytes_received": 100_000}


@pytest.mark.parametrize(
    ("outcome", "goodput_bps"),
    [
        # All was handed to the kernel in a moment, and the path died 70 ms before the last sample.
        ({"sender_done_ns": 1 * MS, **CUT}, 100_000 * 8 / 0.130),
        # The sender waited longer than anything arrived.
        ({"sender_done_ns": 500 * MS, **CUT}, 100_000 * 8 / 0.500),
        # All arrived, and the receiver says when.
        ({"sender_done_ns": 1 * MS, **CUT, "receiver_done_ns": 100 * MS}, 100_000 * 8 / 0.100),
    ],
)
def test_data_that_arrive_after_the_sender_is_done_count_as_long_as_they_took(
    tmp_path: Path, outcome: dict[str, object], goodput_bps: float
) -> None:
    samples = make.tcp_info([100 * MS, 200 * MS], side=1, last_data_recv=[0, 70])
    record = make.record(tmp_path / "run", {"tcp_info": samples}, outcomes=[make.outcome(0, **outcome)])
    assert found(record, "goodput_bps")["flow:long"] == pytest.approx(goodput_bps)


def test_without_samples_the_sender_s_end_is_what_is_known(tmp_path: Path) -> None:
    ends = [make.outcome(0, sender_done_ns=100 * MS, **CUT)]
    record = make.record(tmp_path / "run", {"tcp_info": make.tcp_info([100 * MS])}, outcomes=ends)
    assert found(record, "goodput_bps")["flow:long"] == pytest.approx(100_000 * 8 / 0.100)


def test_a_datagram_is_under_way_when_its_sender_is_done(tmp_path: Path) -> None:
    sent = make.rows(make.UDP, seq=[0, 1], tx_ns=[0, 1000], rx_ns=[20 * MS, 25 * MS])
    ends = [make.outcome(0, sender_done_ns=2000, receiver_done_ns=None, bytes_received=2000)]
    record = make.record(tmp_path / "run", {"udp": sent}, flows=[make.flow(kind="udp")], outcomes=ends)
    assert found(record, "goodput_bps")["flow:long"] == pytest.approx(2000 * 8 / 0.025)
