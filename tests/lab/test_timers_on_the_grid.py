"""Timers of the guest and the steps of its clock (`lab/kernel/host/clock.c`)."""

import subprocess
from importlib import resources
from pathlib import Path

import pytest

# For each time moves once, to its instant, and not once more to the next step; nor is it asked for.
TIMERS = 1000


@pytest.fixture(scope="module")
def made_up_clock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program: Path = tmp_path_factory.mktemp("clock") / "made_up_clock"
    ours = resources.files("rushhour.lab.kernel.host")
    source = Path(__file__).with_name("made_up_clock.c")
    words = ["gcc", "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined"]
    subprocess.run([*words, f"-I{ours}", "-o", program, source], check=True)
    return program


@pytest.mark.parametrize("seed", range(5))
def test_a_timer_fires_at_the_first_step_at_or_after_its_instant(made_up_clock: Path, seed: int) -> None:
    """Each timer and each instant that the guest sees is checked inside."""
    answer = subprocess.run(
        [made_up_clock, str(seed)], capture_output=True, text=True, check=False, timeout=60
    )
    assert answer.returncode == 0, answer.stderr
    moved, asked = map(int, answer.stdout.split())
    assert moved == TIMERS
    assert asked == 0
