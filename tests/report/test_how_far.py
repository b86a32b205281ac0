"""How far a report is: told on a terminal while it is made, and nowhere else."""

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import kills
import pytest
from report_records import make_set
from rich.console import Console

from rushhour.cli.waiting import read_by
from rushhour.record.result_set import ResultSet
from rushhour.report import gallery, html


@pytest.fixture
def results(tmp_path: Path) -> ResultSet:
    return ResultSet(make_set(tmp_path / "set", [{"cc": "cubic"}, {"cc": "reno"}], seconds=6, title="Set"))


class Spied(Console):
    """A terminal; what its status line said is kept, however seldom it is drawn."""

    def __init__(self, width: int) -> None:
        super().__init__(file=io.StringIO(), force_terminal=True, width=width, legacy_windows=False)
        self.said: list[str] = []

    def status(self, *given: object, **more: object) -> object:  # type: ignore[override]
        made = super().status(*given, **more)  # type: ignore[arg-type]
        update = made.update

        def spied(text: object) -> None:
            self.said.append(str(text))
            update(text)  # type: ignore[arg-type]

        made.update = spied  # type: ignore[assignment,method-assign]
        return made


def test_every_run_and_every_figure_is_told(results: ResultSet, tmp_path: Path) -> None:
    screen = Spied(width=80)
    with read_by(screen, [results]):
        html.write(results, tmp_path / "page.html")
        assert "reading run 2 of 2" in screen.said
        made = gallery.draw(results, tmp_path / "figures", "svg")
    assert [f"drawing {path.name}" for path in made] == [
        one for one in screen.said if one.startswith("drawing")
    ]
    told = len(screen.said)
    html.write(results, tmp_path / "again.html")
    assert len(screen.said) == told  # nobody waits any more


def test_of_several_sets_each_is_named_and_a_line_has_room(results: ResultSet, tmp_path: Path) -> None:
    screen = Spied(width=30)
    other = ResultSet(make_set(tmp_path / "other", [{"cc": "bbr"}], seconds=6, title="Other"))
    with read_by(screen, [results, other]):
        html.write(other, tmp_path / "page.html")
    assert "other: reading run 1 of 1" in screen.said
    assert max(map(len, screen.said)) <= 27


def test_where_nobody_watches_nothing_is_told(results: ResultSet, tmp_path: Path) -> None:
    console = Console(file=io.StringIO(), force_terminal=False)
    with read_by(console, [results]):
        html.write(results, tmp_path / "page.html")
    assert console.file.getvalue() == ""  # type: ignore[attr-defined]


def test_the_command_tells_a_person(results: ResultSet, tmp_path: Path) -> None:
    """Standard error is a terminal; what a program reads of standard output is the files alone."""
    ours, theirs = pty.openpty()
    command = [
        sys.executable,
        "-m",
        "rushhour",
        "report",
        str(results.path),
        "--out",
        str(tmp_path / "x.html"),
    ]
    with kills.at_the_end(
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=theirs, env=os.environ | {"TERM": "xterm"}, text=True
        )
    ) as going:
        os.close(theirs)
        said = b""
        try:
            while part := os.read(ours, 4096):
                said += part
        except OSError:  # how a terminal ends
            pass
        assert going.stdout is not None
        assert going.stdout.read().split() == [str(tmp_path / "x.html")]
        assert going.wait(60) == 0
    os.close(ours)
    assert "⠋".encode() in said
    assert b"\x1b[?25h" in said  # the cursor is back
