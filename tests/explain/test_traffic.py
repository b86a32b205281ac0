"""What others had of a bottleneck, in the time of the flow that is explained."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as make
import numpy as np

from rushhour.explain.evidence import evidence
from rushhour.explain.traffic import arrived

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.record.record import Record

SECOND = make.SECOND


def latecomer(folder: Path) -> Record:
    """One flow for 10 s, alone at 90 Mbit/s until another comes at 5 s and takes a third."""
    t_ns = np.arange(1, 101) * SECOND // 10
    first = np.where(t_ns <= 5 * SECOND, 90e6 * t_ns / 8e9, (450e6 + 60e6 * (t_ns / 1e9 - 5)) / 8)
    second = np.maximum(0, 30e6 * (t_ns / 1e9 - 5) / 8)
    late = t_ns > 5 * SECOND
    sides = [
        make.tcp_info(t_ns[mine], flow, side=side, bytes_received=count[mine].astype(np.int64) * side)
        for flow, count, mine in ((0, first, t_ns > 0), (1, second, late))
        for side in (0, 1)
    ]
    return make.record(
        folder,
        {"tcp_info": np.concatenate(sides)},
        flows=[make.flow(), make.flow(1, "late", start_ns=5 * SECOND)],
        outcomes=[
            make.outcome(bytes_received=int(first[-1])),
            make.outcome(1, connected_ns=5 * SECOND, bytes_received=int(second[-1])),
        ],
        planned={number: {"from": "a", "to": "b"} for number in (0, 1)},
    )


def test_what_another_flow_had_is_what_came_in_our_time(tmp_path: Path) -> None:
    record = latecomer(tmp_path / "run")
    first, _ = record.flows("tcp")
    assert round(8 * arrived(record, first, (5 * SECOND, 10 * SECOND)) / 5e6) == 60


def test_rates_that_are_said_together_are_of_the_same_time(tmp_path: Path) -> None:
    record = latecomer(tmp_path / "run")
    known = evidence(record, record.flows("tcp")[1])
    assert known is not None
    assert [round(other.goodput_bps / 1e6) for other in known.others] == [
        60
    ]  # over all of its time it had 75
