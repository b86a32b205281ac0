"""How many CPUs are ours: of all that a process may run on as many as its control groups let it use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rushhour.lab import cpus
from rushhour.lab.doctor import machine
from rushhour.running.executor import Pool

if TYPE_CHECKING:
    from collections.abc import Iterator


MOUNTS = """\
30 23 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw,nsdelegate
33 30 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:12 - cgroup cgroup rw,cpu,cpuacct
34 30 0:30 / /sys/fs/cgroup/memory rw shared:13 - cgroup cgroup rw,memory
"""


@pytest.fixture
def groups(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A machine of eight CPUs without control groups: what its files say, by path."""
    found: dict[str, str] = {}
    monkeypatch.setattr(cpus, "_text", lambda path: found.get(path, ""))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    return found


def made(groups: dict[str, str], member: str, files: dict[str, str]) -> None:
    groups |= {"/proc/self/cgroup": member, "/proc/self/mountinfo": MOUNTS}
    groups |= {f"/sys/fs/cgroup/{name}": text for name, text in files.items()}


OURS = "user.slice/run.scope/cpu.max"
SECOND = "0::/user.slice/run.scope\n"
FIRST = "4:memory:/x\n3:cpu,cpuacct:/docker/abc\n2:cpuset:/\n0::/\n"
QUOTA, PERIOD = "cpu.cfs_quota_us", "cpu.cfs_period_us"
ABOVE, BELOW = "cpu,cpuacct", "cpu,cpuacct/docker/abc"


@pytest.mark.parametrize(
    ("member", "files", "share"),
    [
        (SECOND, {}, None),
        (SECOND, {OURS: "max 100000\n"}, None),
        (SECOND, {OURS: "150000 100000\n"}, 1.5),
        (SECOND, {OURS: "max 100000\n", "user.slice/cpu.max": "200000 100000\n"}, 2),
        ("0::/\n", {"cpu.max": "50000 100000\n"}, 0.5),
        (SECOND, {"cpu.max": "no numbers\n"}, None),
        # Of version 1; in a container the path is the machine's, and the files are at the root.
        (FIRST, {f"{ABOVE}/{QUOTA}": "-1\n", f"{ABOVE}/{PERIOD}": "100000\n"}, None),
        (FIRST, {f"{ABOVE}/{QUOTA}": "300000\n", f"{ABOVE}/{PERIOD}": "100000\n"}, 3),
        (FIRST, {f"{BELOW}/{QUOTA}": "25000\n", f"{BELOW}/{PERIOD}": "50000\n"}, 0.5),
        (FIRST, {f"{ABOVE}/{QUOTA}": "1\n", f"{ABOVE}/{PERIOD}": "0\n"}, None),
        ("what?\n", {"cpu.max": "50000 100000\n"}, None),
    ],
)  # fmt: skip
def test_what_control_groups_allow(
    groups: dict[str, str], member: str, files: dict[str, str], share: float | None
) -> None:
    made(groups, member, files)
    assert cpus.quota() == share


def test_without_control_groups_all_are_ours(groups: dict[str, str]) -> None:
    assert not groups
    assert cpus.quota() is None
    assert cpus.own() == [*range(8)]


ALL = "8 CPUs; "
"""What doctor says where all are ours."""


@pytest.mark.parametrize(
    ("allowed", "count", "says"),
    [
        ("1000 100000", 1, "8 CPUs, the time of 0.01 for this container; "),
        ("150000 100000", 2, "8 CPUs, the time of 1.5 for this container; "),
        ("800000 100000", 8, ALL),
        ("9000000 100000", 8, ALL),
    ],
)
def test_so_many_runs_go_on_at_once(groups: dict[str, str], allowed: str, count: int, says: str) -> None:
    made(groups, "0::/\n", {"cpu.max": allowed})
    ours = cpus.own()
    assert len(ours) == len(set(ours)) == count
    assert set(ours) <= set(range(8))
    pool = Pool()
    assert pool.count == count
    pool.close()
    assert says in machine.cpu().says


PROGRAM = "from rushhour.lab import cpus; print(input(), cpus.quota(), len(cpus.own()))"


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group of this machine's whose processes have the time of half a CPU."""
    mount = Path("/sys/fs/cgroup")
    first = mount / "cpu"
    place = (first if first.is_dir() else mount) / f"rushhour-test-{os.getpid()}"
    if not first.is_dir():
        (mount / "cgroup.subtree_control").write_text("+cpu")
    place.mkdir()
    try:
        if first.is_dir():
            (place / QUOTA).write_text("50000")
        else:
            (place / "cpu.max").write_text("50000 100000")
        yield place
    finally:
        place.rmdir()


@pytest.mark.host
def test_the_quota_of_a_real_control_group(group: Path) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
    ) as process:
        (group / "cgroup.procs").write_text(str(process.pid))
        said, _ = process.communicate("in", timeout=60)
    assert said == "in 0.5 1\n"
