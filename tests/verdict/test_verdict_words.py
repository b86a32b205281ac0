"""What a verdict says in words is what decided."""

from __future__ import annotations

from rushhour.quantities.measures import Tolerance
from rushhour.verdict.compared import Compared
from rushhour.verdict.judged import Judged
from rushhour.verdict.rule import Estimate
from rushhour.verdict.words import of_metric

WINDOW = Compared("cwnd_max_segments", "flow:long", "segments", "none", Tolerance.parse("3%"), {}, {})


def judged(low: float, high: float) -> Judged:
    """A window that could not be decided after twenty seeds, with this interval of the change."""
    estimate = Estimate(20, 258.6, (low + high) / 2, low, high, 0.002)
    return Judged(WINDOW, estimate, 7.758, adjusted=0.0355)


def test_an_interval_that_leaves_nothing_open_is_not_said_to_leave_it_open() -> None:
    said = of_metric(judged(-83.76, -22.04))
    assert "leave open" not in said
    assert said.endswith(
        "by \N{MINUS SIGN}83.76 segments … \N{MINUS SIGN}22.04 segments in 20 seeds, but of so many "
        "quantities that are judged together one may do so by chance"
    )


def test_an_interval_that_has_nothing_in_it_leaves_that_open() -> None:
    said = of_metric(judged(-12.6, 19.0))
    assert "20 seeds leave open \N{MINUS SIGN}12.6" in said
    assert "3% of it would matter" in said


def test_a_share_below_the_floor_of_its_unit_is_told_as_the_floor() -> None:
    size = Compared("packet_mean_bytes", "end:left → right", "B", "none", Tolerance.parse("0.3%"), {}, {})
    grown = Estimate(20, 58.26, 1.14, 1.1, 1.2, 0.001)

    said = of_metric(Judged(size, grown, 64.0, adjusted=0.001))
    assert said.endswith("20 seeds leave open +1.1 B … +1.2 B, and 64 B would matter")
