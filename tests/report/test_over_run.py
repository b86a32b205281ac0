"""A run's panels as figures: looks of the report, levels, rows of events."""

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import numpy as np

from rushhour.report.curves import Curve
from rushhour.report.figure.over_run import figure
from rushhour.report.figure.paper.style import COLOURS, NEUTRAL, QUEUES, line_style
from rushhour.report.panels import MAX_FLOWS, Limit, Panel, _sum, flows_of

if TYPE_CHECKING:
    from rushhour.record.record import Record

AT = np.array([0.0, 1.0, 2.0])


def curve(label: str, flow: int | None, *values: float, faint: bool = False) -> Curve:
    return Curve(label, flow, AT, np.array(values), faint=faint)


def test_a_curve_has_the_look_of_its_flow_and_queues_have_their_own() -> None:
    curves = [
        curve("b", 1, 1, 2, 3),
        curve("b ssthresh", 1, 1, 1, 1, faint=True),
        curve("total", None, 1, 2, 3),
    ]
    plot = figure(
        Panel("x", "Window", "segments", [*curves, curve("left → right", None, 1, 2, 3)]), 2.0, [4, 5]
    )
    styles = [line_style(trace, plot) for trace in plot.facets[0].traces]
    assert [style["color"] for style in styles] == [COLOURS[5], COLOURS[5], NEUTRAL, QUEUES[3]]
    assert [style["linestyle"] == ":" for style in styles] == [False, True, False, False]
    assert [entry.label for entry in plot.entries] == ["b", "b ssthresh", "total", "left → right"]


def test_a_level_far_above_all_samples_does_not_flatten_them() -> None:
    panel = Panel("queue", "Queue", "bytes", [curve("q", None, 1e5, 2e5, 3e5)], [Limit("buffer", 5e5)])
    plot = figure(panel, 2.0)
    assert plot.facets[0].top == 5e5
    assert [level.said for level in plot.facets[0].references] == ["buffer 500 kB"]
    assert (plot.y.label, plot.y.divisor) == ("Queue, kB", 1e3)
    flat = figure(Panel("queue", "Queue", "bytes", panel.curves, [Limit("buffer", 5e7)]), 2.0)
    assert flat.facets[0].top == 3e5


def test_many_flows_of_one_kind_do_not_hide_those_of_another() -> None:
    flows = [SimpleNamespace(kind="ping") for _ in range(2 * MAX_FLOWS)] + [SimpleNamespace(kind="udp")]
    record = cast("Record", SimpleNamespace(flows=lambda: flows))
    assert [position for position, _ in flows_of(record, "udp")] == [2 * MAX_FLOWS]
    assert len(list(flows_of(record))) == len(list(flows_of(record, "ping"))) == MAX_FLOWS


def test_verdicts_draw_the_base_pale_and_alike() -> None:
    curves = [curve("base a", 0, 1, 2, 3), curve("base q", None, 1, 2, 3)]
    panel = Panel("x", "Window", "segments", curves * 2)
    plot = figure(panel, 2.0, pale=2, mark_s=0.5)
    assert [style.pale for style in plot.styles] == [True, True, False, False]
    assert [replace(style, pale=False) for style in plot.styles[:2]] == list(plot.styles[2:])
    assert [one.x for one in plot.facets[0].instants] == [0.5]


def test_a_second_axis_is_the_first_times_a_constant() -> None:
    panel = Panel("queue", "Queue", "bytes", [curve("q", None, 1e5, 2e5, 3e5)], second=("µs", 0.08))
    second = figure(panel, 2.0).second
    assert second is not None
    assert (second.unit, second.divisor, second.factor) == ("ms", 1e3, 0.08)


def test_a_total_is_zero_where_no_flow_sends() -> None:
    early = Curve("a", 0, np.array([1.0, 2.0]), np.array([4.0, 6.0]), "interval")
    late = Curve("b", 1, np.array([6.0, 7.0]), np.array([8.0, 8.0]), "interval")
    total = _sum([early, late])
    # Each value is that of the interval before: between 2 s and 5 s there is nothing.
    assert total.t_s.tolist() == [0, 1, 2, 5, 6, 7]
    assert total.values.tolist() == [0, 4, 6, 0, 8, 8]


def test_events_are_lanes_and_nothing_at_all_has_an_axis() -> None:
    assert figure(Panel("events", "Events", "count", [curve("drops", None, 1, 2, 3)], marks=True), 2.0).lanes
    empty = figure(Panel("x", "Nothing", "bytes", [curve("q", None, np.nan, np.nan, np.nan)]), 2.0)
    assert empty.facets[0].top == 1.0
