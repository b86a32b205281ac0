"""When a connection was given up; answers worked out by hand."""

from __future__ import annotations

from errno import ECONNRESET, ETIMEDOUT
from typing import TYPE_CHECKING

import builders as make
import pytest
from builders import found

from rushhour.metrics.value import NO_EVENT

if TYPE_CHECKING:
    from pathlib import Path

MS = 1_000_000


@pytest.mark.parametrize(
    ("told_ms", "value"),
    [
        ([2300.5], {"flow:long": 1300.5}),
        # The first error is the end; another one can only be told by what the socket does afterwards.
        ([2300.5, 4000], {"flow:long": 1300.5}),
        # The experiment itself takes its connections down, from 10 s on.
        ([10_000], {}),
        ([], {}),
    ],
)
def test_the_instant_counts_from_the_flows_start(
    tmp_path: Path, told_ms: list[float], value: dict[str, float]
) -> None:
    told = make.rows(make.ERROR_REPORT, t_ns=[int(t * MS) for t in told_ms], error=ETIMEDOUT)
    flows = [make.flow(start_ns=1000 * MS), make.flow(1, "other")]
    record = make.record(tmp_path / "run", {"inet_sk_error_report": told}, flows=flows)
    assert found(record, "gave_up_ms") == value


def test_each_flow_has_its_own(tmp_path: Path) -> None:
    told = make.rows(make.ERROR_REPORT, t_ns=[5 * MS, 3 * MS], flow=[0, 1], error=[ETIMEDOUT, ECONNRESET])
    flows = [make.flow(), make.flow(1, "other"), make.flow(2, "third")]
    record = make.record(tmp_path / "run", {"inet_sk_error_report": told}, flows=flows)
    assert found(record, "gave_up_ms") == {"flow:long": 5, "flow:other": 3}


def test_a_kernel_without_the_event_gives_no_value_and_says_so(tmp_path: Path) -> None:
    warning = "this kernel has no event sock:inet_sk_error_report: its table is missing"
    record = make.record(tmp_path / "run", result={"warnings": [warning]})
    told = {
        value.scope: (value.value, value.note) for value in record.metrics() if value.metric == "gave_up_ms"
    }
    assert told == {"flow:long": (None, NO_EVENT)}


def test_a_record_without_such_events_says_nothing(tmp_path: Path) -> None:
    record = make.record(tmp_path / "run", {"tcp_info": make.tcp_info([MS])})
    assert found(record, "gave_up_ms") == {}
