"""Progress where no person looks on: a line for each run, harmless whatever a scenario is called."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest

from rushhour.cli.progress import display
from rushhour.cli.screen import console


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("plain", "plain"),
        ("[red]ümläut[/]", "[red]ümläut[/]"),
        ("bell\x07 and \x1b[31m", "bell and \ufffd[31m"),
    ],
)
def test_a_line_is_what_it_says_and_nothing_that_a_terminal_obeys(name: str, shown: str) -> None:
    sink = io.StringIO()
    run: Any = SimpleNamespace(
        batch=SimpleNamespace(name=name), run="a" * 300, skipped=False, error=None, cached=True
    )
    with display(console(file=sink)) as screen:
        screen.more(20)
        screen.show(run)
    assert sink.getvalue() == f"[ 1/20] {shown} · {'a' * 300}: known\n"
