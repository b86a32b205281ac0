"""What decides in a cell, by the words of its scenario."""

from types import SimpleNamespace
from typing import Any, cast

from rushhour.metrics.value import MetricValue
from rushhour.verdict import cell
from rushhour.verdict.compared import compared, questions
from rushhour.verdict.rule import Rule


def asked(*judges: dict[str, Any]) -> Any:
    return questions(cast("Any", SimpleNamespace(resolved={"judge": list(judges)}, factors={})))


def test_a_judge_says_which_side_is_better_in_its_scenario() -> None:
    own, other = asked(
        {"metric": "one_way_delay_mean_us", "flow": "stream"},
        {"metric": "loss", "better": "none", "minimum": "2%"},
    )
    assert (own.better, other.better) == (None, "none")


def test_without_a_word_the_metric_s_own_side_holds() -> None:

    trial: Any = SimpleNamespace(
        usable=True, values=lambda names: [MetricValue(name, "total", 0.1, "1") for name in names]
    )
    for judge, better in (({"metric": "loss"}, "lower"), ({"metric": "loss", "better": "none"}, "none")):
        (found,) = compared(asked(judge), {1: trial}, {1: trial}, Rule())
        assert found.better == better


def test_a_reason_names_by_what_users_lose_before_what_departs() -> None:
    def judged(name: str, better: str, size: float) -> Any:
        what = SimpleNamespace(better=better)
        return SimpleNamespace(what=what, size=size, verdict="worse", reason=f"{name} changed")

    metrics: Any = [judged("drops", "none", 9.0), judged("retransmits", "lower", 2.0)]
    parts = [(one.verdict, one.reason) for one in metrics]
    found: Any = SimpleNamespace()
    reason = cell._reason("worse", parts, metrics, found)
    assert reason == "retransmits changed; 1 more metric with the same verdict"
