"""One algorithm, one colour: in every run's curves and in every figure of a report."""

import re
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest

from rushhour.explain import LIMITS
from rushhour.report.figure.description import Axis, Facet, LegendEntry, Plot, Role, Style, Trace
from rushhour.report.figure.overview import Overview
from rushhour.report.figure.paper.style import line_style
from rushhour.report.model import FlowLine
from rushhour.report.palette import Palette
from rushhour.report.why import SHORT


def flow(name: str, cc: str) -> FlowLine:
    return FlowLine(name, "tcp", "s → r", cc, "0 to 9 s", "0 to 9 s", f"flow:{name}", name)


def figure(*labels: str) -> Plot:
    """A figure whose lines have the looks of their order, as the first of a report would have them."""
    at = np.array([0.0, 1.0])
    traces = tuple(
        Trace(label, look, f"line:{look}", "measured", at, at) for look, label in enumerate(labels)
    )
    styles = tuple(Style(look, None, look, look) for look in range(len(labels)))
    facet = Facet("", traces, 0.0, 1.0)
    return Plot("F", "", "", Axis("x"), Axis("y"), (facet,), (), "cc", styles, over_time=False, same=True)


def colours(plot: Plot) -> dict[str, int]:
    return {trace.label: plot.styles[trace.look or 0].colour for trace in plot.facets[0].traces}


def test_every_limit_of_a_flow_has_a_colour_in_its_bar() -> None:
    style = files("rushhour.report").joinpath("assets/report.css").read_text()
    assert set(LIMITS) == set(SHORT)
    assert {
        limit for limit in LIMITS if not re.search(rf"\.w-{limit}\b[^{{}}]*{{ fill: var\(", style)
    } == set()


def test_an_algorithm_keeps_its_colour_from_run_to_run_and_in_figures() -> None:
    palette = Palette()
    first = palette.flows([flow("a", "cubic"), flow("b", "bbr")])
    second = palette.flows([flow("only", "bbr")])
    third = palette.flows([flow("b", "bbr"), flow("a", "cubic")])
    look = {one.cc: one.look for one in first}
    assert [one.look for one in second] == [look["bbr"]]
    assert [one.look for one in third] == [look["bbr"], look["cubic"]]
    drawn = palette.figure(figure("bbr", "cubic", "reno"))
    assert isinstance(drawn, Plot)
    found = colours(drawn)
    assert (found["bbr"], found["cubic"]) == (look["bbr"], look["cubic"])
    assert len(set(found.values())) == 3
    assert [style.dash for style in drawn.styles] == [style.colour for style in drawn.styles]


def test_flows_of_one_algorithm_are_told_apart_by_name() -> None:
    palette = Palette()
    assert len({one.look for one in palette.flows([flow("long", "cubic"), flow("short", "cubic")])}) == 2
    again = palette.flows([flow("short", "reno"), flow("long", "reno")])
    assert [one.look for one in again] == [1, 0]


def test_lines_of_two_factors_have_the_colour_of_the_part_that_is_known() -> None:
    palette = Palette()
    palette.flows([flow("a", "cubic"), flow("b", "bbr")])
    plot = figure("bbr · 10 ms", "bbr · 40 ms", "cubic · 10 ms", "cubic · 40 ms")
    plot = replace(plot, styles=tuple(Style(look // 2, None, look % 2, look % 2) for look in range(4)))
    drawn = palette.figure(plot)
    assert isinstance(drawn, Plot)
    assert [style.colour for style in drawn.styles] == [1, 1, 0, 0]
    assert [style.dash for style in drawn.styles] == [0, 1, 0, 1]


def test_a_ramp_of_numbers_and_the_places_of_points_stay() -> None:
    palette = Palette()
    palette.flows([flow("a", "cubic"), flow("b", "bbr")])
    ramp = replace(figure("1 ms", "10 ms", "100 ms"), styles=tuple(Style(k, k / 2, 0, k) for k in range(3)))
    assert palette.figure(ramp) is ramp
    swept = palette.overview(Overview("loss", "loss", figure("bbr", "cubic"), None)).plot
    assert swept is not None
    assert colours(swept) == {"bbr": 1, "cubic": 0}
    assert [trace.look for trace in swept.facets[0].traces] == [0, 1]


@pytest.mark.parametrize("role", ["model", "doubtful"])
@pytest.mark.parametrize("look", [None, 0])
def test_no_two_theories_are_drawn_alike(role: Role, look: int | None) -> None:
    entries = tuple(LegendEntry(f"model:{name}", name, role, look) for name in "abcd")
    plot = replace(figure("measured"), entries=entries)
    drawn = [str(line_style(entry, plot)) for entry in entries]
    assert len(set(drawn)) == len(drawn)
