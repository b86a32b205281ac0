"""Overviews: which factor is the axis, which tells lines apart, where points lie, what is left out."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_answer import run as answered

from rushhour.metrics.value import TOTAL, MetricValue
from rushhour.report.figure import Plot
from rushhour.report.figure.overview import Overview, overviews
from rushhour.report.figure.ticks import apart, in_lines, rounds
from rushhour.report.model import RunView

LOSSES = ("2%", "0%", "0.1%", "1%")


def runs(cells: Mapping[Any, float | None], *names: str) -> list[RunView]:
    """Runs of one flow whose factors have these levels, and this Jain index."""

    def metric(value: float | None) -> MetricValue:
        return MetricValue("jain_index", TOTAL, value, "1", None if value is not None else "no flow")

    return [
        answered({"a": 1.0}, dict(zip(names, levels, strict=True)), more=(metric(value),))
        for levels, value in cells.items()
    ]


def only(found: Sequence[Overview]) -> Overview:
    (one,) = found
    assert one.metric == "jain_index"
    return one


def plot_of(found: Sequence[Overview]) -> Plot:
    plot = only(found).plot
    assert plot is not None
    return plot


GRID = {(cc, loss): 0.1 * (1 + n) for n, (cc, loss) in enumerate(product(("reno", "bbr"), LOSSES))}


def test_the_numbers_are_the_axis_and_the_words_the_lines() -> None:
    plot = plot_of(overviews(runs(GRID, "cc", "loss")))
    assert (plot.x.title, plot.x.numeric, plot.legend) == ("loss", True, "algorithm")
    assert [word for _, word in plot.x.ticks] == ["0%", "0.1%", "1%", "2%"]
    reno, bbr = plot.facets[0].traces
    assert (reno.label, bbr.label) == ("reno", "bbr")
    assert reno.y.tolist() == pytest.approx([0.2, 0.3, 0.4, 0.1])
    # Each point leads to its run.
    assert (reno.runs, bbr.runs) == ((1, 2, 3, 0), (5, 6, 7, 4))


def test_a_wide_range_is_logarithmic_with_zero_one_step_before() -> None:
    plot = plot_of(overviews(runs({(loss,): 0.1 * n for n, loss in enumerate(LOSSES)}, "loss")))
    places = {word: place for place, word in plot.x.ticks}
    step = math.log(20) / 2
    whole = step + math.log(20)
    assert plot.x.label == "loss (logarithmic)"
    assert places == pytest.approx(
        {"0%": 0, "0.1%": step / whole, "1%": (step + math.log(10)) / whole, "2%": 1}
    )


def test_buffers_in_bdp_are_numbers_too() -> None:
    plot = plot_of(overviews(runs({("8bdp",): 0.1, ("0.5bdp",): 0.2}, "buffer")))
    assert (plot.x.numeric, [word for _, word in plot.x.ticks]) == (True, ["0.5 BDP", "8 BDP"])


def test_words_are_places_side_by_side_and_not_joined() -> None:
    plot = plot_of(overviews(runs({("reno",): 0.1, ("bbr",): 0.2}, "cc")))
    assert not plot.x.numeric
    assert plot.x.ticks == ((0.25, "reno"), (0.75, "bbr"))


def test_a_third_factor_makes_a_panel_and_a_sheet_for_each_of_its_levels() -> None:
    cells = {
        (cc, f"{rtt}ms", q): rtt * 0.1 for cc in ("a", "b", "c") for rtt in (1, 2, 4, 8) for q in ("x", "y")
    }
    found = only(overviews(runs(cells, "cc", "rtt", "queue")))
    assert found.plot is not None
    assert found.matrix is not None
    assert [facet.title for facet in found.plot.facets] == ["queue: x", "queue: y"]
    assert found.plot.x.title == "base RTT"
    assert [len(facet.traces) for facet in found.plot.facets] == [3, 3]
    assert (found.matrix.down, found.matrix.across) == ("algorithm", "base RTT")
    assert [panel.title for panel in found.matrix.panels] == ["queue: x", "queue: y"]


def test_words_tell_lines_apart_before_numbers_do() -> None:
    every = product(LOSSES, ("1ms", "20ms", "300ms"), ("a", "bb"))
    found = overviews(runs({levels: 0.01 * sum(map(len, levels)) for levels in every}, "loss", "rtt", "cc"))
    plot = plot_of(found)
    assert [facet.title for facet in plot.facets] == ["base RTT 1 ms", "base RTT 20 ms", "base RTT 300 ms"]
    assert (plot.x.title, plot.legend) == ("loss", "algorithm")


def test_factors_that_vary_together_are_one() -> None:
    cells = {
        (f"{rate}mbit", f"load {n}", cc): 0.1 * n for n, rate in enumerate((10, 20, 40), 1) for cc in "ab"
    }
    found = only(overviews(runs(cells, "rate", "load", "cc")))
    assert found.plot is not None
    assert found.matrix is not None
    assert found.plot.x.title == "rate"
    assert [len(trace.x) for trace in found.plot.facets[0].traces] == [3, 3]
    assert [len(panel.rows) for panel in found.matrix.panels] == [2]


def test_what_does_not_differ_has_no_overview() -> None:
    assert overviews(runs({("reno",): 0.1, ("bbr",): 0.1}, "cc")) == []
    assert overviews(runs({("reno",): 0.1}, "cc")) == []
    assert overviews([]) == []


def test_what_is_invalid_is_left_out_and_said() -> None:
    cells = {(cc, loss): 0.1 * (1 + n) for n, (cc, loss) in enumerate(product("ab", ("1%", "2%", "3%")))}
    some = runs(cells, "cc", "loss")
    some[5] = replace(some[5], valid=False)
    found = only(overviews(some))
    assert found.plot is not None
    assert found.matrix is not None
    assert [len(trace.x) for trace in found.plot.facets[0].traces] == [3, 2]
    assert found.plot.facets[0].top < 0.6
    field = found.matrix.panels[0].rows[1][2]
    assert field is not None
    assert (field.text, field.shade, field.run) == ("invalid", None, 5)
    assert found.notes == ("1 invalid run is left out.", "Each point is one run.")


def test_repetitions_are_means_with_their_spread_and_counted() -> None:
    cells = {(loss, str(n)): 0.1 * n + at for at, loss in enumerate(("1%", "2%")) for n in range(3)}
    plot = plot_of(overviews(runs(cells, "loss", "repetition")))
    (trace,) = plot.facets[0].traces
    assert trace.y.tolist() == pytest.approx([0.1, 1.1])
    assert trace.low is not None
    assert trace.low.tolist() == pytest.approx([0.0, 1.0])
    assert plot.notes == ("Points are means of 3 repetitions; bars reach from the least to the greatest.",)


def test_shades_of_a_wide_range_follow_the_logarithm() -> None:
    values = (0.001, 0.01, 0.1, 1.0)
    cells = dict(zip(product("ab", ("1ms", "2ms")), values, strict=True))
    found = only(overviews(runs(cells, "cc", "rtt")))
    assert found.matrix is not None
    assert [field.shade for row in found.matrix.panels[0].rows for field in row if field] == [0, 3, 5, 8]
    assert "The colour scale is logarithmic." in found.notes


def test_shares_have_a_panel_for_each_flow_in_per_cent() -> None:
    some = [answered({"a": part, "b": 1 - part}, {"buffer": size}) for part, size in ((0.9, "s"), (0.4, "l"))]
    (found,) = overviews(some)
    assert (found.metric, found.title) == ("goodput_share", "share of the goodput")
    assert found.plot is not None
    assert found.plot.y.label == "Share of the goodput, %"
    traces = {trace.label: trace.said for trace in found.plot.facets[0].traces}
    assert traces == {"a": ("90.0%", "40.0%"), "b": ("10.0%", "60.0%")}


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9))
def test_the_axis_has_few_round_values_within_its_span(low: float, span: float) -> None:
    high = low + span
    if high - low > 1e-6 * max(abs(low), abs(high)):
        values = rounds(low, high)
        assert 3 <= len(values) <= 9
        assert np.all(np.diff(values) > 0)


@given(
    st.lists(st.floats(0, 1), min_size=2, max_size=12).map(sorted),
    st.text("0123456789", min_size=1, max_size=5),
)
def test_words_of_the_axis_do_not_touch(places: list[float], word: str) -> None:
    kept = apart([(place, word) for place in places], 300, 6)
    gaps = [300 * (b - a) for (a, _), (b, _) in pairwise(kept)]
    assert all(gap >= 6 * len(word) for gap in gaps)


def test_levels_that_are_words_are_broken_into_lines_or_not_at_all() -> None:
    assert in_lines(["small receive buffer", "lost route"], 8) == [
        ["small", "receive", "buffer"],
        ["lost", "route"],
    ]
    assert in_lines(["unbreakable-label"], 8) is None
