"""Progress where no person looks on: a line for each run, harmless whatever a scenario is called."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console
from rich.progress import Progress
from rich.status import Status

from rushhour.cli.progress import display
from rushhour.cli.screen import console

if TYPE_CHECKING:
    from collections.abc import Callable


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


def outcome(label: str) -> Any:
    batch = SimpleNamespace(name="sweep")
    run = SimpleNamespace(cell=SimpleNamespace(label=label))
    return SimpleNamespace(batch=batch, run=run, skipped=False, error=None, cached=False)


def test_a_bar_is_there_only_while_runs_are_to_come(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def noted(kind: type, name: str, what: Callable[[Any], str]) -> None:
        real = getattr(kind, name)

        def spied(self: Any, *given: Any, **more: Any) -> Any:
            done.append(what(given))
            return real(self, *given, **more)

        monkeypatch.setattr(kind, name, spied)

    noted(Progress, "start", lambda _: "bar")
    noted(Progress, "stop", lambda _: "no bar")
    noted(Status, "update", lambda given: str(given[0]))
    noted(Status, "stop", lambda _: "no line")
    sink = io.StringIO()
    with display(Console(file=sink, force_terminal=True, width=30, legacy_windows=False)) as screen:
        screen.tell("reading a folder with a very long name")
        screen.more(0)
        screen.more(2)
        screen.show(outcome("cc=reno"))
        screen.tell("judging")
    line = "reading a folder with a ve…"
    assert done == ["no bar", line, "no line", "bar", "no bar", "judging", "no bar", "no line"]
    assert sink.getvalue().rindex("\x1b[?25h") > sink.getvalue().rindex("\x1b[?25l")  # the cursor is back


def test_where_a_program_reads_only_runs_are_told() -> None:
    sink = io.StringIO()
    with display(console(file=sink)) as screen:
        screen.tell("judging")
    assert sink.getvalue() == ""
