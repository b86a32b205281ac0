"""`scripts/in-memory`: files of tests are in memory where there is room, and nothing of them stays there."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "in-memory"
ROOMY = "size=5g"

pytestmark = pytest.mark.host


def typed(lines: str, options: str = ROOMY, **more: str) -> list[str]:
    """What lines of a shell print where /dev/shm is a file system of their own; `run` is the script."""
    mount = f'mount -t tmpfs -o {options} none /dev/shm && run="{SCRIPT}" && eval "$0"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", mount, lines],
        env={name: word for name, word in os.environ.items() if name != "TMPDIR"} | more,
        capture_output=True,
        text=True,
        check=True,
    )
    assert not done.stderr
    return done.stdout.splitlines()


def test_files_are_in_memory_and_gone_at_the_end_whatever_that_is() -> None:
    place, same, end = typed(
        """$run sh -c 'echo $TMPDIR; echo $IN_MEMORY; touch $TMPDIR/x; exit 3'; echo $?; ls /dev/shm"""
    )
    assert place.startswith("/dev/shm/rh-tests-")
    assert same == place
    assert end == "3"


@pytest.mark.parametrize("options", ["size=64m", f"{ROOMY},noexec", f"{ROOMY},ro"])
def test_without_room_or_where_nothing_can_be_run_they_are_where_they_always_are(options: str) -> None:
    assert typed("$run sh -c 'echo ${TMPDIR-${IN_MEMORY-none}}'; ls /dev/shm", options) == ["none"]


def test_what_a_user_says_is_left_alone() -> None:
    said = typed("$run sh -c 'echo $TMPDIR ${IN_MEMORY-}'", TMPDIR="/var/tmp", IN_MEMORY="/tmp")
    assert said == ["/var/tmp"]


def test_what_a_killed_one_left_goes_with_the_next_and_what_is_used_stays() -> None:
    *left, after = typed(
        """
        begin() { $run sleep 60 & until ls /dev/shm/*/try 2> /dev/null; do sleep 0.01; done; }
        begin; first=$!
        $run true; ls /dev/shm
        kill -9 $first $(pgrep -P $first); wait $first 2> /dev/null
        $run true; ls /dev/shm | wc -l
        """
    )
    assert left[-1].startswith("rh-tests-")
    assert after == "0"
