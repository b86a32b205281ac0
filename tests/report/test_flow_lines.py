"""Flows in words: when they were active."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as make
import pytest
from builders import SECOND

from rushhour.report.model import flow_lines

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("done_ns", "active"),
    [
        (178_931_456, "0 - 0.179 s"),
        (3 * SECOND, "0 - 3 s"),
        (10 * SECOND, "0 - 10 s"),
        (10 * SECOND + 20_000_000, "0 - 10 s"),
        (None, "0 - 10 s"),
    ],
)
def test_a_flow_that_ends_by_itself_is_active_until_then(
    tmp_path: Path, done_ns: int | None, active: str
) -> None:
    outcomes = [make.outcome(0, sender_done_ns=done_ns, receiver_done_ns=done_ns)]
    (line,) = flow_lines(make.record(tmp_path / "run", outcomes=outcomes))
    assert (line.when, line.active) == ("0 \N{EN DASH} 10 s", active.replace("-", "\N{EN DASH}"))


def test_a_flow_without_a_connection_was_never_active(tmp_path: Path) -> None:
    nothing = {"connected_ns": None, "sender_done_ns": None, "receiver_done_ns": None}
    outcomes = [make.outcome(0, **nothing, bytes_received=0, bytes_sent=0)]
    (line,) = flow_lines(make.record(tmp_path / "run", outcomes=outcomes))
    assert (line.when, line.active) == ("0 \N{EN DASH} 10 s", "never")
