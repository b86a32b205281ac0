"""What chance took on the way, in the time of a flow, and what no algorithm bears."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as make
import numpy as np
from builders import SECOND

from rushhour.explain import RecordedFlow, findings
from rushhour.explain.lost import lost, worst

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.record.record import Record

WAY = ((2,),)


def outage(folder: Path, *, course: bool) -> Record:
    """A link that loses 20 of 100 packets, all of them after 2 s where its loss has a course."""
    counted = np.zeros(2, np.dtype([("t_ns", "<i8"), ("end", "<u2"), ("packets", "<u8"), ("lost", "<u8")]))
    counted["t_ns"], counted["end"] = [0, 10 * SECOND], 2
    counted["packets"], counted["lost"] = [0, 100], [0, 20]
    over_time = {"loss": [[0, 0.0], [2 * SECOND, 1.0]]} if course else {}
    return make.record(folder, {"wire": counted}, ends=[make.end(2, over_time=over_time)])


def test_a_flow_that_was_over_before_lost_nothing(tmp_path: Path) -> None:
    record = outage(tmp_path / "run", course=True)
    early, late = (0, 2 * SECOND), (SECOND, 3 * SECOND)
    assert (lost(record, WAY, early), worst(record, WAY, early)) == (0.0, 0.0)
    assert (round(lost(record, WAY, late), 6), worst(record, WAY, late)) == (0.2, 1.0)


def test_without_a_course_all_losses_count(tmp_path: Path) -> None:
    record = outage(tmp_path / "run", course=False)
    assert (round(lost(record, WAY, (0, SECOND)), 6), worst(record, WAY, (0, SECOND))) == (0.2, 0.0)


def test_over_a_path_that_goes_dead_no_algorithm_is_promised_a_rate() -> None:
    known = RecordedFlow(
        "bulk", "a", "b", "cubic", 6.0, 2e6, {"timeouts": 0.6, "losses": 0.2}, None, possible_bps=9.56e6,
        base_rtt_s=0.02, rtt_s=0.03, mss=1448.0, retransmits=40, segments=1600, wire_loss=0.026, timeouts=4,
    )  # fmt: skip
    (chance, *_) = (found for found in findings(known) if found.cause == "random_loss")
    assert chance.remedy is not None
    assert "bbr" in chance.remedy.advice
    dead = RecordedFlow(**{**vars(known), "worst_loss": 1.0})
    (chance, *_) = (found for found in findings(dead) if found.cause == "random_loss")
    assert chance.remedy is None or "bbr" not in chance.remedy.advice
    assert "Padhye" not in chance.says


def test_a_timer_that_expires_because_no_ack_comes_back_is_not_the_queues() -> None:
    known = RecordedFlow(
        "bulk", "a", "b", "cubic", 6.0, 13e6, {"path": 0.69, "timeouts": 0.29}, None, possible_bps=19.1e6,
        base_rtt_s=0.02, retransmits=29, segments=6000, queue_drops=26, timeouts=3, ack_loss=0.01,
        bottleneck="left → right",
    )  # fmt: skip
    (queue,) = (found for found in findings(known) if found.cause == "timeouts")
    assert "the queue at left → right dropped 26 packets" in queue.says
    dead = RecordedFlow(**{**vars(known), "worst_ack_loss": 1.0})
    (back,) = (found for found in findings(dead) if found.cause == "timeouts")
    assert back.says.endswith("1.0 % of its ACKs were lost on the way back.")
    assert back.remedy is not None
    assert back.remedy.advice.startswith("Repair the link")
