"""A study's report: chapters, what was published, what failed; made again from its folders."""

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from browsers import PHONE, chromium, open_page
from report_records import make_set

from rushhour.cli.report import write_study
from rushhour.errors import RecordError
from rushhour.record.folders import read_sets, write_sets
from rushhour.record.result_set import ResultSet
from rushhour.report import study_html
from rushhour.report.study import gathered

STUDY = {
    "name": "mine",
    "title": "A <b>study</b>",
    "author": "An Author",
    "document": "An Author: A Study. 2018",
    "summary": "What was asked of `rushhour <run>`.",
    "chapter": [
        {"title": "Late", "scenarios": ["late", "none"], "conclusion": "It agrees & differs."},
        {"title": "Early", "section": "4.2", "text": "First.\n\nSecond.", "scenarios": ["early"]},
    ],
}
TABLE = {
    "source": "Table 7",
    "title": "Goodput",
    "metric": "goodput_bps",
    "unit": "Mbit/s",
    "agrees": "5%",
    "values": [{"where": {"cc": "cubic"}, "value": 95}, {"where": {"cc": "reno"}, "value": 9}],
    "cause": "Nine is no ninety.",
}
FIGURE = {"title": "Loss", "y": "goodput_bps", "x": "cc"}


def make(folder: Path, name: str, **about: Any) -> ResultSet:
    made = make_set(folder / name, [{"cc": "cubic"}, {"cc": "reno"}], seconds=6, title=name.title())
    resolved = {"title": name.title(), "question": f"Why {name}?", "sweep": {"cc": ["cubic", "reno"]}}
    scenario = {"name": f"mine/{name}", "title": name.title(), "resolved": resolved | about.pop("more", {})}
    asked = {"scenario": f"mine/{name}", "repeat": 2}
    (made / "set.json").write_text(
        json.dumps({"scenario": scenario, "study": STUDY, "asked": asked, **about})
    )
    return ResultSet(made)


@pytest.fixture
def sets(tmp_path: Path) -> list[ResultSet]:
    failure = {"cell": {"factors": {"cc": "vegas"}}, "message": "no congestion control"}
    early = make(tmp_path, "early", published=[TABLE], skipped=[failure], more={"figure": [FIGURE]})
    late = make(tmp_path, "late")
    (tmp_path / "none").mkdir()
    scenario = {"name": "mine/none", "title": "None", "resolved": {"question": "Why none?"}}
    failed = {"cell": {"factors": {}}, "message": "the kernel panicked"}
    about = {"scenario": scenario, "study": STUDY, "failures": [failed]}
    (tmp_path / "none/set.json").write_text(json.dumps(about))
    return [early, late, ResultSet(tmp_path / "none")]


def test_chapters_are_in_the_studys_order_whatever_ran_first(sets: list[ResultSet], tmp_path: Path) -> None:
    whole = gathered(sets, tmp_path)
    assert whole.title == "A <b>study</b>"
    assert [(part.number, part.chapter.title) for part in whole.parts] == [(1, "Late"), (2, "Early")]
    assert [section.title for section in whole.sections] == ["Late", "None", "Early"]
    assert whole.tally == (1, 2)


def test_what_did_not_run_stands_in_its_chapter_with_the_reason(
    sets: list[ResultSet], tmp_path: Path
) -> None:
    _, none, early = gathered(sets, tmp_path).sections
    assert (none.runs, none.failed, none.sound) == (0, (("the only cell", "the kernel panicked"),), False)
    assert early.skipped == (("cc vegas", "no congestion control"),)
    assert early.sound, "to lack an algorithm is no fault of the run"


class Reader(HTMLParser):
    """What a reader sees: headings, anchors, and that nothing is fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append(tag)
        self.ids += [found["id"] or ""] if "id" in found else []
        self.links += [found["href"] or ""] if tag == "a" else []
        for key in ("src", "href"):
            assert not (found.get(key) or "").startswith(("http:", "https:", "//")), found
        assert "style" not in found
        assert not any(key.startswith("on") for key in found)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_has_contents_figures_tables_and_conclusions(sets: list[ResultSet], tmp_path: Path) -> None:
    study_html.write(sets, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text("utf-8")
    reader = Reader()
    reader.feed(page)
    assert len(set(reader.ids)) == len(reader.ids)
    inside = {link[1:] for link in reader.links if link.startswith("#")}
    assert inside <= set(reader.ids)
    assert "A <b>study</b>" in reader.text, "words of a study are text"
    for words in ("It agrees & differs.", "Nine is no ninety.", "1 of 2 within 5 %", "Why none?", "cc vegas"):
        assert words in reader.text
    assert "What was asked of rushhour <run>." in reader.text
    assert "<code>rushhour &lt;run&gt;</code>" in page
    assert reader.text.count("First.") == 1
    assert "figure" in reader.tags
    assert ">rushhour run mine --repeat 2<" in page


@pytest.mark.browser
def test_a_phone_scrolls_down_only(sets: list[ResultSet], tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    study_html.write(sets, page)
    with chromium() as browser:
        shown, faults = open_page(browser, page.as_uri(), PHONE)
        shown.wait_for_timeout(300)
        assert shown.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
        assert shown.locator(".answer").count() == 2
        assert faults == []


def test_the_same_records_give_the_same_page(sets: list[ResultSet], tmp_path: Path) -> None:
    pages = [study_html.render(gathered(sets, tmp_path)) for _ in range(2)]
    assert pages[0] == pages[1]


def test_a_study_is_found_again_by_its_folder(sets: list[ResultSet], tmp_path: Path) -> None:
    write_sets(sets, tmp_path / "whole")
    again = read_sets(tmp_path / "whole")
    assert again is not None
    assert [one.path for one in again] == [one.path for one in sets]
    assert read_sets(tmp_path) is None
    (tmp_path / "late/set.json").unlink()
    with pytest.raises(RecordError, match="the study lacks 1 set now"):
        read_sets(tmp_path / "whole")
    (tmp_path / "whole/study.json").write_text('{"sets": [3]}')
    with pytest.raises(RecordError, match="names no sets"):
        read_sets(tmp_path / "whole")


def test_markdown_says_the_same_and_figures_of_every_set_are_files(
    sets: list[ResultSet], tmp_path: Path
) -> None:
    write_study(sets, tmp_path / "study.md", "md")
    text = (tmp_path / "study.md").read_text("utf-8")
    assert "## 2 Early (section 4.2)" in text
    assert "| reno | 9 |" in text
    assert "the kernel panicked" in text
    assert r"A \<b\>study" in text
    made = write_study(sets[:2], tmp_path / "figures", "svg")
    assert {path.parent.name for path in made} == {"mine-early", "mine-late"}


def test_scenarios_of_no_study_are_chapters_of_their_own(tmp_path: Path) -> None:
    alone = make(tmp_path, "alone")
    about = json.loads((alone.path / "set.json").read_text())
    (alone.path / "set.json").write_text(json.dumps(about | {"study": None}))
    whole = gathered([ResultSet(alone.path), make(tmp_path, "late")], tmp_path)
    assert [part.chapter.title for part in whole.parts] == ["Late", "Alone"]
