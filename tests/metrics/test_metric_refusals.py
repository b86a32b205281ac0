"""Sends of datagrams that the kernel refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as make
import pytest
from builders import found

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("leave_ns", "told", "expected"),
    [(10**9, 7, 7), (10**9, None, 0), (None, 7, 7)],
)
def test_refused_sends_are_counted(
    tmp_path: Path, leave_ns: int | None, told: int | None, expected: int
) -> None:
    flow = make.flow(0, "stream", kind="udp")
    outcome = make.outcome(packets_sent=100, sends_refused=told)
    record = make.record(
        tmp_path / "run", flows=[flow], outcomes=[outcome], planned={0: {"leave_ns": leave_ns}}
    )
    assert found(record, "refused_sends") == {"flow:stream": expected}


def test_who_was_not_refused_and_is_read_to_the_end_tells_nothing(tmp_path: Path) -> None:
    flow = make.flow(0, "stream", kind="udp")
    record = make.record(tmp_path / "run", flows=[flow], outcomes=[make.outcome(packets_sent=100)])
    assert found(record, "refused_sends") == {}
