"""How long packets waited: over time, and what a queue that manages itself promises where rates change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rushhour.explain import RecordedFlow, findings
from rushhour.series.waits import Wait, median_over_time


def test_a_median_over_time_does_not_count_how_often_it_was_read() -> None:
    # A hundred readings of 1 in the first second, three of 9 in the five after that.
    t_s = np.concatenate([np.arange(100) / 100, [1.0, 3.0, 5.0]])
    values = np.concatenate([np.ones(100), [9.0, 9.0, 9.0]])
    assert median_over_time(t_s, values, 6.0) == 9.0
    assert median_over_time(t_s[:100], values[:100], 1.0) == 1.0
    assert median_over_time(t_s[:0], values[:0], 1.0) is None


QUEUE = Wait("left → right", False, 0.2, 1.0, 10e6, "fifo", "topology.queue", ("bulk",), 1)
FULL = RecordedFlow(
    "bulk", "a", "b", "cubic", 10.0, 9.5e6, {"path": 0.98}, None, possible_bps=9.56e6, base_rtt_s=0.02,
    bottleneck="left → right", queue="fifo",
)  # fmt: skip


@pytest.mark.parametrize(
    ("least_bps", "at_least_s", "at_most_s"), [(None, 0.005, 0.05), (100e3, 0.12, 10.0), (0.0, None, None)]
)
def test_a_promise_of_a_shorter_wait_holds_at_the_least_rate(
    least_bps: float | None, at_least_s: float | None, at_most_s: float | None
) -> None:
    (found, *_) = findings(replace(FULL, waits=(replace(QUEUE, least_bps=least_bps),)))
    assert found.cause == "bufferbloat"
    wait_s = None if found.remedy is None else found.remedy.expected_wait_s
    if at_least_s is None or at_most_s is None:
        assert wait_s is None
    else:
        assert wait_s is None or at_least_s < wait_s < at_most_s
