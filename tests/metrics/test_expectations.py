"""Expectations: what holds, what does not, what was never measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import builders as make
import pytest

from rushhour.metrics.value import SAMPLED, MetricValue
from rushhour.summary.expectations import check, judge

if TYPE_CHECKING:
    from pathlib import Path

VALUES = [
    MetricValue("goodput_bps", "flow:a", 60e6, "bit/s"),
    MetricValue("goodput_bps", "flow:b", 30e6, "bit/s"),
    MetricValue("goodput_bps", "total", 90e6, "bit/s"),
    MetricValue("srtt_p95_us", "flow:a", 20_000, "µs"),
    MetricValue("srtt_p95_us", "flow:b", 50_000, "µs"),
    MetricValue("utilization", "end:left → right", 0.95, "1"),
    MetricValue("jain_index", "total", None, "1", "no flow moved anything"),
]


def verdicts(**expect: Any) -> list[tuple[str, bool]]:
    return [(verdict.scope, verdict.ok) for verdict in judge([expect], VALUES, {"cc": "cubic", "n": 2})]


@pytest.mark.parametrize(
    ("expect", "holds"),
    [
        ({"min": 90e6}, True),
        ({"min": 90e6 + 1}, False),
        ({"max": 90e6}, True),
        ({"max": 89e6}, False),
        ({"min": 1, "max": 2}, False),
        ({"equals": 91e6, "tolerance": 1e6}, True),
        ({"equals": 91e6}, False),
        ({"flow": "b", "max": 40e6}, True),
        ({"scope": "flow:a", "max": 40e6}, False),
    ],
)
def test_bounds(expect: dict[str, Any], *, holds: bool) -> None:
    found = verdicts(metric="goodput_bps", **expect)

    assert [ok for _, ok in found] == [holds]


def test_without_a_total_every_scope_must_hold() -> None:
    assert verdicts(metric="srtt_p95_us", max=30_000) == [("flow:a", True), ("flow:b", False)]


def test_what_is_rough_says_so_where_it_is_judged() -> None:
    rough = [MetricValue("window_reductions", "flow:a", 3, "events", SAMPLED)]
    (verdict,) = judge([{"metric": "window_reductions", "equals": 1}], rough, {})
    assert verdict.message == f"window_reductions of flow:a is 3 events ({SAMPLED}); expected = 1"


def test_of_several_flows_each_must_hold() -> None:
    assert verdicts(metric="goodput_bps", flow=("a", "b"), min=40e6) == [("flow:a", True), ("flow:b", False)]
    assert verdicts(metric="goodput_bps", flow=["a", "c"], min=40e6) == [("flow:a", True), ("c", False)]


@pytest.mark.parametrize("expect", [{"flow": "web"}, {"scope": "web"}, {"scope": "flow:web"}])
def test_copies_have_one_name_and_each_must_hold(expect: dict[str, Any]) -> None:
    names = ("web.1", "web.2", "web.home", "webs")
    values = [MetricValue("goodput_bps", f"flow:{name}", k, "bit/s") for k, name in enumerate(names)]
    found = judge([{"metric": "goodput_bps", "min": 1, **expect}], values, {})

    assert [(verdict.scope, verdict.ok) for verdict in found] == [("flow:web.1", False), ("flow:web.2", True)]


def test_a_scope_may_be_named_by_its_label() -> None:
    assert verdicts(metric="utilization", scope="left → right", min=0.9) == [("end:left → right", True)]


def test_other_cells_are_left_out() -> None:
    assert verdicts(metric="utilization", min=2, where={"cc": "reno"}) == []
    assert verdicts(metric="utilization", min=2, where={"cc": ["reno", "bbr"]}) == []
    assert verdicts(metric="utilization", min=2, where={"cc": ["cubic"], "n": [3, 4]}) == []


def test_cells_may_be_named_by_lists() -> None:
    where = {"cc": ["reno", "cubic"], "n": 2}
    assert verdicts(metric="utilization", min=0.9, where=where) == [("end:left → right", True)]
    assert verdicts(metric="utilization", min=2, where={"cc": "cubic", "n": "2"}) == [
        ("end:left → right", False)
    ]


def test_what_is_undefined_does_not_hold_and_says_why() -> None:
    (verdict,) = judge([{"metric": "jain_index", "min": 0}], VALUES, {})

    assert not verdict.ok
    assert verdict.message == "jain_index of total is undefined (no flow moved anything); expected ≥ 0"


def test_an_unknown_metric_does_not_hold_and_has_a_suggestion() -> None:
    (verdict,) = judge([{"metric": "utilisation", "min": 0}], VALUES, {})
    (other,) = judge([{"metric": "goodput_bps", "flow": "c", "min": 0}], VALUES, {})

    assert not verdict.ok
    assert "did you mean utilization?" in verdict.message
    assert "it has the scopes flow:a, flow:b, total" in other.message


def test_a_record_knows_its_own_expectations(tmp_path: Path) -> None:
    expect = [{"metric": "goodput_bps", "flow": "long", "equals": 80e6}]
    record = make.record(
        tmp_path / "run", manifest={"scenario": {"name": "s", "resolved": {"expect": expect}}}
    )

    (verdict,) = check(record)

    assert verdict.ok
    assert check(make.record(tmp_path / "none")) == []
