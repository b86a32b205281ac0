"""Sentences on a terminal and in a pipe."""

from __future__ import annotations

import io

import pytest
from rich.text import Text

from rushhour.cli.screen import console, say

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
