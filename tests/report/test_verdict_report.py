"""What a verdict says to people: the page, the summary, the terminal; whole, harmless, of bounded size."""

from __future__ import annotations

import copy
import io
import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest
from rich.console import Console
from test_html import ATTACK, outline
from verdict_documents import cell, document, drawn, metric, side

from rushhour.cli import SETTINGS, cli
from rushhour.errors import ReportError
from rushhour.record.document import read
from rushhour.record.verdict_file import DivergenceFile
from rushhour.report.embed import unpack
from rushhour.report.verdict import html, markdown, terminal
from rushhour.report.verdict.advice import Step
from rushhour.report.verdict.cell import MINUS
from rushhour.report.verdict.page import MAX_PICTURES, MAX_TOLD
from rushhour.report.verdict.rows import rows
from rushhour.report.verdict.story import story
from rushhour.report.verdict.summary import LIMIT


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("verdict")


@pytest.fixture(scope="module")
def mixed(folder: Path) -> dict[str, Any]:
    """Cells of every verdict; the two worse ones have records."""
    broken = {"text": "utilization of total at least 0.9", "base": True, "candidate": False}
    failed = {"seed": 1, "folder": None, "valid": False, "error": "Kernel panic - not syncing: tcp_ack"}
    return document(
        [
            cell(0, "same"),
            drawn(folder, 1, expectations=[broken]),
            drawn(folder, 2, scenario="suite/codel", title="CoDel"),
            cell(3, "better"),
            cell(4, "inconclusive"),
            cell(
                5,
                "worse",
                metrics=[],
                reason="the candidate failed: Kernel panic",
                runs={"base": [], "candidate": [failed]},
            ),
            cell(6, "invalid", metrics=[], reason="the base failed with seed 1"),
        ],
        missing=[{"scenario": "suite/x", "label": "", "reason": "skipped by debian-6.1: no such qdisc"}],
        notes=["both kernels lack BASE_FULL"],
    )


def printed(whole: dict[str, Any], width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(terminal(whole))
    text = console.file.getvalue()  # type: ignore[attr-defined]  # the StringIO above
    return str(text)


def test_a_command_of_the_terminal_has_its_folders_from_where_the_reader_is() -> None:
    step = Step(
        "Stop", "rushhour debug 'candidate/a b' --divergence base/x", frozenset({"candidate/a b", "base/x"})
    )
    assert step.outside(Path("results/my one")) == (
        "rushhour debug 'results/my one/candidate/a b' --divergence 'results/my one/base/x'"
    )
    assert step.outside(Path()) == step.command


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"revision": "0123456789abcdef", "commit": "0123456789abcdef"}, "Linux 6.12.3 at 0123456789ab"),
        ({"revision": "v6.12", "commit": "0123456789abcdef"}, "Linux 6.12.3 at v6.12"),
        (
            {"revision": "0123456789abcdef", "commit": "0123456789abcdef", "sanitizers": "kasan"},
            "Linux 6.12.3 at 0123456789ab with kasan",
        ),
        ({"revision": "v6.12", "commit": "fedcba9876543210"}, "check-0123456789ab"),  # a person's own name
        ({}, "check-0123456789ab"),
    ],
)
def test_a_title_says_what_a_kernel_was_built_of(
    mixed: dict[str, Any], folder: Path, source: dict[str, str], expected: str
) -> None:
    name = "check-0123456789ab"
    kernel = {"name": name, "release": "6.12.3", "source": {"kind": "git", **source}}
    other = mixed | {"candidate": mixed["candidate"] | {"name": name, "kernel": kernel}}
    assert f"{expected} against debian-6.1" in html(other, folder)


def test_the_page_is_one_file_whole_and_repeatable(mixed: dict[str, Any], folder: Path) -> None:
    page = html(mixed, folder)
    assert page == html(copy.deepcopy(mixed), folder)
    found = outline(page)
    assert not [attributes for tag, attributes in found.elements if tag in ("link", "img", "iframe")]
    assert not re.search(r"""(src|href)=["'](?!#)""", page)
    assert "Worse: 3 of 7 cells" in page
    assert "debian-6.12 against debian-6.1" in page


def test_the_worst_come_first_and_the_same_are_folded(mixed: dict[str, Any], folder: Path) -> None:
    page = html(mixed, folder)
    rows = re.findall(r'<tr data-verdict="(\w+)"', page)
    assert rows == ["worse"] * 3 + ["invalid", "inconclusive", "better"]
    sections = re.findall(r'<section class="cell" id="cell-\d+" data-verdict="(\w+)"', page)
    assert sections == rows
    assert "1 cell is the same" in page


def test_a_worse_cell_is_told_in_full(mixed: dict[str, Any], folder: Path) -> None:
    page = html(mixed, folder)
    part = page[page.index('<section class="cell"') :].partition("</section>")[0]
    assert "a flow of cubic would start otherwise (tcp_slow_start)" in part
    assert "Broken: utilization of total at least 0.9" in part
    assert "20.00 Mbit/s" in part
    assert "17.60 Mbit/s" in part
    assert f"{MINUS}12.0 %" in part
    assert f"{MINUS}14.0 % … {MINUS}10.0 %" in part
    assert mixed["cells"][1]["divergence"]["sentence"] in part.replace("&#39;", "'")
    assert re.search(r'<tr class="minus">.*?<td class="other">.*?<tr class="plus">', part, re.DOTALL)


def test_pictures_hold_both_sides_and_the_instant(mixed: dict[str, Any], folder: Path) -> None:
    packed = outline(html(mixed, folder)).scripts
    names = [name for name in packed if name.startswith("series-")]
    assert len(names) == 2
    header, columns = unpack(packed[names[0]])
    divergence = mixed["cells"][1]["divergence"]
    assert header["mark_s"] == pytest.approx(divergence["t_ns"] / 1e9)
    assert [panel["id"] for panel in header["panels"]] == ["cwnd", "rtt", "queue", "goodput"]
    for panel in header["panels"]:
        (facet,) = panel["facets"]
        pale = [panel["styles"][trace["look"]]["pale"] for trace in facet["traces"]]
        half = len(pale) // 2
        assert pale == [True] * half + [False] * half
        below, over = (panel["styles"][facet["traces"][place]["look"]] for place in (0, half))
        assert {**below, "pale": False} == over
        assert len(columns[facet["traces"][0]["columns"]["t"]]) > 10
        assert [one["x"] for one in facet["instants"]] == [header["mark_s"]]


def test_areas_are_the_chapters_of_the_suite(mixed: dict[str, Any]) -> None:
    areas = {one.scenario: one.area for one in story(mixed).cells}
    assert areas["suite/slow-start"] == "Slow start"
    assert areas["suite/codel"] not in ("", "suite")


@pytest.mark.parametrize(
    ("verdicts", "headline"),
    [
        (["same", "same"], "Same: both cells are equal to the byte"),
        (["same", "better"], "Better: 1 of 2 cells, and none worse"),
        (["inconclusive"], "Inconclusive: in 1 of 1 cell the runs cannot tell a change from chance"),
        (["invalid", "same"], "Invalid: 1 of 2 cells could not be compared"),
    ],
)
def test_the_headline_says_the_verdict(tmp_path: Path, verdicts: list[str], headline: str) -> None:
    whole = document([cell(number, verdict) for number, verdict in enumerate(verdicts)])
    assert headline in html(whole, tmp_path)
    assert headline in markdown(whole)
    assert headline in printed(whole)


def test_equal_but_not_to_the_byte_is_said(tmp_path: Path) -> None:
    whole = document([cell(0, "same"), cell(1, "same", identical=False, reason="less than 5% of it")])
    page = html(whole, tmp_path)
    assert "Same: 1 of 2 cells is equal to the byte, no change that matters in the others" in page
    assert "Less than 5% of it." in page
    alone = document([cell(1, "same", identical=False, reason="less than 5% of it")])
    assert "Same: no change that matters in 1 cell" in html(alone, tmp_path)


def test_amounts_are_said_in_their_unit_where_the_minimum_is_one() -> None:
    drops = metric(metric="drops", unit="packets", minimum="2 packets", change=None, interval=None)
    drops.update(difference=3.0, difference_interval=[2.5, 3.5], least=2.0)
    one = story(document([cell(0, metrics=[drops])])).cells[0].metrics[0]
    assert (one.change, one.interval) == ("+3 packets", "+2.5 packets … +3.5 packets")
    assert one.bar is not None
    assert one.bar.at == pytest.approx(1.5)


def parse(words: list[str]) -> None:
    """Let the command line read the words, without doing what they say."""
    command: click.Command = cli
    # A command keeps the help options of the context it is first read in.
    context = click.Context(command, help_option_names=SETTINGS["help_option_names"])
    while isinstance(command, click.Group):
        found = command.get_command(context, words.pop(0))
        assert found is not None
        command, context = found, click.Context(found, parent=context)
    command.make_context("rushhour", words, parent=context)


def test_commands_can_be_given(mixed: dict[str, Any]) -> None:
    whole = story(mixed)
    commands = [step.command for one in whole.cells for step in one.steps] + [s.command for s in whole.steps]
    assert any("--set cc=reno" in command and "--kernel debian-6.1 " in command for command in commands)
    assert any(
        command.startswith("rushhour bisect --tree LINUX --good v6.1 --bad v6.12.") for command in commands
    )
    assert any(
        "compare debian-6.1 debian-6.12" in command and "--max-seeds 40" in command for command in commands
    )
    for command in commands:
        if shlex.split(command)[1] in ("run", "baseline", "compare", "bisect"):
            parse(shlex.split(command)[1:])


def test_a_missing_or_damaged_record_costs_the_picture_only(tmp_path: Path) -> None:
    whole = document([drawn(tmp_path, 1), drawn(tmp_path, 2)])
    (tmp_path / "base/runs/00001/manifest.json").unlink()
    damaged = tmp_path / "candidate/runs/00002/raw/tcp_probe.rh"
    damaged.chmod(0o644)
    damaged.write_bytes(b"RUSHRAW1")
    page = html(whole, tmp_path)
    assert 'id="series-' not in page
    assert "Worse: 2 of 2 cells" in page


def test_words_from_outside_do_nothing(tmp_path: Path) -> None:
    hostile = cell(
        0, scenario=ATTACK, title=ATTACK, label=ATTACK, guards=ATTACK, reason=ATTACK, warnings=[ATTACK],
        metrics=[metric(metric=ATTACK, scope=ATTACK, unit=ATTACK, minimum=ATTACK, reason=ATTACK)],
        expectations=[{"text": ATTACK, "base": True, "candidate": False}],
        divergence={
            "seed": 1, "t_ns": 5, "sentence": ATTACK, "earlier": [{"sentence": ATTACK}], "notes": [ATTACK],
            "before": {"base": [{"t_ns": 1, ATTACK: ATTACK}], "candidate": []}, "after": {},
        },
    )  # fmt: skip
    whole = document(
        [hostile], base=side(ATTACK, ATTACK), notes=[ATTACK], next=[ATTACK],
        missing=[{"scenario": ATTACK, "label": ATTACK, "reason": ATTACK}],
    )  # fmt: skip
    found = outline(html(whole, tmp_path))
    assert not [tag for tag, _ in found.elements if tag == "img"]
    assert "owned" not in "".join(found.scripts.values())
    text = markdown(whole)
    assert "<script>" not in re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    assert "owned" in printed(whole)


def test_many_cells_stay_within_bounds(folder: Path, mixed: dict[str, Any]) -> None:
    """304 cells that all differ: a page of less than 5 MB, a summary that GitHub takes."""
    template = mixed["cells"][1]
    metrics = [
        metric(metric=name) for name in ("goodput_bps", "utilization", "srtt_mean_us") for _ in range(20)
    ]
    cells = [{**copy.deepcopy(template), "cell": number, "metrics": metrics} for number in range(304)]
    whole = document(cells)
    page = html(whole, folder)
    assert len(page.encode()) < 5_000_000
    assert page.count('id="series-') == MAX_PICTURES
    assert page.count('<section class="cell"') == MAX_TOLD
    assert page.count('<tr data-verdict="worse"') == 304
    summary = markdown(whole)
    assert len(summary.encode()) <= LIMIT
    assert re.search(r"The report tells \d+ more cells in full", summary)
    assert summary.count("<details>") == summary.count("</details>")
    assert len(printed(whole).splitlines()) < 160


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_terminal_s_first_screen_says_it_all(mixed: dict[str, Any], width: int) -> None:
    text = printed(mixed, width)
    assert max(map(len, text.splitlines())) <= width
    first = " ".join("\n".join(text.splitlines()[:40]).split())
    assert "Worse: 3 of 7 cells" in first
    assert "debian-6.12 against debian-6.1" in first
    assert "3 worse · 1 invalid · 1 inconclusive · 1 better · 1 same" in first


def test_the_summary_folds_cells_and_shows_events_as_a_diff(mixed: dict[str, Any]) -> None:
    text = markdown(mixed)
    assert text.startswith("## ❌ Worse: 3 of 7 cells")
    assert "| ❌ worse | suite/slow-start cc=reno, rtt=21ms |" in text
    diff = text[text.index("```diff") :].partition("```\n")[0]
    assert re.search(r"^- .*^\+ ", diff, re.MULTILINE | re.DOTALL)


def test_a_foreign_document_is_refused(tmp_path: Path) -> None:
    for render in (lambda one: html(one, tmp_path), markdown, terminal):
        with pytest.raises(ReportError, match="this verdict cannot be read"):
            render({"format": "rushhour-verdict/9"})


def test_an_expectation_that_only_the_candidate_keeps_is_told(tmp_path: Path) -> None:
    mended = {"text": "loss of flow:stream = 0", "base": False, "candidate": True}
    kept = {"text": "marks of total = 0", "base": True, "candidate": True}
    whole = document([cell(0, expectations=[mended, kept]), cell(1, metrics=[])])
    screen = " ".join(printed(whole).split())
    assert "mends loss of flow:stream = 0, which the base does not keep" in screen
    assert "1 cell keeps what the scenario expects and the base does not" in screen
    assert "* mended: loss of flow:stream = 0" in markdown(whole)
    assert "Mended: loss of flow:stream = 0" in html(whole, tmp_path)
    assert "marks of total" not in screen


def test_cells_are_told_by_what_needs_a_person_first() -> None:
    """A law that broke, then a metric with a better side, then a departure; each by its size."""
    broken = [{"text": "utilization of total at least 0.9", "base": True, "candidate": False}]
    small, large = (metric(difference=value) for value in (-1.2e6, -9e6))
    departs = metric(better="none", difference=-2e7)
    cells = [
        cell(0, "better"),
        cell(1, metrics=[departs]),
        cell(2, metrics=[small]),
        cell(3, metrics=[large]),
        cell(4, metrics=[], expectations=broken),
        cell(5, "invalid"),
    ]
    assert [one.source["cell"] for one in story(document(cells)).cells] == [4, 3, 2, 1, 5, 0]


def test_cells_that_part_in_the_same_way_are_grouped(tmp_path: Path) -> None:
    window = {"kind": "window", "table": "tcp_info", "differs": ["rcv_ssthresh"], "sentence": "A window."}
    shift = {"kind": "time", "table": "tcp_probe", "differs": ["t_ns"], "sentence": "A shift."}
    sides = {"before": {}, "after": {}, "notes": [], "seed": 1, "t_ns": 5}
    decided = {
        "kind": "state",
        "table": "tcp_probe",
        "differs": ["snd_cwnd"],
        "sentence": "A decision.",
        **sides,
    }
    cells = [
        cell(0, divergence={**decided, "earlier": [shift, window]}),
        cell(1, divergence={**decided, "earlier": [shift]}),
        cell(2, divergence={**decided, "differs": ["ssthresh"], "earlier": [window]}),
        cell(3),
    ]
    (one,) = story(document(cells)).groups
    assert one.what == "an offered window: rcv_ssthresh (tcp_info)"
    assert one.sentence == "A window."
    assert [member.source["cell"] for member in one.cells] == [0, 2]
    for text in (html(document(cells), tmp_path), markdown(document(cells)), printed(document(cells))):
        assert "2 cells" in text
        assert "diverge at an offered window" in text


def test_an_event_of_one_side_only_does_not_shift_the_others() -> None:
    def at(t_ns: int, event: str, window: int) -> dict[str, Any]:
        return {"t_ns": t_ns, "event": event, "snd_cwnd": window}

    base = [at(1, "ACK 1", 9), at(1, "retransmits", 9), at(2, "ACK 2", 8), at(3, "ACK 3", 7)]
    candidate = [at(1, "ACK 1", 9), at(2, "ACK 2", 8), at(3, "ACK 3", 6)]
    found = rows(read(DivergenceFile, {"after": {"base": base, "candidate": candidate}}, "here"))
    assert found is not None
    signs = [line.sign + line.texts[1] for line in found.after]
    assert signs == [" ACK 1", "-retransmits", " ACK 2", "-ACK 3", "+ACK 3"]
    assert [line.differs for line in found.after[-2:]] == [[False, False, True]] * 2


def test_the_last_words_of_a_kernel_that_died_are_shown(tmp_path: Path) -> None:
    words = "the guest died\nKernel panic - not syncing: <tcp_ack>\nCall Trace:"
    died = {"seed": 7, "folder": None, "valid": False, "error": words}
    ran = {"seed": 7, "folder": "base/runs/0", "valid": True, "error": None}
    one = cell(0, metrics=[], reason="the candidate failed", runs={"base": [ran], "candidate": [died]})
    whole = document([one, cell(1)])
    page = html(whole, tmp_path)
    assert "The candidate: 1 of 1 run failed, with seed 7" in page
    assert "Kernel panic - not syncing: &lt;tcp_ack&gt;\nCall Trace:" in page
    assert "```\nthe guest died\nKernel panic - not syncing: <tcp_ack>\nCall Trace:\n```" in markdown(whole)
    assert "Kernel panic - not syncing: <tcp_ack>" in printed(whole)
    assert story(whole).cells[0].source["cell"] == 0


def test_a_comparison_that_ended_early_says_so(tmp_path: Path) -> None:
    whole = document([cell(0)], stopped=True, planned=304)
    for text in (html(whole, tmp_path), markdown(whole), " ".join(printed(whole).split())):
        assert "It ended before the whole was judged: 1 of 304 cells were judged" in text


def test_factors_are_named_by_their_last_part() -> None:
    label = "link.out.forward.queue=codel target 1.5ms, sysctl.net.ipv4.tcp_sack=0, label.case=a.b = 2"
    assert story(document([cell(0, label=label)])).cells[0].label == (
        "queue=codel target 1.5ms, tcp_sack=0, case=a.b = 2"
    )


@pytest.mark.parametrize("interval", [[0.1], ["a", "b"], 3, [None, 1]])
def test_a_damaged_verdict_is_an_error_that_says_so(interval: object) -> None:
    with pytest.raises(ReportError, match="incomplete"):
        story(document([cell(0, metrics=[metric(interval=interval)])]))


@pytest.mark.parametrize(
    ("releases", "ends"),
    [
        (("6.1.192", "6.12.117"), "--good v6.1 --bad v6.12.117 "),
        (("6.12.30", "6.12.117"), "--good v6.12.30 --bad v6.12.117 "),
        (("6.12.117", "6.1.192"), "--good v6.1 --bad v6.12.117 --improved "),
        (("6.9.3", "6.12.0-rc2-mine"), "--good v6.9 --bad v6.12-rc2 "),
        (("6.9.0-rc1", "6.12.0"), "--good v6.9-rc1 --bad v6.12 "),
        (("6.12.0-rc1", "6.12.0"), "--good v6.12-rc1 --bad v6.12 "),
        (("6.12.0", "6.12.0-amd64"), None),
        (("mine", "6.12.0"), None),
        (("6.12.117", "6.12.117"), None),
    ],
)
def test_a_bisection_is_advised_between_a_release_and_one_that_comes_of_it(
    releases: tuple[str, str], ends: str | None
) -> None:
    whole = document([cell(1, "worse")])
    for role, release in zip(("base", "candidate"), releases, strict=True):
        whole[role] = copy.deepcopy(whole[role])
        whole[role]["kernel"]["release"] = release
        whole[role]["kernel"]["source"] = {"kind": "debian"}
    advised = [step.command for one in story(whole).cells for step in one.steps if " bisect " in step.command]
    assert [command.partition("LINUX ")[2].startswith(ends or "-") for command in advised] == (
        [True] if ends else []
    )


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("candidate/runs/0", "out/date/candidate/runs/0"),
        ("../records/0", "out/records/0"),
        ("../../../elsewhere/runs/0", str(Path("../elsewhere/runs/0").absolute().resolve())),
    ],
)
def test_a_path_from_the_reports_folder_is_short_or_whole(word: str, shown: str) -> None:
    step = Step("", shlex.join(["rushhour", "debug", word]), frozenset({word}))
    assert step.outside(Path("out/date")) == shlex.join(["rushhour", "debug", shown])
