"""The page: one file, no network, complete, repeatable, harmless, and drawn by a browser."""

import html.parser
import json
import re
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from builders import reseal
from report_records import BUFFER, RATE, make_copies, make_set

from rushhour.errors import ReportError
from rushhour.quantities.words import Scale
from rushhour.record.record import Record
from rushhour.record.result_set import ResultSet
from rushhour.report import embed, gather
from rushhour.report.html import _bars, render, write
from rushhour.report.tables import Column, Row, Table

ATTACK = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>"
VOID = {"meta", "img", "br", "input", "link", "hr"}


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> ResultSet:
    """One run of two flows."""
    return ResultSet.open(make_set(tmp_path_factory.mktemp("single"), [{}]))


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> ResultSet:
    """Two algorithms by three losses; short."""
    cells = [{"cc": cc, "topology.loss": loss} for cc in ("cubic", "reno") for loss in ("0%", "0.1%", "1%")]
    return ResultSet.open(make_set(tmp_path_factory.mktemp("sweep"), cells, seconds=6))


@pytest.fixture
def hostile(tmp_path: Path) -> ResultSet:
    """Runs whose every word is an attack on the page."""
    kernel = {"name": ATTACK, "release": ATTACK, "hz": 1000}
    folder = make_set(
        tmp_path, [{"cc": ATTACK}, {"cc": "reno"}], title=ATTACK, question=ATTACK, warnings=[ATTACK],
        kernel=kernel, valid=False, invalid_reasons=[ATTACK], seconds=6, rushhour=ATTACK,
    )  # fmt: skip
    return ResultSet.open(folder)


class Outline(html.parser.HTMLParser):
    """Elements as they open and close; text of the scripts by id."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: dict[str, str] = {}
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[str(self.elements[-1][1].get("id"))] = data
        elif not self.open or self.open[-1] != "style":
            self.text.append(data)


def outline(page: str) -> Outline:
    parser = Outline()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return parser


def test_every_element_is_closed_and_ids_are_unique(sweep: ResultSet) -> None:
    ids = [attrs["id"] for _, attrs in outline(render(sweep)).elements if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_nothing_is_fetched_from_anywhere(sweep: ResultSet) -> None:
    page = render(sweep)
    for tag, attrs in outline(page).elements:
        assert "src" not in attrs
        assert tag not in {"link", "iframe", "object", "embed", "base"}
        if "href" in attrs:
            assert str(attrs["href"]).startswith("#")
    assert re.findall(r"@import|url\(|fetch\(|XMLHttpRequest|sendBeacon|import\(", page) == []
    # The one address is that of uPlot, in its licence line.
    assert set(re.findall(r"https?://[^\s\"')]+", page)) <= {
        "https://github.com/leeoniya/uPlot",
        "http://www.w3.org/2000/svg",
    }


def test_the_curves_in_the_page_are_those_of_the_record(single: ResultSet) -> None:
    header, columns = embed.unpack(outline(render(single)).scripts["series-0"])
    panels = {panel["id"]: panel for panel in header["panels"]}
    assert list(panels) == ["cwnd", "rtt", "queue", "goodput", "fairness", "events"]
    record = next(iter(single))
    window = record.series("snd_cwnd", flow="long")
    (facet,) = panels["cwnd"]["facets"]
    trace = next(trace for trace in facet["traces"] if trace["label"] == "long")
    t_s, values = (columns[trace["columns"][name]] for name in ("t", "v"))
    # What was left out are only repetitions: held values say the same at every sample of the record.
    held = values[np.searchsorted(t_s, window.t_s + 1e-9, side="right") - 1]
    np.testing.assert_array_equal(held, window.values)
    levels = {name: panels[name]["facets"][0]["references"] for name in ("queue", "goodput")}
    assert [(one["label"], one["value"]) for one in levels["queue"]] == [("buffer", BUFFER)]
    assert [(one["label"], one["value"]) for one in levels["goodput"]] == [("rate of the link", RATE)]


def test_two_factors_make_a_map_that_leads_to_the_runs(sweep: ResultSet) -> None:
    found = outline(render(sweep))
    maps = [attrs["data-metric"] for _, attrs in found.elements if attrs.get("class") == "heat"]
    assert "jain_index" in maps
    shades = [
        attrs["class"] for tag, attrs in found.elements if tag == "td" and "s8" in str(attrs.get("class"))
    ]
    assert len(shades) >= len(maps)
    assert {attrs["data-run"] for _, attrs in found.elements if "data-run" in attrs} == set("012345")


def test_the_same_records_give_the_same_bytes(sweep: ResultSet) -> None:
    assert render(sweep) == render(ResultSet.open(sweep.path))


def test_few_runs_are_opened_once_for_their_curves(sweep: ResultSet, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    real = Record.open.__func__  # type: ignore[attr-defined]

    def told(cls: type[Record], path: Path | str) -> Record:
        opened.append(Path(path).name)
        made: Record = real(cls, path)
        return made

    page = render(sweep)
    monkeypatch.setattr(Record, "open", classmethod(told))
    runs = [run.name for run in gather.views(sweep)]
    assert sorted(opened) == sorted(runs)
    # Of more runs than can have curves none is held meanwhile; what comes of them is the same.
    opened.clear()
    monkeypatch.setattr(gather, "HELD", 0)
    assert [run.name for run in gather.views(sweep)] == runs
    assert sorted(opened) == sorted(2 * runs)
    assert render(sweep) == page


def test_bars_are_shares_of_the_greatest_of_a_column_whose_digits_differ() -> None:
    columns = [Column(name, name, "", Scale(1.0, "", 1)) for name in ("a", "b", "c")]
    rows = [Row(("x",), [10.0, 5.0, None]), Row(("y",), [-5.0, 5.01, 0.0]), Row(("z",), [0.0, 5.0, 1.0])]
    assert _bars(Table(("head",), columns, rows)) == [[20, 0, 0], [10, 0, 0], [0, 0, 20]]
    assert _bars(Table(("head",), columns, [])) == []


def test_words_of_a_scenario_are_text_and_nothing_else(hostile: ResultSet) -> None:
    page = render(hostile)
    found = outline(page)
    assert [tag for tag, _ in found.elements if tag == "img"] == []
    kinds = [attrs.get("type") for tag, attrs in found.elements if tag == "script"]
    assert kinds.count(None) == 1
    assert any("<script>document.title='owned'" in text for text in found.text)
    assert json.loads(found.scripts["runs"])[0]["factors"]["cc"].startswith("</script>")


def test_the_policy_allows_only_the_script_and_style_of_the_page(single: ResultSet) -> None:
    policies = [
        attrs["content"] for tag, attrs in outline(render(single)).elements if attrs.get("http-equiv")
    ]
    assert len(policies) == 1
    assert "default-src 'none'" in str(policies[0])
    assert "unsafe" not in str(policies[0])


def test_an_invalid_run_is_marked_with_its_reason(tmp_path: Path) -> None:
    reason = "left to right: measured 80 Mbit/s, asked 100 Mbit/s"
    make_set(tmp_path, [{"cc": "cubic"}], seconds=6)
    make_set(tmp_path / "other", [{"cc": "reno"}], seconds=6, valid=False, invalid_reasons=[reason])
    (tmp_path / "other/runs/0000").rename(tmp_path / "runs/0001")
    found = outline(render(ResultSet.open(tmp_path)))
    text = " ".join("".join(found.text).split())
    assert [attributes.get("class") for tag, attributes in found.elements if tag == "tr"].count(
        "invalid"
    ) == 1
    assert "Invalid. 1 of 2 runs: do not use its numbers." in text
    assert reason in text


def test_a_large_sweep_is_small_and_quick(tmp_path: Path) -> None:
    cells = [
        {"cc": cc, "loss": f"{loss}%", "rtt": f"{rtt}ms"}
        for cc in ("cubic", "reno", "bbr", "vegas", "htcp", "westwood")
        for loss in (0, 0.01, 0.1, 0.5, 1, 2)
        for rtt in (1, 10, 50, 100, 200)
    ]
    results = ResultSet.open(make_copies(tmp_path, cells, seconds=10))
    assert len(results) == 180
    results.write_index()
    started = time.process_time()
    size = write(results, tmp_path / "report.html").stat().st_size
    print(f"180 runs: {size / 1e6:.2f} MB, {time.process_time() - started:.2f} s of CPU")
    assert size <= 5_000_000
    found = outline((tmp_path / "report.html").read_text())
    assert sum(name.startswith("series-") for name in found.scripts) == 180


def test_a_report_that_cannot_be_written_says_where_and_leaves_nothing(
    single: ResultSet, tmp_path: Path
) -> None:
    with pytest.raises(ReportError, match="cannot write the file"):
        write(single, tmp_path / "missing" / "report.html")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ReportError):
        write(single, tmp_path / "folder")
    assert list(tmp_path.iterdir()) == [tmp_path / "folder"]


def dom(page: Path, fragment: str) -> str:
    """The document after a browser has run it for five virtual seconds, without any network."""
    command = [
        "chromium",
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--virtual-time-budget=5000",
        "--dump-dom",
    ]
    done = subprocess.run(
        [*command, f"--user-data-dir={page.parent / 'profile'}", f"file://{page}{fragment}"],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return done.stdout


@pytest.mark.browser
def test_a_browser_draws_every_panel(single: ResultSet, tmp_path: Path) -> None:
    drawn = dom(write(single, tmp_path / "report.html"), "#run-0-check")
    root = re.search(r"<html[^>]*>", drawn)
    assert root is not None
    assert 'data-drawn="6"' in root[0]
    assert 'data-inked="6"' in root[0]
    assert drawn.count('class="u-wrap"') == 6


@pytest.mark.browser
def test_a_browser_shows_the_run_of_the_address(sweep: ResultSet, tmp_path: Path) -> None:
    drawn = dom(write(sweep, tmp_path / "report.html"), "#run-4")
    assert '<b id="run-label">cc reno · loss 0.1%</b>' in drawn
    assert '<span id="position">5 of 6</span>' in drawn


@pytest.mark.browser
def test_a_browser_runs_nothing_a_scenario_says(hostile: ResultSet, tmp_path: Path) -> None:
    drawn = dom(write(hostile, tmp_path / "report.html"), "#run-0-check")
    assert "<title>owned" not in drawn
    assert "<img" not in drawn
    assert 'data-inked="6"' in drawn


def test_a_record_without_readings_still_gives_a_page(tmp_path: Path) -> None:
    folder = make_set(tmp_path, [{}], seconds=6) / "runs" / "0000"
    for table in (folder / "raw").iterdir():
        table.unlink()
    reseal(folder)
    assert Record.open(folder).tables() == []
    assert "series-0" not in outline(render(ResultSet.open(tmp_path))).scripts
