"""The first screen: complete in 80 columns, without colour, and honest about invalid runs."""

import io
from dataclasses import replace
from pathlib import Path
from types import CodeType
from typing import Any

import jinja2
import numpy as np
import pytest
from report_records import make_copies, make_set
from rich.console import Console

from rushhour.metrics.value import MetricValue
from rushhour.record.record import Record
from rushhour.record.result_set import ResultSet
from rushhour.report import html, markdown, model, shell
from rushhour.report.braille import chart
from rushhour.report.curves import Curve
from rushhour.report.machines import distrusted
from rushhour.report.tables import whole
from rushhour.report.terminal import print_results
from rushhour.report.why import Why, why
from rushhour.summary.expectations import held_said


def screen(path: Path, width: int = 80) -> str:
    text = io.StringIO()
    print_results(ResultSet.open(path), Console(file=text, width=width, no_color=True), Path("report.html"))
    return text.getvalue()


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_set(tmp_path_factory.mktemp("single"), [{}])


def test_one_run_says_question_path_kernel_flows_charts_and_verdict(single: Path) -> None:
    text = screen(single)
    for part in (
        "Window scaling\nDoes the queue a second flow built outlive it?\n",
        "100 Mbit/s · base RTT 2.1 ms · buffer 500 kB · fifo",
        "Linux 6.12.117 (6.12) · uml · seed 1 · 30 s",
        "long   cubic  s1 → r1",
        "Congestion window, segments",
        "Round-trip time, ms  base RTT 2.1 ms",
        "Queue at the bottleneck, kB  buffer 500 kB",
        "✓ Valid  The links were measured and are what was asked.",
        "Report  report.html",
    ):
        assert part in text


def test_cells_that_last_differently_are_said_as_a_range(single: Path) -> None:
    record = Record.open(next(single.rglob("manifest.json")).parent)
    short = model.view(record, [], factors={}, points=0, explained=False)
    assert model.lasting([short, short]) == "30 s"
    assert model.lasting([replace(short, duration_s=80.0), short]) == "30 to 80 s"


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_no_line_is_wider_than_the_console(single: Path, width: int) -> None:
    assert max(len(line.rstrip()) for line in screen(single, width).splitlines()) <= width


def test_the_screen_without_colour_holds_no_escape(single: Path) -> None:
    assert "\x1b" not in screen(single)


def test_why_a_flow_was_as_fast_is_asked_only_where_it_is_said(
    single: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []

    def counted(record: Record) -> tuple[Why, ...]:
        asked.append(record.path)
        return why(record)

    monkeypatch.setattr(model, "why", counted)
    screen(single)
    markdown.render(ResultSet.open(single))
    assert len(asked) == 2
    screen(path := make_set(tmp_path, [{"cc": "cubic"}, {"cc": "reno"}], seconds=6))
    markdown.render(ResultSet.open(path))
    assert len(asked) == 2, "a table of cells says nothing of it"
    html.render(ResultSet.open(path))
    assert len(asked) == 4


def test_templates_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[object] = []
    compile_ = jinja2.Environment.compile

    def counted(self: jinja2.Environment, source: str, *words: Any, **named: Any) -> CodeType:
        compiled.append(source)
        made: CodeType = compile_(self, source, *words, **named)
        return made

    monkeypatch.setattr(jinja2.Environment, "compile", counted)
    shell.template("overview.html")
    before = len(compiled)
    shell.template("overview.html")
    assert len(compiled) == before


def test_a_sweep_is_a_table_with_a_row_for_each_cell(tmp_path: Path) -> None:
    path = make_set(tmp_path, [{"cc": "cubic", "loss": "0%"}, {"cc": "reno", "loss": "1%"}], seconds=6)
    lines = screen(path).splitlines()
    assert [line.split()[:2] for line in lines if line.startswith(("cubic", "reno"))] == [
        ["cubic", "0%"],
        ["reno", "1%"],
    ]
    assert "In both runs" in screen(path)


def test_levels_of_many_words_leave_the_numbers_room(tmp_path: Path) -> None:
    long = "red limit 1000000 min 30000 max 90000 avpkt 1500 burst 30 probability 0.1"
    path = make_set(tmp_path, [{"queue": "fifo", "loss": "0%"}, {"queue": long, "loss": "1%"}], seconds=6)
    text = screen(path)
    table = text[text.index("fifo") : text.index("In the report")]
    assert "goodput" in text.split("fifo")[0]
    assert long.split() == [
        word for line in table.splitlines() for word in line.split() if word in long.split()
    ]


def test_repetitions_are_one_row(tmp_path: Path) -> None:
    make_set(tmp_path, [{"cc": "cubic"}], seconds=6)
    make_set(tmp_path / "more", [{"cc": "cubic"}], seconds=6, repetition=1)
    (tmp_path / "more/runs/0000").rename(tmp_path / "runs/0001")
    assert sum(line.startswith("cubic") for line in screen(tmp_path).splitlines()) == 1


def test_an_invalid_run_is_said_with_its_reason(tmp_path: Path) -> None:
    path = make_set(tmp_path, [{}], seconds=6, valid=False, invalid_reasons=["[red]measured 80 Mbit/s"])
    text = screen(path)
    assert "✗ Invalid  Do not use the numbers of this run." in text
    assert "[red]measured 80 Mbit/s" in text


@pytest.mark.parametrize(
    ("held", "judged", "said"),
    [
        (1, 1, "the expectation holds"),
        (0, 1, "the expectation does not hold"),
        (2, 2, "both expectations hold"),
        (3, 3, "all 3 expectations hold"),
        (1, 3, "1 of 3 expectations holds"),
        (2, 3, "2 of 3 expectations hold"),
        (0, 3, "none of 3 expectations holds"),
    ],
)
def test_expectations_are_counted_in_words(held: int, judged: int, said: str) -> None:
    assert held_said(held, judged) == said


@pytest.mark.parametrize(
    ("invalid", "runs", "said"),
    [
        (1, 1, "do not use the numbers of this run"),
        (1, 3, "1 of 3 runs: do not use its numbers"),
        (2, 3, "2 of 3 runs: do not use their numbers"),
        (2, 2, "both runs: do not use their numbers"),
    ],
)
def test_invalid_runs_are_counted_in_words(invalid: int, runs: int, said: str) -> None:
    assert distrusted(invalid, runs) == said


def test_what_finds_no_room_is_counted(tmp_path: Path) -> None:
    make_copies(tmp_path, [{"n": str(n)} for n in range(7)], seconds=6, valid=False, invalid_reasons=["late"])
    text = screen(tmp_path)
    assert text.count(": late") == 5
    assert "and 2 more; the report has them" in text


def test_a_rising_line_rises_in_the_chart() -> None:
    curve = Curve("x", 0, np.linspace(0, 10, 200), np.linspace(0, 100, 200))
    top, bottom = chart(curve, 10, 2, 10.0, 100.0)
    assert top[:4] == "    "
    assert " " not in top[5:]
    assert " " not in bottom[:5]
    assert bottom[6:] == "    "


def test_a_held_value_fills_the_time_to_the_next_sample() -> None:
    curve = Curve("x", 0, np.array([0.0, 9.99]), np.array([50.0, 50.0]), "hold")
    assert " " not in chart(curve, 20, 1, 10.0, 100.0)[0]


def test_a_last_reading_just_after_the_end_belongs_to_the_chart() -> None:
    """Of equal readings only the first and the last are kept; without the last nothing would be drawn."""
    curve = Curve("x", 0, np.array([0.0, 10.0000008]), np.array([0.0, 0.0]), "hold")
    assert " " not in chart(curve, 20, 1, 10.0, 100.0)[0]


def test_a_flow_that_ended_leaves_the_rest_of_the_chart_empty() -> None:
    curve = Curve("x", 0, np.array([0.0, 4.9]), np.array([50.0, 50.0]), "hold")
    assert chart(curve, 20, 1, 10.0, 100.0)[0][10:] == " " * 10


def test_of_a_server_and_its_client_the_time_of_the_client_is_the_runs() -> None:
    values = [
        MetricValue("program_time_s", "program:server", None, "s", "it did not end by itself"),
        MetricValue("program_time_s", "program:client", 1.5, "s"),
    ]
    assert whole(values)["program_time_s"].value == 1.5
    assert "program_time_s" not in whole([*values, MetricValue("program_time_s", "program:other", 2.0, "s")])
