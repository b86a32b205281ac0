"""Figures in the terminal: marks where the points are, nothing covered, nothing wider than the screen."""

import io
import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from report_records import make_set
from rich.console import Console
from test_overview import runs

from rushhour.record.result_set import ResultSet
from rushhour.report.braille import Canvas
from rushhour.report.figure import figures_of, page, paper, screen
from rushhour.report.figure.description import Axis, Drawing, Facet, LegendEntry, Plot, Role, Style, Trace
from rushhour.report.figure.overview import overviews
from rushhour.report.terminal import print_results

WORDS = ("small receive buffer", "lost route", "unbreakable-long-label", "slow reader")


def text_of(drawing: Drawing, width: int = 80) -> list[str]:
    said = io.StringIO()
    Console(file=said, width=width, no_color=True).print(screen.show(drawing, width))
    return said.getvalue().splitlines()


def plot(*traces: Trace, log: bool = False) -> Plot:
    entries = tuple(LegendEntry(one.group, one.label, one.role, one.look) for one in traces)
    styles = tuple(Style(look, None, look, look) for look in range(len(traces)))
    x, y = Axis("loss", ticks=((0.0, "0%"), (1.0, "1%"))), Axis("Goodput", "Mbit/s", 1e6, log=log)
    return Plot(
        "Goodput by loss", "", "", x, y, (Facet("", traces, 1e5, 10e6),), entries,
        "algorithm", styles, over_time=False, same=True,
    )  # fmt: skip


def trace(look: int, values: list[float], role: Role = "measured", **more: Any) -> Trace:
    at, label = np.linspace(0, 1, len(values)), ("reno", "bbr", "theory")[look]
    return Trace(label, look, f"line:{look}", role, at, np.array(values), **more)


def test_points_lie_where_their_values_are_and_theory_has_no_marks() -> None:
    lines = text_of(
        plot(trace(0, [10e6, 1e5]), trace(1, [1e5, 5e6], "published"), trace(2, [1e6, 1e6], "model"))
    )
    assert lines[0] == "Goodput by loss  Goodput, Mbit/s"
    assert lines[1] == "algorithm:  ● reno  □ bbr  ⠒⠒ theory"
    chart = lines[2:10]
    assert chart[0].startswith("     10 │")
    assert chart[-1].startswith("    0.1 │")
    assert "●" in chart[0][:20]
    assert "●" in chart[-1][60:]
    assert "□" in chart[-1][:20]
    assert "□" in chart[3][60:] + chart[4][60:]
    assert lines[10].split() == ["0%", "1%"]


def test_a_logarithmic_axis_puts_the_mean_of_powers_in_the_middle() -> None:
    chart = text_of(plot(trace(0, [1e6, 1e6]), log=True))[1:]
    assert [row for row, line in enumerate(line for line in chart if "│" in line) if "●" in line] in (
        [3],
        [4],
    )


def test_points_that_fall_together_are_all_seen() -> None:
    lines = text_of(plot(trace(0, [5e6, 5e6]), trace(1, [5e6, 5e6])))
    drawn = "".join(line for line in lines if "│" in line)
    assert (drawn.count("●"), drawn.count("■")) == (2, 2)


@pytest.mark.parametrize("width", [50, 80, 120])
def test_every_level_that_is_a_word_stays_and_nothing_is_too_wide(width: int) -> None:
    cells = {(cc, word): 0.1 * n for n, (cc, word) in enumerate(product(("a", "b"), WORDS))}
    (found,) = overviews(runs(cells, "cc", "fault"))
    assert found.plot is not None
    assert found.matrix is not None
    lines = text_of(found.plot, width)
    assert max(map(len, lines)) <= width
    assert all(word[:4] in "".join(lines) for word in WORDS)
    table = text_of(found.matrix, width)
    assert max(map(len, table)) <= width
    assert ("In the report: " in "".join(table)) == (width < 80)


@pytest.mark.parametrize("width", range(60, 130, 7))
def test_levels_that_are_words_never_run_together(width: int) -> None:
    levels = ["eleven one 78901", "eleven two 78901", "eleven 3 789 123", "four", "five five five five"]
    (found,) = overviews(runs({("a", word): 0.1 * n for n, word in enumerate(levels)}, "cc", "fault"))
    assert found.plot is not None
    lines = text_of(found.plot, width)
    axis = next(number for number, line in enumerate(lines) if line.lstrip().startswith("0 │"))
    title = next(number for number, line in enumerate(lines) if line.strip() == "fault")
    under = [word for line in lines[axis + 1 : title] for word in line.split()]
    assert sorted(under) == sorted(word for level in levels for word in level.split())


def test_of_levels_that_find_no_room_only_the_long_words_are_cut() -> None:
    levels = ["the path is well", "the path dies, tcp_orphan_retries = 0", "DCTCP"]
    (found,) = overviews(runs({("a", word): 0.1 * n for n, word in enumerate(levels)}, "cc", "fault"))
    assert found.plot is not None
    under = " ".join(" ".join(line.split()) for line in text_of(found.plot, 50))
    assert "DCTCP" in under
    assert "DCTCP…" not in under
    assert all(word in under for word in ("well", "dies,", "tcp_orph"))


def test_long_words_break_behind_their_hyphens_before_they_are_cut() -> None:
    levels = [
        "cake besteffort triple-isolate autorate-ingress",
        "cake precedence",
        "cake diffserv4",
        "cake wash",
    ]
    (found,) = overviews(runs({("a", word): 0.1 * n for n, word in enumerate(levels)}, "cc", "fault"))
    assert found.plot is not None
    under = " ".join(" ".join(line.split()) for line in text_of(found.plot, 60))
    assert all(word in under for word in ("triple-", "isolate", "autorate-", "ingress"))
    assert "…" not in under


def test_a_sweep_ends_with_the_figure_its_scenario_has_first_over_a_factor(tmp_path: Path) -> None:
    cells = [{"cc": cc, "topology.loss": loss} for cc in ("reno", "bbr") for loss in ("0%", "1%")]
    path = make_set(tmp_path / "set", cells, seconds=6)
    assert "Share of the goodput, %" in screen_of(path)
    figures = [
        {"title": "Windows", "y": "snd_cwnd", "lines": ["topology.loss"]},
        {"title": "Delay", "y": "srtt_p50_us", "x": "topology.loss", "lines": ["cc"], "flow": "long"},
    ]
    sweep = {"cc": ["reno", "bbr"], "topology.loss": ["0%", "1%"]}
    (path / "set.json").write_text(
        json.dumps({"scenario": {"resolved": {"figure": figures, "sweep": sweep}}})
    )
    said = screen_of(path)
    assert "Delay  Smoothed round-trip time, median, ms\nalgorithm:  ● reno  ■ bbr\n" in said
    assert "Share of the goodput, %" not in said
    assert max(map(len, said.splitlines())) <= 80


def screen_of(path: Path) -> str:
    text = io.StringIO()
    print_results(ResultSet.open(path), Console(file=text, width=80, no_color=True))
    return text.getvalue()


def test_every_kind_of_figure_is_drawn_by_every_drawer(tmp_path: Path) -> None:
    cells = [{"cc": cc, "topology.loss": loss} for cc in ("reno", "bbr") for loss in ("0%", "1%")]
    path = make_set(tmp_path / "set", cells, seconds=6)
    figures = [
        {"title": "Windows", "y": "snd_cwnd", "lines": ["topology.loss"], "panels": ["cc"], "from": "1s"},
        {"title": "Delay", "y": "srtt_p50_us", "x": "topology.loss", "lines": ["cc"], "flow": "long"},
        {"title": "Fields", "kind": "matrix", "x": "topology.loss", "y": "cc", "metric": "jain_index"},
        {"title": "Shares", "kind": "cdf", "y": "srtt_us", "lines": ["cc"], "where": {"topology.loss": "0%"}},
    ]
    sweep = {"cc": ["reno", "bbr"], "topology.loss": ["0%", "1%"]}
    about = {"scenario": {"resolved": {"figure": figures, "sweep": sweep}}}
    (path / "set.json").write_text(json.dumps(about))
    drawings = figures_of(ResultSet.open(path))
    assert [drawing.title for drawing in drawings] == ["Windows", "Delay", "Fields", "Shares"]
    for drawing in drawings:
        lines = text_of(drawing)
        assert lines[0].startswith(drawing.title)
        assert len(lines) >= 4
        assert max(map(len, lines)) <= 80
        assert paper.draw(drawing, "svg").startswith(b"<?xml")
        assert bool(page.packed(drawing)) == isinstance(drawing, Plot)
    windows, shares = text_of(drawings[0]), text_of(drawings[3])
    assert (
        sum(line.split() == ["1", "s", "2.25", "s", "3.5", "s", "4.75", "s", "6", "s"] for line in windows)
        == 2
    )
    assert any("first 3 of 4" in line for line in windows)
    assert shares[-3].strip() == "Smoothed round-trip time, ms (logarithmic)"


def test_a_line_joins_its_points_and_a_gap_stays() -> None:
    canvas = Canvas(10, 2)
    canvas.join([0.0, 1.0], [0.0, 1.0], "red")
    (above, below) = ("".join(letter for letter, _ in line) for line in canvas.lines())
    assert above[:4] == "    "
    assert below[6:] == "    "
    empty = Canvas(10, 2)
    empty.join([0.0, 0.5, 1.0], [0.0, np.nan, 1.0], "red")
    assert all(letter == " " for line in empty.lines() for letter, _ in line)
