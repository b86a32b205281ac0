"""Sojourn times of queues, classes and flows: answers worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as make
from builders import SECOND, found

from rushhour.metrics.doubts import doubts
from rushhour.report.panels import panels_of

if TYPE_CHECKING:
    from pathlib import Path

MS = 1_000_000
NOBODY = 2**32 - 1
CLASSES = [
    {"name": "small", "classid": "1:10", "parent": None, "leaf": True, "rate_bps": 10**7, "flows": ["a"]},
    {"name": "(rest)", "classid": "1:11", "parent": None, "leaf": True, "rate_bps": 10**7, "flows": []},
    {"name": "both", "classid": "1:12", "parent": None, "leaf": False, "rate_bps": 10**8, "flows": []},
]


def test_packets_go_to_their_queue_class_and_flow(tmp_path: Path) -> None:
    rows = make.rows(
        make.SOJOURN,
        t_ns=[-1, SECOND, SECOND, 2 * SECOND, 2 * SECOND],
        end=[2, 2, 2, 2, 3],
        flow=[0, 0, NOBODY, 1, 0],
        sojourn_ns=[99 * MS, 1 * MS, 2 * MS, 6 * MS, 8 * MS],
    )
    record = make.record(
        tmp_path / "run",
        {"sojourn": rows},
        flows=[make.flow(0, "a"), make.flow(1, "b")],
        ends=[make.end(2, classes=CLASSES), make.end(3, "right → left")],
    )

    # What left before the start is no part of the experiment; the other direction is no flow's bottleneck.
    assert found(record, "sojourn_mean_us") == {
        "end:left → right": 3_000, "class:small": 1_000, "class:(rest)": 4_000,
        "end:right → left": 8_000, "flow:a": 1_000, "flow:b": 6_000,
    }  # fmt: skip
    panel = next(panel for panel in panels_of(record, 1000) if panel.id == "sojourn")
    assert [curve.label for curve in panel.curves] == ["small", "(rest)"]


def test_stamps_that_were_lost_are_a_warning(tmp_path: Path) -> None:
    record = make.record(tmp_path / "run", {}, result={"lost_events": {"sojourn": 7}})

    assert any("7 stamps" in warning for warning in doubts(record))
