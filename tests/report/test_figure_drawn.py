"""Figures as a reader gets them: in the page, in a browser, as vector graphics, and in how large a page."""

import json
import re
import xml.etree.ElementTree as ET
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from report_records import make_copies
from test_browser import drive

from rushhour.models.registry import MODELS
from rushhour.record.result_set import ResultSet
from rushhour.report import embed
from rushhour.report import figure as engine
from rushhour.report.figure.paper import draw
from rushhour.report.figure.paper.style import along
from rushhour.report.gallery import draw as draw_all
from rushhour.report.html import render

ROOT = Path(__file__).parents[2]
FIGURES: list[dict[str, Any]] = [
    {"title": "Windows", "source": "figure 1", "y": "snd_cwnd", "lines": ["topology.loss"], "panels": ["cc"]},
    {"title": "Loss & delay", "y": "srtt_p50_us", "x": "topology.loss", "lines": ["cc"], "flow": "long"},
    {"title": "Shares", "kind": "matrix", "x": "topology.loss", "y": "cc", "metric": "utilization"},
]
SWEEP = {"cc": ["reno", "bbr"], "topology.loss": ["0%", "0.01%", "1%"]}


def result_set(path: Path, figures: list[dict[str, Any]], sweep: dict[str, Any], **more: Any) -> ResultSet:
    cells = [dict(zip(sweep, levels, strict=True)) for levels in product(*sweep.values())]
    make_copies(path, cells, seconds=6)
    about = {"scenario": {"resolved": {"figure": figures, "sweep": sweep}}, **more}
    (path / "set.json").write_text(json.dumps(about))
    return ResultSet.open(path)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> ResultSet:
    return result_set(tmp_path_factory.mktemp("compare") / "set", FIGURES, SWEEP)


def test_the_page_holds_every_figure(results: ResultSet) -> None:
    page = render(results)
    titles = re.findall(r'<figure class="compare">\s*<h3>(.*?)</h3>', page)
    assert titles == [
        "Windows",
        "Loss &amp; delay",
        "Shares",
    ]
    first, second = (
        embed.unpack(text) for text in re.findall(r'class="figure-data">(.*?)</script>', page, re.DOTALL)
    )
    figure = first[0]["figure"]
    assert [facet["title"] for facet in figure["facets"]] == ["algorithm: reno", "algorithm: bbr"]
    # Two flows and three losses: six lines a panel.
    assert [len(facet["traces"]) for facet in figure["facets"]] == [6, 6]
    assert figure["y"]["label"] == "Congestion window, segments"
    trace = second[0]["figure"]["facets"][0]["traces"][0]
    assert second[1][trace["columns"]["t"]].tolist() == [0.0, 0.5, 1.0]
    assert "After figure 1." in page


def test_the_curve_of_a_figure_is_that_of_the_record(results: ResultSet) -> None:
    plot = engine.figures_of(results)[0]
    assert isinstance(plot, engine.Plot)
    trace = plot.facets[0].traces[0]
    series = next(iter(results)).series("snd_cwnd", flow=trace.label.split(" · ")[-1])
    assert trace.y.max() == series.values.max()
    assert set(trace.y.tolist()) <= set(series.values.tolist())


def test_an_svg_has_its_words_as_text_and_a_line_for_each_trace(results: ResultSet) -> None:
    for drawing in engine.figures_of(results):
        tree = ET.fromstring(draw(drawing, "svg"))
        words = [element.text or "" for element in tree.iter("{http://www.w3.org/2000/svg}text")]
        assert any(drawing.title in text for text in words), drawing.title
        if not isinstance(drawing, engine.Plot):
            assert sum(re.fullmatch(r"[01]\.\d+", text) is not None for text in words) >= 6
            continue
        assert {entry.label for entry in drawing.entries} <= set(words)
        assert drawing.y.label in " ".join(words)
        assert {facet.title for facet in drawing.facets if facet.title} <= set(words)
        lines = [group for group in tree.iter() if re.match(r"line2d_\d+", group.get("id", ""))]
        assert len(lines) >= sum(len(facet.traces) for facet in drawing.facets)


def test_the_same_records_give_the_same_files(results: ResultSet, tmp_path: Path) -> None:
    made = [draw_all(results, tmp_path / name, "svg") for name in ("one", "two")]
    names = [path.name for path in made[0] if path.name.startswith("figure-")]
    assert names == ["figure-01-Windows.svg", "figure-02-Loss-delay.svg", "figure-03-Shares.svg"]
    assert [path.read_bytes() for path in made[0]] == [path.read_bytes() for path in made[1]]


def test_fonts_are_in_a_pdf_as_letters(results: ResultSet) -> None:
    made = draw(engine.figures_of(results)[2], "pdf")
    assert b"/Type /Font" in made
    # Type 3 fonts are drawings of letters; an editor cannot change such text.
    assert b"/Subtype /Type3" not in made


def test_a_set_of_another_version_has_no_figures_and_still_a_report(tmp_path: Path) -> None:
    odd = result_set(tmp_path / "odd", [{"title": "x", "y": "snd_cwnd", "future": 1}], {"cc": ["reno"]})
    assert engine.figures_of(odd) == []
    assert 'class="figure-data"' not in render(odd)


def test_a_page_of_many_cells_is_small(tmp_path: Path) -> None:
    sweep = {
        "cc": ["reno", "cubic", "bbr", "vegas", "dctcp", "highspeed"],
        "topology.loss": ["0%", "0.01%", "0.1%", "0.5%", "1%", "2%"],
        "topology.rtt": ["10ms", "50ms", "100ms", "200ms", "500ms"],
    }
    by_cc = [
        {
            "title": cc,
            "y": "snd_cwnd",
            "lines": ["topology.loss"],
            "panels": ["topology.rtt"],
            "where": {"cc": cc},
        }
        for cc in sweep["cc"]
    ]
    page = render(result_set(tmp_path / "many", by_cc, sweep))
    assert page.count('class="figure-data"') == 6
    assert len(page) < 5_000_000


def test_colours_along_the_ramp() -> None:
    assert [along(("#000000", "#ff0000", "#ffffff"), place) for place in (0, 0.25, 0.5, 1)] == [
        *("#000000", "#800000", "#ff0000", "#ffffff")
    ]


def test_the_document_names_every_model_with_all_it_predicts() -> None:
    text = (ROOT / "docs" / "figures.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([\w-]+)` \| (.*?) \|", text, re.MULTILINE))
    assert {name: set(re.findall(r"`(\w+)`", laws)) for name, laws in rows.items()} == {
        name: set(model.laws) for name, model in MODELS.items()
    }


@pytest.mark.browser
def test_a_figure_answers_to_the_pointer_and_its_legend(results: ResultSet, tmp_path: Path) -> None:
    steps = """
    const figure = all("figure.compare")[1];
    while (document.documentElement.dataset.figures !== "2") await settle();
    const inked = (canvas) => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data
      .reduce((sum, value) => sum + value, 0);
    said.panels = all("figure.compare").map((one) => one.querySelectorAll(".facet").length);
    said.legend = [...figure.querySelectorAll(".legend-row button")].map((one) => one.textContent);
    const over = figure.querySelector(".u-over");
    const { left, top, width, height } = over.getBoundingClientRect();
    const at = { clientX: left + width / 2, clientY: top + height / 2, bubbles: true };
    over.dispatchEvent(new MouseEvent("mousemove", at));
    await settle();
    said.told = [...figure.querySelectorAll(".tip b, .tip span, .tip output")].map((one) => one.textContent);
    const canvas = figure.querySelector(".facet canvas");
    const before = inked(canvas);
    figure.querySelector(".legend-row button").click();
    await settle();
    said.less = inked(canvas) < before;
    said.pressed = figure.querySelector(".legend-row button").getAttribute("aria-pressed");
    said.spoken = figure.querySelector(".facet .plot").getAttribute("aria-label");
    said.width = document.documentElement.scrollWidth;
    """
    said = drive(render(results), tmp_path, steps, 390)
    assert said["panels"] == [2, 1, 0]
    assert said["legend"] == ["reno", "bbr"]
    assert said["told"][0] == "loss 0.01%"
    assert said["told"][1::2] == ["reno", "bbr"]
    assert all(re.fullmatch(r"[\d.]+ ms", text) for text in said["told"][2::2])
    assert said["less"]
    assert said["pressed"] == "false"
    assert said["spoken"].startswith("Smoothed round-trip time, median over loss")
    assert said["width"] <= 390
