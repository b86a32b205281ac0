"""A command in a narrow terminal can still be copied and run."""

import io
import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from rushhour.report.command import Command, broken

LONG = (
    "rushhour run suite/fixed-buffers --set 'flow.long.cc=a b' --set topology.rate=1mbit --kernel k --seed 1"
)


@pytest.mark.parametrize("room", [20, 40, 60, 200])
def test_broken_lines_are_one_command_for_a_shell(room: int) -> None:
    lines = broken(f"printf %s\\\\n {LONG}", room)
    said = subprocess.run(["sh", "-c", "\n".join(lines)], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == shlex.split(LONG)
    if room >= 60:
        assert max(map(len, lines)) <= room
    assert len(lines) == 1 or room < 200


@given(st.lists(st.text(st.characters(exclude_characters="\n"), min_size=1, max_size=12)), st.integers(1, 60))
def test_no_word_is_lost_or_joined(words: list[str], room: int) -> None:
    command = shlex.join(words)
    # A shell takes a line that ends so for one with the next.
    whole = "".join(line.removesuffix("\\") for line in broken(command, room))
    assert shlex.split(whole) == words


def test_lines_after_the_first_stand_under_the_command() -> None:
    text = io.StringIO()
    Console(file=text, width=50).print(Command("try  ", LONG, indent=2))
    first, second, *_ = text.getvalue().splitlines()
    assert first.startswith("  try  rushhour run ")
    assert second.startswith("       --set")
    assert all(len(line) <= 50 for line in text.getvalue().splitlines())
