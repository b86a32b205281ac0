"""Any process of a sweep killed at any moment: nothing is left, what finished is kept, and it goes on."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import kills
import pytest

pytestmark = pytest.mark.virtual

SCENARIO = """
    duration = "{duration}"
    topology = {{ preset = "dumbbell", rate = "100mbit", rtt = "5ms" }}
    flow = [{{ name = "a" }}]
    sweep = {{ seed = {seeds} }}
"""
CELLS = {2: ("6s", 3), 3: ("2s", 48)}
"""By runs at once: of more than two, processes of their own make some after a while."""


def below(pid: int) -> list[int]:
    """All processes that descend from one."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "stat").read_text()
            except OSError:
                continue
            parents[int(entry.name)] = int(text.rpartition(")")[2].split()[1])
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def sweep(folder: Path, jobs: int) -> subprocess.Popen[str]:
    words = ["run", str(folder / "k.toml"), "--out", str(folder / "out"), "--no-report", "--jobs", str(jobs)]
    return subprocess.Popen(
        [sys.executable, "-m", "rushhour", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"XDG_CACHE_HOME": str(folder / "cache"), "PYTHONPATH": os.pathsep.join(sys.path)},
    )


@pytest.mark.parametrize(("jobs", "seed"), [*((2, seed) for seed in range(4)), (3, 4), (3, 5), (3, 6)])
def test_a_kill_at_any_moment_leaves_nothing_and_the_sweep_goes_on(
    tmp_path: Path, jobs: int, seed: int
) -> None:
    # Known runs are elsewhere, the kernels the same: every sweep here has something to do.
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rushhour"
    (tmp_path / "cache/rushhour").mkdir(parents=True)
    (tmp_path / "cache/rushhour/kernels").symlink_to(cache / "kernels")
    duration, cells = CELLS[jobs]
    seeds = list(range(700, 700 + cells))
    (tmp_path / "k.toml").write_text(SCENARIO.format(duration=duration, seeds=seeds))
    dice = random.Random(seed)

    first = sweep(tmp_path, jobs)
    deadline = time.monotonic() + 20
    while not (family := below(first.pid)) and first.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(dice.uniform(0, 1 if jobs == 2 else 5))
    family = below(first.pid) or family
    victim = dice.choice([first.pid, *family])
    kills.send(victim)
    said, _ = first.communicate(timeout=60)
    assert "Traceback" not in said
    deadline = time.monotonic() + 10
    while any(is_alive(pid) for pid in family) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [pid for pid in family if is_alive(pid)] == []
    kept = {path.name for path in (tmp_path / "out/runs").glob("0*")}

    again = sweep(tmp_path, jobs)
    said, _ = again.communicate(timeout=60)
    assert again.returncode == 0, said
    runs = {path.name for path in (tmp_path / "out/runs").iterdir()}
    assert kept <= runs
    assert len(runs) == cells
