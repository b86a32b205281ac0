"""What the suite's scenarios are judged by is measured: a metric without a value judges nothing."""

from __future__ import annotations

from pathlib import Path

from rushhour.baseline.read import Baseline

KEPT = Path(__file__).parents[2] / "baselines/suite-quick"
# Measured in cells of the whole suite alone: three SYNs that are lost, and a run of two seconds.
WHOLE = {("suite/handshake", "retransmit_gap_max_ms"), ("suite/over-subscription", "utilization")}


def test_every_judge_of_the_quick_suite_has_a_value_in_some_cell() -> None:
    kept = Baseline.open(KEPT)
    asked = {(one.name, judge["metric"]) for one in kept.scenarios for judge in one.resolved.judge}
    values = kept.values()
    told = {
        (run.scenario, one.metric) for run in kept.runs for one in values[run.folder] if one.value is not None
    }
    assert len(asked) > 500
    assert asked - told == WHOLE
