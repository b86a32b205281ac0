"""Doubts about a run: a flow that an error ended before its time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as make
import pytest
from builders import SECOND

from rushhour.metrics.doubts import doubts

if TYPE_CHECKING:
    from pathlib import Path

NO_PORT = "connect to 10.0.3.2:5001: Cannot assign requested address (os error 99)"


@pytest.mark.parametrize(
    ("done_ns", "told"),
    [(600_000_000, [f"flow calls ended at 0.6 s: {NO_PORT}"]), (10 * SECOND, []), (None, [])],
)
def test_a_flow_that_an_error_ended_before_its_time_is_told(
    tmp_path: Path, done_ns: int | None, told: list[str]
) -> None:
    outcomes = [make.outcome(0, sender_done_ns=done_ns, receiver_done_ns=done_ns, error=NO_PORT)]
    record = make.record(tmp_path / "run", flows=[make.flow(0, "calls", "crr")], outcomes=outcomes)
    assert [one for one in doubts(record) if "ended at" in one] == told


def test_many_flows_of_which_nothing_arrived_are_one_sentence(tmp_path: Path) -> None:
    flows = [make.flow(number, f"host.{number}", group="host") for number in range(6)]
    outcomes = [make.outcome(number, bytes_received=0) for number in range(6)]
    few = make.record(tmp_path / "few", flows=flows[:2], outcomes=outcomes[:2])
    assert doubts(few)[:2] == ["nothing of host.0 arrived", "nothing of host.1 arrived"]
    many = make.record(tmp_path / "many", flows=flows, outcomes=outcomes)
    assert doubts(many)[0] == "nothing of host.0, host.1, host.2 and 3 more flows arrived"


def test_sends_of_datagrams_that_failed_are_told(tmp_path: Path) -> None:
    error = "send: Connection refused (os error 111)"
    outcomes = [make.outcome(0, sends_refused=1, error=error), make.outcome(1, error=error)]
    flows = [make.flow(0, "one", "udp"), make.flow(1, "other", "udp")]
    record = make.record(tmp_path / "run", flows=flows, outcomes=outcomes)
    told = "flow one: the kernel refused 1 of its sends (Connection refused (os error 111))"
    assert [one for one in doubts(record) if "sends" in one] == [told]
