"""Tests kill processes that may be gone by then: `kills` allows for it, and it alone sends their signals."""

import re
import subprocess
import sys
from pathlib import Path

import kills
import pytest

OWN = {
    "kills.py",
    "shells.py",
    "typing_at.py",
    "ci/test_nightly.py",
    "lab/test_shell_live.py",
}
"""Files that signal only children that nobody else waits for, or ask with the signal 0."""


def test_a_process_that_is_gone_is_no_error() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait(20)
    kills.send(child.pid)
    kills.all_at_once([child.pid, child.pid])


def test_all_of_them_die() -> None:
    children = [subprocess.Popen(["sleep", "60"]) for _ in range(3)]
    kills.all_at_once([child.pid for child in children])
    assert [child.wait(20) for child in children] == [-9, -9, -9]


def test_what_a_failed_block_leaves_running_is_ended() -> None:
    with pytest.raises(AssertionError), kills.at_the_end(subprocess.Popen(["sleep", "3600"])) as process:
        raise AssertionError
    assert process.returncode == -9


def test_no_other_test_signals_a_process_by_its_number() -> None:
    place = Path(__file__).parent
    pattern = re.compile(r"^[^\"'\n#]*\bos\.kill\((?!os\.getpid)", re.MULTILINE)
    found = {str(path.relative_to(place)) for path in place.rglob("*.py") if pattern.search(path.read_text())}
    assert found == OWN
