"""Time zero of a virtual experiment is always the same, whatever set-up did and however long it took.

An agent that is built for this test sleeps, reads clocks, makes calls that fail and uses memory between the
steps of its set-up, at random.
"""

import os
import shutil
import subprocess
from dataclasses import replace
from itertools import cycle
from pathlib import Path

import pytest
import quick_suite

from rushhour.lab import agent
from rushhour.lab.uml import UmlLab
from rushhour.record.plan_file import planned

pytestmark = pytest.mark.virtual

ROOT = Path(__file__).parents[2]
EVERY = 4
SEEDS = (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03)


@pytest.fixture(scope="module")
def disturbing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Not optimised either, so each of its steps takes other times than those of the agent that ships."""
    words = [str(ROOT / "scripts/agent"), "--features", "disturb"]
    built = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    # Where there is no cache, the next build takes that place.
    return Path(shutil.copy(built, tmp_path_factory.mktemp("agent")))


@pytest.mark.parametrize(("first", "kernel"), list(enumerate(["debian-6.1", "debian-6.12"])))
def test_a_disturbed_set_up_gives_the_same_bytes(
    first: int, kernel: str, disturbing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = quick_suite.jobs(kernel, every=EVERY, first=first)
    quiet = quick_suite.carried_out(runs)
    monkeypatch.setitem(os.environ, agent.VARIABLE, str(disturbing))
    disturbed = {
        name: replace(job, plan=planned({**job.plan, "disturb": seed}))
        for (name, job), seed in zip(runs.items(), cycle(SEEDS), strict=False)
    }
    assert not quick_suite.different(quiet, quick_suite.carried_out(disturbed, UmlLab()))
