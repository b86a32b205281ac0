"""What decides in a cell, by the words of its scenario."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from rushhour.metrics.value import COUNTED_LATE, NO_EVENT, SAMPLED, MetricValue
from rushhour.verdict import cell
from rushhour.verdict.compared import compared, expectations, questions
from rushhour.verdict.rule import Rule


def asked(*judges: dict[str, Any]) -> Any:
    """What the scenario asks; behind it stands what every comparison asks."""
    *mine, always = questions(cast("Any", SimpleNamespace(resolved={"judge": list(judges)}, factors={})))
    assert always.metric == "corrupted_bytes"
    return mine


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


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ((None, NO_EVENT), (100.0, None)),
        ((None, COUNTED_LATE), (40.0, None)),
        ((3.0, SAMPLED), (5.0, None)),
    ],
)
def test_what_one_kernel_has_no_event_for_is_not_held_against_it(old: Any, new: Any) -> None:
    def trial(value: float | None, note: str | None) -> Any:
        values = [MetricValue("window_reductions", "flow:long", value, "events", note)]
        return SimpleNamespace(usable=True, info_length=200, values=lambda _: values)

    judge = {"metric": "window_reductions"}
    for one, other in ((old, new), (new, old), (new, new), (old, old)):
        (what,) = compared(asked(judge), {1: trial(*one)}, {1: trial(*other)}, Rule())
        assert what.unread == (one != other)


def test_a_reason_names_by_what_users_lose_before_what_departs() -> None:
    def judged(name: str, better: str, size: float) -> Any:
        what = SimpleNamespace(better=better)
        return SimpleNamespace(what=what, size=size, verdict="worse", reason=f"{name} changed")

    metrics: Any = [judged("drops", "none", 9.0), judged("retransmits", "lower", 2.0)]
    parts = [(one.verdict, one.reason) for one in metrics]
    found: Any = SimpleNamespace()
    reason = cell._reason("worse", parts, metrics, found)
    assert reason == "retransmits changed; 1 more metric with the same verdict"


def test_a_law_about_what_one_kernel_cannot_tell_is_no_law_for_it() -> None:
    """Neither is it broken by the kernel that does not tell, nor mended by the one that does."""

    def trial(value: float | None, note: str | None) -> Any:
        return SimpleNamespace(
            usable=True, values=lambda _: [MetricValue("time_waits", "total", value, "events", note)]
        )

    law: Any = SimpleNamespace(resolved={"expect": [{"metric": "time_waits", "equals": 40.0}]}, factors={})
    silent, rough, kept = trial(None, COUNTED_LATE), trial(39.0, SAMPLED), trial(40.0, None)
    for other in (silent, rough):
        assert expectations(law, {1: other}, {1: kept}) == []
        assert expectations(law, {1: kept}, {1: other}) == []
    (one,) = expectations(law, {1: trial(39.0, None)}, {1: kept})
    assert one.mended
