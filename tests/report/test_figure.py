"""Figures that compare cells: which panel, line and place, what is joined, what stands in the legend."""

from typing import Any

import numpy as np
import pytest

from rushhour.models.case import Prediction
from rushhour.report.curves import Curve
from rushhour.report.figure import curves, matrix, points
from rushhour.report.figure.collect import Taken
from rushhour.report.figure.description import Plot, Trace
from rushhour.report.figure.places import factor_axis, layout
from rushhour.report.figure.ticks import rounds
from rushhour.report.figure.titles import name_of, spoken, title_of
from rushhour.report.model import said
from rushhour.spec.figure import Figure
from rushhour.spec.published import Published
from rushhour.spec.sweep import Sweep

LOSSES = ["0%", "0.01%", "1%"]
SWEEP = Sweep({"cc": ["reno", "bbr"], "topology.loss": LOSSES, "topology.rtt": ["10ms", "100ms"]})
CELLS = [
    {"cc": cc, "topology.loss": loss, "topology.rtt": rtt}
    for cc in ("reno", "bbr")
    for loss in LOSSES
    for rtt in ("10ms", "100ms")
]
GOODPUT = Figure.model_validate(
    {
        "title": "Goodput",
        "y": "goodput_bps",
        "x": "topology.loss",
        "lines": ["cc"],
        "panels": ["topology.rtt"],
    }
)


def taken(factors: dict[str, Any], cell: int = 0, scope: str = "total", **more: Any) -> Taken:
    name = scope.partition(":")[2]
    own = {"flow": name} if name else {}
    return Taken(cell, cell, more.pop("repetition", 0), scope, {**factors, **own, "kernel": "6.12"}, **more)


def over_loss(figure: Figure = GOODPUT, published: tuple[Published, ...] = (), **more: Any) -> Plot:
    made = points.build(
        figure,
        SWEEP,
        [taken(cell, n, value=1e6 * (n + 1), **more) for n, cell in enumerate(CELLS)],
        published,
        (),
    )
    assert made is not None
    return made


def of_role(plot: Plot, role: str, facet: int = 0) -> list[Trace]:
    return [trace for trace in plot.facets[facet].traces if trace.role == role]


def test_panels_lines_and_points_are_where_the_factors_say() -> None:
    plot = over_loss()
    assert [facet.title for facet in plot.facets] == ["base RTT 10 ms", "base RTT 100 ms"]
    assert [(trace.label, trace.look) for trace in of_role(plot, "measured")] == [("reno", 0), ("bbr", 1)]
    reno = of_role(plot, "measured", 1)[0]
    assert reno.y.tolist() == [2e6, 4e6, 6e6]
    assert reno.x.tolist() == [0.0, 0.5, 1.0]
    assert reno.said == ("2.00 Mbit/s", "4.00 Mbit/s", "6.00 Mbit/s")
    assert plot.x.ticks == ((0.0, "0%"), (0.5, "0.01%"), (1.0, "1%"))
    assert (plot.x.label, plot.y.label) == ("loss (logarithmic)", "Goodput, Mbit/s")
    assert [entry.label for entry in plot.entries] == ["reno", "bbr"]
    assert plot.legend == "algorithm"


def test_what_is_not_named_tells_lines_apart() -> None:
    figure = GOODPUT.model_copy(update={"panels": (), "lines": ()})
    plot = over_loss(figure)
    labels = [trace.label for trace in of_role(plot, "measured")]
    assert labels == ["reno · 10 ms", "reno · 100 ms", "bbr · 10 ms", "bbr · 100 ms"]
    assert plot.legend == "algorithm · base RTT"
    # Colours for one factor, dashes and marks for the other.
    assert [(style.colour, style.dash, style.mark) for style in plot.styles] == [
        *((0, 0, 0), (0, 1, 1), (1, 0, 0), (1, 1, 1))
    ]


def test_of_coupled_factors_one_that_tells_the_steps_apart_is_enough() -> None:
    sweep = Sweep({"together": [{"topology.rate": ["1mbit", "2mbit"], "label.load": [2, 1]}]})
    cells = [{"topology.rate": "1mbit", "label.load": 2}, {"topology.rate": "2mbit", "label.load": 1}]
    by_label = Figure.model_validate({"title": "L", "y": "loss", "x": "label.load"})
    assert layout(by_label, sweep, cells).lines == ()
    # One rate for two loads: the label that is left tells them apart.
    same = [cell | {"topology.rate": "1mbit"} for cell in cells]
    by_rate = Figure.model_validate({"title": "L", "y": "loss", "x": "topology.rate"})
    assert layout(by_rate, sweep, same).lines == ("label.load",)


def test_repetitions_are_a_mean_with_bars() -> None:
    cell = CELLS[0]
    some = [taken(cell, 0, value=value, repetition=n) for n, value in enumerate((1e6, 2e6, 6e6))]
    plot = points.build(GOODPUT, SWEEP, some, (), ())
    assert plot is not None
    (trace,) = of_role(plot, "measured")
    assert trace.low is not None and trace.high is not None  # noqa: PT018 both or none
    assert (trace.y[0], trace.low[0], trace.high[0]) == (3e6, 1e6, 6e6)
    assert trace.said == ("3.000 Mbit/s (1.000 … 6.000, n = 3)",)
    assert "means of 3 repetitions" in plot.notes[0]


def test_undefined_values_are_counted_not_drawn() -> None:
    some = [taken(CELLS[0], 0, value=1.0), taken(CELLS[2], 1, value=None)]
    plot = points.build(GOODPUT, SWEEP, some, (), ())
    assert plot is not None
    assert plot.notes == ("Each point is one run.", "In 1 run the metric is undefined.")
    assert points.build(GOODPUT, SWEEP, some[1:], (), ()) is None


def test_numbers_that_were_published_lie_at_their_cells() -> None:
    table = Published.model_validate(
        {
            "source": "Table 3",
            "title": "Goodput",
            "metric": "goodput_bps",
            "unit": "kbit/s",
            "values": [
                {"where": {"cc": "reno", "topology.loss": "1%"}, "value": 5500, "spread": 500},
                {"where": {"cc": "bbr", "topology.loss": "0%", "topology.rtt": "100ms"}, "value": 9000},
            ],
        }
    )
    plot = over_loss(published=(table,))
    (first,) = of_role(plot, "published", 0)
    assert (first.look, first.x.tolist(), first.y.tolist()) == (0, [1.0], [5.5e6])
    assert first.low is not None
    assert first.low.tolist() == [5e6]
    assert [trace.look for trace in of_role(plot, "published", 1)] == [0, 1]
    entry = plot.entries[-1]
    assert (entry.label, entry.role, entry.look) == ("published, Table 3", "published", None)


def test_theory_within_its_range_and_outside() -> None:
    def told(cell: dict[str, str]) -> dict[str, Prediction]:
        at = LOSSES.index(cell["topology.loss"])
        return {"mathis": (Prediction(None, "no loss"), Prediction(8e6), Prediction(2e6, "timeouts"))[at]}

    figure = GOODPUT.model_copy(update={"model": ("mathis",)})
    some = [taken(cell, n, value=1e6, predictions=told(cell)) for n, cell in enumerate(CELLS)]
    plot = points.build(figure, SWEEP, some, (), ())
    assert plot is not None
    # Both lines are told the same: one of no line's colour.
    (inside,) = of_role(plot, "model")
    assert inside.look is None
    np.testing.assert_array_equal(inside.y, [8e6, np.nan])
    (outside,) = of_role(plot, "doubtful")
    np.testing.assert_array_equal(outside.y, [8e6, 2e6])
    assert outside.said[1] == "2.000 Mbit/s (timeouts)"
    # Theory far above what was measured does not flatten it.
    assert plot.facets[0].top < 2e6
    assert [entry.label for entry in plot.entries][-2:] == [
        "Mathis et al. 1997",
        "Mathis et al. 1997, outside its range",
    ]


def test_words_on_the_axis_lie_side_by_side() -> None:
    figure = Figure.model_validate({"title": "G", "y": "goodput_bps", "x": "cc", "lines": ["topology.loss"]})
    cells = [cell for cell in CELLS if cell["topology.rtt"] == "10ms"]
    plot = points.build(figure, SWEEP, [taken(c, n, value=1.0 + n) for n, c in enumerate(cells)], (), ())
    assert plot is not None
    assert not plot.x.numeric
    assert [style.place for style in plot.styles] == [0.0, 0.5, 1.0]
    first = [float(trace.x[0]) for trace in of_role(plot, "measured")]
    assert first == sorted(first)
    assert len(set(first)) == 3
    assert np.mean(first) == pytest.approx(0.25)


def test_flows_are_lines_of_their_own_where_nothing_else_is_said() -> None:
    some = [
        taken({"cc": "reno"}, 0, scope=f"flow:{name}", value=value)
        for name, value in (("a", 1.0), ("b", 2.0))
    ]
    figure = Figure.model_validate({"title": "G", "y": "goodput_bps", "x": "cc"})
    plot = points.build(figure, Sweep({"cc": ["reno", "bbr"]}), some, (), ())
    assert plot is not None
    assert [trace.label for trace in of_role(plot, "measured")] == ["a", "b"]


def curve(values: list[float]) -> Curve:
    return Curve("x", None, np.arange(len(values), dtype=float), np.array(values), "hold")


def test_curves_are_lines_by_level_and_limits_are_level() -> None:
    figure = Figure.model_validate(
        {
            "title": "W",
            "y": "snd_cwnd",
            "lines": ["topology.loss"],
            "panels": ["topology.rtt"],
            "model": ["bdp"],
        }
    )
    cells = [cell for cell in CELLS if cell["cc"] == "reno"]
    some = [
        taken(
            cell,
            n,
            scope="flow:bulk",
            duration_s=2.0,
            curve=curve([0.0, 10.0, 5.0 + n]),
            predictions={"bdp": Prediction(8.0)},
        )
        for n, cell in enumerate(cells)
    ]
    plot = curves.build(figure, SWEEP, some, (), ())
    assert plot is not None
    assert plot.over_time
    assert [style.place for style in plot.styles] == [0.0, 0.5, 1.0]
    assert (plot.x.label, plot.x.high, plot.y.label) == ("Time, s", 2.0, "Congestion window, segments")
    assert [trace.label for trace in of_role(plot, "measured")] == ["0%", "0.01%", "1%"]
    (limit,) = of_role(plot, "model")
    assert limit.y.tolist() == [8.0, 8.0]
    assert limit.x.tolist() == [0.0, 2.0]


def test_what_is_too_many_is_left_out_and_said() -> None:
    sweep = Sweep({"seed": list(range(1, 31)), "cc": ["reno", "bbr"]})
    cells = [{"seed": seed, "cc": "reno" if seed < 28 else "bbr"} for seed in range(1, 31)]
    over_time = Figure.model_validate({"title": "W", "y": "snd_cwnd", "lines": ["seed"], "panels": ["cc"]})
    some = [
        taken(cell, n, scope="flow:a", curve=curve([1.0, np.nan]), duration_s=1.0)
        for n, cell in enumerate(cells)
    ]
    plot = curves.build(over_time, sweep, some, (), ())
    assert plot is not None
    # The panel of which no line is left is left out with them.
    assert [len(facet.traces) for facet in plot.facets] == [24]
    assert plot.notes == ("The first 24 of 30 lines.",)
    over_cc = Figure.model_validate(
        {"title": "L", "y": "loss", "x": "cc", "lines": ["seed"], "y_scale": "log"}
    )
    made = points.build(over_cc, sweep, [taken(cell, n, value=0.0) for n, cell in enumerate(cells)], (), ())
    assert made is not None
    assert [word for _, word in made.x.ticks] == ["reno"]
    assert (made.facets[0].low, made.facets[0].top) == (1.0, 1.0)


def test_a_published_mean_is_a_level_over_the_time_it_is_of() -> None:
    figure = Figure.model_validate({"title": "R", "y": "srtt_us", "to": "1s"})
    table = Published.model_validate(
        {"source": "4.5", "title": "RTT", "metric": "srtt_mean_us", "flow": "bulk", "unit": "ms"}
        | {"from": "500ms", "to": "8s", "values": [{"value": 27, "spread": 2}]}
    )
    one = taken({}, 0, scope="flow:bulk", curve=curve([1e3, 2e3]), duration_s=2.0)
    plot = curves.build(figure, Sweep(), [one], (table,), ())
    assert plot is not None
    (level,) = of_role(plot, "published")
    assert (level.x.tolist(), level.y.tolist()) == ([0.5, 1.0], [27e3, 27e3])
    assert level.low is not None
    assert level.low.tolist() == [25e3, 25e3]
    other = taken({}, 0, scope="flow:other", curve=curve([1e3, 2e3]), duration_s=2.0)
    without = curves.build(figure, Sweep(), [other], (table,), ())
    assert without is not None
    assert not of_role(without, "published")


def test_a_matrix_has_a_sheet_for_each_level_of_the_rest() -> None:
    figure = Figure.model_validate(
        {"title": "M", "kind": "matrix", "x": "topology.loss", "y": "cc", "metric": "goodput_bps"}
    )
    some = [taken(cell, n, value=1e6 * n) for n, cell in enumerate(CELLS[:-1])]
    made = matrix.build(figure, SWEEP, some, ())
    assert made is not None
    assert [panel.title for panel in made.panels] == ["base RTT 10 ms", "base RTT 100 ms"]
    assert (made.columns, made.names) == (("0%", "0.01%", "1%"), ("reno", "bbr"))
    corner = made.panels[0].rows[0][0]
    assert corner is not None
    assert (corner.value, corner.shade, corner.run) == (0.0, 0, 0)
    assert made.panels[1].rows[1][2] is None
    assert (made.least, made.greatest) == ("0 Mbit/s", "10.00 Mbit/s")


def test_shades_of_a_wide_range_follow_the_logarithm() -> None:
    figure = Figure.model_validate(
        {"title": "M", "kind": "matrix", "x": "topology.loss", "y": "cc", "metric": "goodput_bps"}
    )
    some = [taken(cell, n, value=10.0**n) for n, cell in enumerate(CELLS[::2][:3])]
    made = matrix.build(figure, SWEEP, some, ())
    assert made is not None
    assert [field.shade for row in made.panels[0].rows for field in row if field] == [0, 4, 8]
    assert made.notes == ("The colour scale is logarithmic.",)


@pytest.mark.parametrize(
    ("levels", "scale", "places", "log"),
    [
        (["1%", "2%", "4%"], None, [0, 1 / 3, 1], False),
        (["1%", "2%", "4%"], "log", [0, 0.5, 1], True),
        (["1ms", "10ms", "100ms"], None, [0, 0.5, 1], True),
        (["1ms", "10ms", "100ms"], "linear", [0, 9 / 99, 1], False),
        (["0%", "1%", "20%"], None, [0, 0.5, 1], True),
        (["7"], None, [0.5], False),
    ],
)
def test_axes_of_numbers(levels: list[str], scale: str | None, places: list[float], log: bool) -> None:
    axis, found = factor_axis("topology.loss", levels, scale)
    assert [found[level] for level in levels] == pytest.approx(places)
    assert axis.log is log


def test_among_words_a_size_stays_as_it_was_written() -> None:
    mixed, _ = factor_axis("label.buffer", ["8 KiB", "8 KiB and a slow reader"], None)
    assert [word for _, word in mixed.ticks] == ["8 KiB", "8 KiB and a slow reader"]
    kinds, _ = factor_axis("topology.buffer", ["60kB", "2bdp"], None)
    assert [word for _, word in kinds.ticks] == ["60 kB", "2 BDP"]


def test_a_table_of_settings_is_a_level_in_words() -> None:
    assert said({"rate": "2mbit", "ecn": True}) == "rate 2mbit, ecn on"


def test_many_levels_have_round_ticks() -> None:
    axis, _ = factor_axis("label.ratio", [f"{0.4 + 0.2 * n:.1f}" for n in range(19)], "linear")
    assert [word for _, word in axis.ticks] == ["0.5", "1", "1.5", "2", "2.5", "3", "3.5", "4"]
    assert axis.ticks[-1][0] == pytest.approx(1)
    assert len(axis.levels) == 19
    assert rounds(0, 1) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])


def test_words_for_people() -> None:
    assert [spoken(level) for level in ("10ms", "100mbit", "500kB", "1bdp", "100p", "0.1%", "reno", "2")] == [
        *("10 ms", "100 Mbit/s", "500 kB", "1 BDP", "100 packets", "0.1%", "reno", "2")
    ]
    assert name_of("topology.rtt") == "base RTT"
    assert name_of("label.over-subscription") == "over-subscription"
    assert name_of("flow.short.start") == "start of short"
    assert name_of("sysctl.net.ipv4.tcp_sack") == "tcp_sack"
    assert title_of("queue_delay_p95_us") == "Queue delay, 95th percentile"
    assert title_of("jain_index") == "Jain index"
