"""Sentences on a terminal and in a pipe."""

from __future__ import annotations

import io

import pytest
from rich.text import Text

from rushhour.cli.screen import console, print_table, say

PATH = "results/check/2026-11-27/01-tcp-cubic-be-gentler-after-a-loss/report.html"
SENTENCE = "Worse: suite/slow-start: goodput is 12 % less, see"


def said(text: str | Text, *, terminal: bool, width: int = 40) -> list[str]:
    sink = io.StringIO()
    say(console(file=sink, force_terminal=terminal, width=width, color_system=None), text)
    assert sink.getvalue().endswith("\n")
    return sink.getvalue().removesuffix("\n").split("\n")


def test_a_terminal_breaks_between_words_and_a_pipe_nowhere() -> None:
    text = f"{SENTENCE} {PATH} or more"
    assert said(text, terminal=False) == [text]
    assert said(text, terminal=True) == [
        "Worse: suite/slow-start: goodput is 12 %",
        "less, see",
        PATH,
        "or more",
    ]


def test_what_is_indented_stays_so_and_lines_of_ours_are_kept() -> None:
    shown = said(f"first\n\n  {SENTENCE}", terminal=True, width=30)
    assert shown == ["first", "", "  Worse: suite/slow-start:", "  goodput is 12 % less, see"]


@pytest.mark.parametrize("width", [len(SENTENCE), len(SENTENCE) - 1])
def test_only_what_does_not_fit_is_broken(width: int) -> None:
    shown = said(Text(SENTENCE), terminal=True, width=width)
    assert shown == ([SENTENCE] if width == len(SENTENCE) else [SENTENCE.removesuffix(" see"), "see"])


def test_wide_letters_count_for_what_they_take() -> None:
    assert said("漢字漢字 漢字漢字", terminal=True, width=16) == ["漢字漢字", "漢字漢字"]


def test_a_terminal_obeys_nothing_of_it() -> None:
    assert said("\x1b[31mx [red]y[/]", terminal=True) == ["\ufffd[31mx [red]y[/]"]


ROWS: list[tuple[str | Text, ...]] = [
    ("debian-6.12-coverage", "6.12.117", "debian 6.12.117-1~deb12u1 with coverage", "12"),
    ("my own", "7.3.4", Text("git 3de20671cb61"), ""),
]
HEADINGS = ("name", "release", "source", "runs")


def table(width: int, wordy: tuple[str, ...] = ("source",)) -> list[str]:
    sink = io.StringIO()
    screen = console(file=sink, force_terminal=True, width=width, color_system=None)
    print_table(screen, HEADINGS, ROWS, wordy=wordy, right=("runs",))
    return [line.rstrip() for line in sink.getvalue().splitlines()]


def test_a_table_breaks_only_between_words() -> None:
    assert table(80) == [
        "name                  release   source                                   runs",
        "debian-6.12-coverage  6.12.117  debian 6.12.117-1~deb12u1 with coverage    12",
        "my own                7.3.4     git 3de20671cb61",
    ]
    assert table(60)[1:4] == [
        "debian-6.12-coverage  6.12.117  debian                    12",
        "                                6.12.117-1~deb12u1",
        "                                with coverage",
    ]


def test_a_table_that_is_too_wide_is_a_block_for_each_row() -> None:
    assert table(40) == [
        "debian-6.12-coverage",
        "  release  6.12.117",
        "  source   debian 6.12.117-1~deb12u1",
        "  with coverage",
        "  runs     12",
        "my own",
        "  release  7.3.4",
        "  source   git 3de20671cb61",
    ]


@pytest.mark.parametrize("width", range(10, 100))
def test_every_word_of_a_table_is_whole_at_every_width(width: int) -> None:
    for wordy in (("source",), ("source", "name"), ()):
        words = {word for row in ROWS for cell in row for word in str(cell).split()}
        assert words <= {word for line in table(width, wordy) for word in line.split()}


def test_a_table_without_rows_has_its_headings() -> None:
    sink = io.StringIO()
    print_table(console(file=sink, width=40), HEADINGS, [])
    assert sink.getvalue().split() == [*HEADINGS]
