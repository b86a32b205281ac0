"""Words in a figure on paper, however long: none beyond its edge, none over others."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure as Sheet
from matplotlib.legend import Legend
from matplotlib.text import Text
from report_records import make_record, make_set
from test_figure import CELLS, GOODPUT, SWEEP, over_loss, taken

from rushhour.record.result_set import ResultSet
from rushhour.report.curves import Curve
from rushhour.report.figure import matrix, paper
from rushhour.report.figure.description import Matrix, MatrixPanel, Plot
from rushhour.report.figure.paper.words import inches, lines_of
from rushhour.report.gallery import draw as draw_all
from rushhour.report.gather import views
from rushhour.report.model import RunView
from rushhour.report.panels import Limit, Panel

AT = np.linspace(0.0, 10.0, 41)
FORMS = ("png", "svg", "pdf")
LONG = "a flow with a name as long as a name may be, 64 letters with all"


@pytest.fixture
def sheets(monkeypatch: pytest.MonkeyPatch) -> list[Sheet]:
    """The figures that are saved meanwhile, laid out as they are."""
    found: list[Sheet] = []
    save = Sheet.savefig

    def kept(sheet: Sheet, *args: Any, **options: Any) -> None:
        found.append(sheet)
        save(sheet, *args, **options)

    monkeypatch.setattr(Sheet, "savefig", kept)
    return found


def words_on(sheet: Sheet) -> Iterator[Text]:
    """All words that are drawn; ticks beyond the ends of an axis are not."""
    hidden = set()
    for axes in sheet.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if not low <= tick.get_loc() <= high:
                    hidden |= {tick.label1, tick.label2}
    for text in sheet.findobj(Text):
        assert isinstance(text, Text)
        seen = text.axes is None or text.axes.get_visible()
        if seen and text.get_visible() and text.get_text().strip() and text not in hidden:
            yield text


def faults(sheet: Sheet) -> list[str]:
    """Words beyond the edge or over other words, and axes that have next to no room; in words."""
    boxes = [(text.get_text(), text.get_window_extent()) for text in words_on(sheet)]
    edge = sheet.bbox.padded(1)
    found = [
        f"beyond the edge: {said}"
        for said, box in boxes
        if box.x0 < edge.x0 or box.y0 < edge.y0 or box.x1 > edge.x1 or box.y1 > edge.y1
    ]
    for (one, a), (other, b) in combinations(boxes, 2):
        wide, high = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        if wide > 2 and high > 2:
            found.append(f"{one} lies over {other}")
    for axes in (axes for axes in sheet.axes if axes.get_visible()):
        spec = axes.get_subplotspec()
        if spec and axes.get_window_extent().width < 0.4 * sheet.bbox.width / spec.get_gridspec().ncols:
            found.append(f"narrow: {axes.get_title()}")
    return found


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunView:
    folder = tmp_path_factory.mktemp("one")
    make_record(folder / "runs" / "0000", seconds=6)
    return next(iter(views(ResultSet.open(folder), curves=True, total_points=1000)))


def with_flows(run: RunView, names: list[str], *levels: float) -> RunView:
    """A run of so many flows with the panels that runs have, and levels in one of them."""
    flows = [Curve(name, place, AT, 20.0 + 10 * np.sin(AT + place)) for place, name in enumerate(names)]
    slow = [replace(flow, label=f"{flow.label} ssthresh", faint=True) for flow in flows]
    total = Curve("total", None, AT, np.sum([flow.values for flow in flows], axis=0))
    events = [replace(flow, label=f"retransmits {flow.label}") for flow in flows]
    panels = [
        Panel("cwnd", "Congestion window", "segments", [*flows, *slow]),
        Panel("rtt", "Round-trip time", "µs", flows, [Limit("base RTT", level) for level in levels]),
        Panel("queue", "Queue at the bottleneck", "bytes", [total], second=("µs", 0.08)),
        Panel("goodput", "Goodput", "bit/s", [*flows, total], [Limit("rate of the link", 25.0)]),
        Panel("events", "Events", "count", events, marks=True),
    ]
    return replace(run, flows=[], panels=panels, duration_s=10.0)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("names", [["a"], [f"download.{n}" for n in range(1, 9)], [LONG, LONG[::-1]]])
def test_a_run_has_room_for_its_flows(run: RunView, sheets: list[Sheet], names: list[str], form: str) -> None:
    paper.draw_run(with_flows(run, names, 1.0), form)
    assert faults(sheets[0]) == []


def test_a_run_has_room_for_long_words_and_many_flows(run: RunView, sheets: list[Sheet]) -> None:
    many = with_flows(run, [f"elephant.{n}" for n in range(1, 17)], 1.0, 1.2, 1.4)
    factors = {f"sysctl.net.ipv4.tcp_{n}": "4096 131072 6291456" for n in range(4)}
    long = replace(many, title="A title " * 12, factors=factors, conditions=["10 Mbit/s to everyone"] * 20)
    for view in (long, replace(long, valid=False)):
        paper.draw_run(view, "png")
    assert [faults(sheet) for sheet in sheets] == [[], []]


def test_an_invalid_run_says_so_first(run: RunView) -> None:
    assert b"INVALID" not in paper.draw_run(run, "svg")
    assert b">INVALID RUN. " in paper.draw_run(replace(run, valid=False), "svg")


def test_a_legend_says_once_what_is_drawn_alike(run: RunView, sheets: list[Sheet]) -> None:
    paper.draw_run(with_flows(run, ["a", "b"]), "svg")
    said = [
        [text.get_text() for text in legend.get_texts()] if (legend := axes.get_legend()) else []
        for axes in sheets[0].axes
    ]
    link = "rate of the link 25 bit/s"
    assert said == [["a", "b", "a ssthresh", "b ssthresh"], [], [], ["total", link], []]


def test_levels_have_their_words_where_they_cover_nothing(run: RunView, sheets: list[Sheet]) -> None:
    paper.draw_run(with_flows(run, ["a"], 2.0, 2.1, 15.0), "svg")
    axes = sheets[0].axes[1]
    # Neither side of the lowest has room: the next one is above it, and the axis below.
    legend = axes.get_legend()
    assert isinstance(legend, Legend)
    assert [text.get_text() for text in legend.get_texts()] == ["base RTT 2 µs"]
    words = [text for text in axes.texts if text.get_text()]
    assert [text.get_text() for text in words] == ["base RTT 2.1 µs", "base RTT 15 µs"]
    flow, *levels = axes.lines
    assert [float(np.asarray(line.get_ydata())[0]) for line in levels] == [2.0, 2.1, 15.0]
    samples = axes.transData.transform(np.column_stack(flow.get_data()))
    for box in (text.get_window_extent() for text in words):
        assert not any(box.contains(*sample) for sample in samples)


def longer(plot: Plot) -> Plot:
    """A figure with all words as long as people may write them."""
    facets = tuple(replace(facet, title=f"{facet.title} · {LONG}") for facet in plot.facets)
    entries = tuple(replace(entry, label=f"{entry.label} · {LONG}") for entry in plot.entries)
    axis = replace(plot.y, title=f"{plot.y.title} of {LONG}")
    return replace(plot, title=f"{plot.title}: {LONG} and {LONG}", facets=facets, entries=entries, y=axis)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("panels", [["topology.rtt"], []])
def test_a_figure_has_room_for_its_words(sheets: list[Sheet], panels: list[str], form: str) -> None:
    plot = over_loss(GOODPUT.model_copy(update={"panels": panels}))
    for one in (plot, longer(plot)):
        paper.draw(one, form)
    assert [faults(sheet) for sheet in sheets] == [[], []]


@pytest.mark.parametrize("form", FORMS)
def test_a_matrix_has_room_for_its_words(sheets: list[Sheet], form: str) -> None:
    asked = {"kind": "matrix", "x": "topology.loss", "y": "cc", "metric": "goodput_bps"}
    figure = GOODPUT.model_copy(update=asked)
    cells = [taken(cell, n, value=1e9 * n) for n, cell in enumerate(CELLS)]
    drawn = matrix.build(figure, SWEEP, cells, ())
    assert isinstance(drawn, Matrix)
    wide = replace(
        drawn,
        title=f"{drawn.title}: {LONG} and {LONG}",
        columns=tuple(f"{level} with a word" for level in drawn.columns),
        names=tuple(f"{level} {LONG}" for level in drawn.names),
        panels=tuple(MatrixPanel(f"{panel.title} {LONG}", panel.rows) for panel in drawn.panels),
    )
    for one in (drawn, wide):
        paper.draw(one, form)
    assert [faults(sheet) for sheet in sheets] == [[], []]


def test_all_figures_of_a_sweep_have_room(sheets: list[Sheet], tmp_path: Path) -> None:
    cells = [{"cc": cc, "topology.loss": loss} for cc in ("reno", "bbr", "htcp") for loss in ("0%", "1%")]
    make_set(tmp_path / "set", cells, seconds=6, title="A sweep over losses with a title that is long")
    made = draw_all(ResultSet.open(tmp_path / "set"), tmp_path / "figures", "png")
    assert len(made) == len(sheets) > len(cells)
    found = {path.name: faults(sheet) for path, sheet in zip(made, sheets, strict=True)}
    assert {name: said for name, said in found.items() if said} == {}


def test_words_are_broken_where_their_letters_end() -> None:
    wide = inches("wwww", 10)
    assert wide > 2 * inches("iiii", 10)
    assert lines_of("wwww wwww iiii", 1.1 * wide, 10) == ["wwww", "wwww", "iiii"]
    assert lines_of("iiii iiii", 1.1 * wide, 10) == ["iiii iiii"]
    assert lines_of("wwwwwwww", 1.1 * wide, 10) == ["wwww", "wwww"]
    assert lines_of("w", 0.001, 10) == ["w"]
    assert lines_of("", 1, 10) == []
