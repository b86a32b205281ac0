"""What formulas take of a flow in a class: the class's queue, and only the flows that share it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import builders as make
import pytest

from rushhour.models.case import cases

if TYPE_CHECKING:
    from pathlib import Path


def entry(name: str, number: int, *flows: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name, "classid": f"1:{number}", "parent": None, "leaf": True, "rate_bps": 1_000_000,
        "ceil_bps": 1_000_000, "flows": list(flows), **more,
    }  # fmt: skip


FIFO = {"queue": "fifo", "buffer_bytes": 60_000, "buffer_packets": None}
COUNTS = {"queue": "fq_codel", "buffer_bytes": None, "buffer_packets": 100}


@pytest.mark.parametrize("old", [False, True])
def test_a_class_has_its_own_queue_and_its_own_crowd(tmp_path: Path, *, old: bool) -> None:
    classes = [
        entry("one", 10, "a", "b", **({} if old else FIFO)),
        entry("two", 11, "c", **({} if old else COUNTS)),
    ]
    flows = [make.flow(number, name) for number, name in enumerate("abc")]
    record = make.record(tmp_path / "run", {}, flows=flows, ends=[make.end(classes=classes)])
    found = {
        name: (case.buffer_bytes, case.queue.partition(" ")[0], case.flows)
        for name, case in cases(record).items()
    }
    if old:  # written before records told what classes hold
        assert found == {"a": (500_000, "fifo", 2), "b": (500_000, "fifo", 2), "c": (500_000, "fifo", 1)}
    else:
        assert found == {"a": (60_000, "fifo", 2), "b": (60_000, "fifo", 2), "c": (151_400, "fq_codel", 1)}


def test_without_classes_all_flows_of_a_kind_share_the_end(tmp_path: Path) -> None:
    flows = [make.flow(number, name) for number, name in enumerate("abc")]
    record = make.record(tmp_path / "run", {}, flows=flows, ends=[make.end()])
    assert {case.flows for case in cases(record).values()} == {3}
