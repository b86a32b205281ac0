"""Bytes that arrive and are not those that were sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as make
from builders import found

from rushhour.metrics.doubts import doubts

if TYPE_CHECKING:
    from pathlib import Path


def test_corrupted_bytes_are_counted_of_flows_that_look(tmp_path: Path) -> None:
    flows = [make.flow(0, "bulk"), make.flow(1, "other"), make.flow(2, "blind")]
    outcomes = [
        make.outcome(0, corrupted_bytes=12, first_corrupted=4344),
        make.outcome(1, corrupted_bytes=0),
        make.outcome(2),
    ]
    record = make.record(tmp_path / "run", flows=flows, outcomes=outcomes)
    assert found(record, "corrupted_bytes") == {"flow:bulk": 12, "flow:other": 0, "total": 12}


def test_who_does_not_look_tells_nothing(tmp_path: Path) -> None:
    record = make.record(tmp_path / "run", flows=[make.flow(0, "bulk")], outcomes=[make.outcome(0)])
    assert found(record, "corrupted_bytes") == {}


def test_a_run_warns_of_corrupted_bytes_and_says_where(tmp_path: Path) -> None:
    flows = [make.flow(0, "bulk"), make.flow(1, "stream", "udp"), make.flow(2, "fine")]
    outcomes = [
        make.outcome(0, bytes_received=9000, corrupted_bytes=1, first_corrupted=4344),
        make.outcome(1, bytes_received=4000, corrupted_bytes=700, first_corrupted=3),
        make.outcome(2, bytes_received=9000, corrupted_bytes=0),
    ]
    record = make.record(tmp_path / "run", flows=flows, outcomes=outcomes)
    assert [one for one in doubts(record) if "sent" in one] == [
        "flow bulk: 1 of 9000 bytes that arrived are not what was sent, the first at byte 4344",
        "flow stream: 700 of 4000 bytes that arrived are not what was sent, the first in datagram 3",
    ]
