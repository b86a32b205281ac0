"""Classes and netem's losses: answers worked out by hand."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import builders as make
import numpy as np
from builders import SECOND, found

if TYPE_CHECKING:
    from pathlib import Path

SECONDS = np.arange(0, 11) * SECOND
CLASSES = [
    {"name": "small", "classid": "1:10", "parent": None, "leaf": True, "rate_bps": 10**7, "flows": ["a"]},
    {"name": "large", "classid": "1:11", "parent": None, "leaf": True, "rate_bps": 9 * 10**7, "flows": []},
    {"name": "both", "classid": "1:12", "parent": None, "leaf": False, "rate_bps": 10**8, "flows": []},
]


def readings(minor: int, per_second: int, own: int, borrowed: int, drops: int) -> Any:
    """A class that sends evenly; its drops and borrowing happen in the last second."""
    stats = struct.pack("<IIIii", own, borrowed, 0, 0, 0)
    before = make.qdisc(
        SECONDS[:-1], kind=b"htb", handle=0x10000 + minor, bytes=SECONDS[:-1] // SECOND * per_second,
        xstats=struct.pack("<IIIii", 0, 0, 0, 0, 0),
    )  # fmt: skip
    last = make.qdisc(
        SECONDS[-1:], kind=b"htb", handle=0x10000 + minor, bytes=10 * per_second, drops=drops, xstats=stats
    )
    return np.concatenate([before, last])


def test_rates_shares_borrowing_and_drops(tmp_path: Path) -> None:
    rows = np.concatenate(
        [readings(0x10, 1000, 75, 25, 3), readings(0x11, 3000, 100, 0, 0), readings(0x12, 4000, 0, 0, 3)]
    )
    flow = make.flow(0, "a", stop_ns=5 * SECOND)
    record = make.record(
        tmp_path / "run",
        {"class": rows},
        flows=[flow],
        ends=[make.end(classes=CLASSES)],
        outcomes=[make.outcome(0, receiver_done_ns=5 * SECOND)],
    )

    # The flow of the first is active for 5 s; the inner class has no queue, so no share and no drops.
    assert found(record, "class_rate_bps") == {"class:small": 8e3, "class:large": 24e3, "class:both": 32e3}
    assert found(record, "class_share") == {"class:small": 0.25, "class:large": 0.75}
    assert found(record, "class_borrowed") == {"class:small": 0.25, "class:large": 0.0}
    assert found(record, "class_drops") == {"class:small": 3, "class:large": 0}


def test_classes_of_two_ends_are_told_apart_by_the_ends(tmp_path: Path) -> None:
    ends = [make.end(2, classes=CLASSES[:1]), make.end(3, "right → left", classes=CLASSES[:1])]
    rows = np.concatenate([readings(0x10, 1000, 1, 0, 0), readings(0x10, 500, 1, 0, 0)])
    rows["end"][len(rows) // 2 :] = 3
    record = make.record(tmp_path / "run", {"class": rows}, ends=ends)

    assert found(record, "class_rate_bps") == {
        "class:small, left → right": 8e3,
        "class:small, right → left": 4e3,
    }


def test_netem_loses_a_fraction_of_what_it_was_given(tmp_path: Path) -> None:
    rows = make.qdisc(SECONDS, end=6, kind=b"netem", packets=SECONDS // SECOND * 99, drops=SECONDS // SECOND)
    record = make.record(
        tmp_path / "run", {"qdisc": rows}, ends=[make.end(), make.end(6, "in", role="netem")]
    )

    assert found(record, "netem_loss") == {"end:in": 0.01}
    assert found(record, "drops") == {"total": 0.0} or "end:in" not in found(record, "drops")


def test_a_policer_counts_in_the_clsact(tmp_path: Path) -> None:
    rows = make.qdisc(SECONDS, end=6, kind=b"clsact", parent=0xFFFFFFF1, drops=SECONDS // SECOND * 2)
    record = make.record(tmp_path / "run", {"qdisc": rows}, ends=[make.end(6, "in", role="police")])

    assert found(record, "drops") == {"end:in": 20, "total": 20}
