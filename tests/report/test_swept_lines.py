"""Charts of a sweep: which factor is the axis, which tells lines apart, where points lie, what n is."""

import math
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rushhour.quantities.words import scale_for
from rushhour.report.lines import Chart, apart, charts, counts, grid
from rushhour.report.lines_svg import chart_svg, swatch_svg
from rushhour.report.tables import Column, Row, Table


def table(heads: tuple[str, ...], cells: Mapping[Any, float | None], **row: object) -> Table:
    known = [value for value in cells.values() if value is not None]
    column = Column("goodput_bps", "goodput", "bit/s", scale_for(known, "bit/s"))
    rows = [
        Row(head, [value], number, **{"count": 1, **row})  # type: ignore[arg-type]
        for number, (head, value) in enumerate(cells.items())
    ]
    return Table(heads, [column], rows)


def only(made: dict[str, list[Chart]]) -> list[Chart]:
    assert list(made) == ["goodput_bps"]
    return made["goodput_bps"]


LOSSES = ("2%", "0%", "0.1%", "1%")
GRID = {
    (cc, loss): 1e6 * (1 + n) for n, (cc, loss) in enumerate((c, x) for c in ("reno", "bbr") for x in LOSSES)
}


def test_the_numbers_are_the_axis_and_the_words_the_lines() -> None:
    (chart,) = only(charts(table(("cc", "loss"), GRID)))
    assert (chart.across, chart.by, chart.numeric) == ("loss", "cc", True)
    assert [word for _, word in chart.ticks] == ["0%", "0.1%", "1%", "2%"]
    assert [line.label for line in chart.lines] == ["reno", "bbr"]
    reno = chart.lines[0].points
    assert [point.value for point in reno] == [2e6, 3e6, 4e6, 1e6]
    assert [point.run for point in reno] == [1, 2, 3, 0]


def test_buffers_in_bdp_are_numbers_too() -> None:
    (chart,) = only(charts(table(("buffer",), {(b,): float(n) for n, b in enumerate(("8bdp", "0.5bdp"))})))
    assert (chart.numeric, [word for _, word in chart.ticks]) == (True, ["0.5bdp", "8bdp"])


def test_a_wide_range_is_logarithmic_with_zero_one_step_before() -> None:
    (chart,) = only(charts(table(("loss",), {(loss,): float(n) for n, loss in enumerate(LOSSES)})))
    places = {word: place for place, word in chart.ticks}
    step = math.log(20) / 2
    whole = step + math.log(20)
    assert chart.axis == "loss, logarithmic"
    assert places == pytest.approx(
        {"0%": 0, "0.1%": step / whole, "1%": (step + math.log(10)) / whole, "2%": 1}
    )


def test_words_are_places_side_by_side_and_not_joined() -> None:
    (chart,) = only(charts(table(("cc",), {("reno",): 1.0, ("bbr",): 2.0})))
    assert not chart.numeric
    assert chart.ticks == [(0.25, "reno"), (0.75, "bbr")]
    assert "l-line" not in chart_svg(chart)


@pytest.mark.parametrize("word", ["small receive buffer", "unbreakable-label"])
def test_every_level_that_is_a_word_stays_under_the_chart(word: str) -> None:
    words = [f"{word} {number}" for number in range(9)]
    (chart,) = only(charts(table(("fault",), {(level,): 1.0 + n for n, level in enumerate(words)})))
    root = ET.fromstring(chart_svg(chart))
    said = " ".join(part.text or "" for part in root.iter("text") if "l-x" in part.get("class", ""))
    assert sum(said.count(str(number)) for number in range(9)) == 9
    lowest = max(float(part.get("y", 0)) for part in root.iter("text"))
    assert lowest < float(root.get("viewBox", "").split()[3])


def test_a_third_factor_makes_a_chart_for_each_of_its_levels() -> None:
    cells = {
        (cc, f"{rtt}ms", q): rtt * 1.0 for cc in ("a", "b", "c") for rtt in (1, 2, 4, 8) for q in ("x", "y")
    }
    made = only(charts(table(("cc", "rtt", "queue"), cells)))
    assert [chart.title for chart in made] == ["queue x", "queue y"]
    assert made[0].across == "rtt"
    assert len(made[0].lines) == 3


def test_words_tell_lines_apart_before_numbers_do() -> None:
    every = product(LOSSES, ("1ms", "20ms", "300ms"), ("a", "bb"))
    made = only(charts(table(("loss", "rtt", "cc"), {head: float(sum(map(len, head))) for head in every})))
    assert [chart.title for chart in made] == ["rtt 1ms", "rtt 20ms", "rtt 300ms"]
    assert (made[0].across, made[0].by) == ("loss", "cc")


def test_what_does_not_differ_or_is_invalid_is_not_drawn() -> None:
    assert charts(table(("cc",), {("reno",): 1.0, ("bbr",): 1.0})) == {}
    assert charts(table((), {(): 1.0})) == {}
    some = table(("loss",), {("1%",): 1.0, ("2%",): 2.0, ("3%",): None})
    assert [point.level for point in only(charts(some))[0].lines[0].points] == ["1%", "2%"]
    bad = Table(some.heads, some.columns, [*some.rows[:2], Row(("4%",), [9.0], 3, valid=False)])
    (chart,) = only(charts(bad))
    assert chart.top == 2.0
    assert len(chart.lines[0].points) == 2


def test_how_many_runs_stand_behind_a_point_is_said() -> None:
    made = only(charts(table(("loss",), {("1%",): 1.0, ("2%",): 2.0}, count=3, spread=[(0.5, 2.5)])))
    assert counts(made) == "n = 3 repetitions a point: mean, and shade from least to greatest"
    assert made[0].top == 2.5
    assert "n = 3" in chart_svg(made[0])
    assert counts(only(charts(table(("cc",), {("a",): 1.0, ("b",): 2.0})))) == "n = 1 run a point"


@given(st.floats(1e-9, 1e12))
def test_the_axis_has_few_round_values_and_reaches_the_top(top: float) -> None:
    values = grid(top)
    assert 3 <= len(values) <= 7
    assert values[0] == 0
    assert top <= values[-1] * (1 + 1e-6) <= 2 * top


@given(
    st.lists(st.floats(0, 1), min_size=2, max_size=12).map(sorted),
    st.text("0123456789", min_size=1, max_size=5),
)
def test_words_of_the_axis_do_not_touch(places: list[float], word: str) -> None:
    kept = apart([(place, word) for place in places], 300, 6)
    gaps = [300 * (b - a) for (a, _), (b, _) in pairwise(kept)]
    assert all(gap >= 6 * len(word) for gap in gaps)


def test_a_drawing_is_well_formed_whatever_the_levels_say() -> None:
    evil = '<script>"&'
    (chart,) = only(
        charts(table((evil, "loss"), {(cc, x): v for (cc, x), v in GRID.items()} | {(evil, "1%"): 5e6}))
    )
    root = ET.fromstring(chart_svg(chart))
    links = list(root.iter("a"))
    assert len(links) == 9
    assert any(evil in str(link.get("aria-label")) for link in links)
    assert ET.fromstring(swatch_svg(5)).get("class") == "swatch"
