"""Any process of a run in real time killed at any moment: no namespace, process, tracer or file is left."""

import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import kills
import pytest
from waiting import until

pytestmark = pytest.mark.host

SCENARIO = """
duration = "20s"
topology = { preset = "dumbbell", rate = "20mbit", rtt = "10ms" }
flow = [{ name = "a" }]
"""
TRACERS = Path("/sys/kernel/tracing/instances")


def status(pid: int) -> tuple[str, int] | None:
    """A process's state and its parent."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return fields[0], int(fields[1])


def below(pid: int) -> list[int]:
    """All processes that descend from one."""
    known = {
        int(entry.name): status(int(entry.name)) for entry in Path("/proc").iterdir() if entry.name.isdigit()
    }
    found = [pid]
    for one in found:
        found += [child for child, about in known.items() if about is not None and about[1] == one]
    return found[1:]


def lives(pid: int) -> bool:
    about = status(pid)
    return about is not None and about[0] != "Z"


def namespaces(pids: list[int]) -> set[str]:
    """The network namespaces that these processes are in, or hold open."""
    found: set[str] = set()
    for pid in pids:
        links = [Path(f"/proc/{pid}/ns/net")]
        try:
            links += list(Path(f"/proc/{pid}/fd").iterdir())
        except OSError:
            continue
        for link in links:
            try:
                found.update(re.findall(r"^net:\[\d+\]$", str(link.readlink())))
            except OSError:
                continue
    return found


def everywhere() -> set[str]:
    return namespaces([int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()])


def begun(folder: Path) -> subprocess.Popen[str]:
    words = ["run", str(folder / "k.toml"), "--lab", "netns", "--out", str(folder / "out"), "--no-report"]
    return subprocess.Popen(
        [sys.executable, "-m", "rushhour", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(folder / "tmp")},
    )


def agents_of(family: list[int]) -> list[int]:
    return [
        pid
        for pid in family
        if b"run\0out" in (Path(f"/proc/{pid}/cmdline").read_bytes() if lives(pid) else b"")
    ]


def whole_family(first: subprocess.Popen[str]) -> list[int]:
    """Launcher, keeper and agent, when all three live: before them three others ask the machine."""
    family: list[int] = []

    def whole() -> bool:
        family[:] = [pid for pid in below(first.pid) if lives(pid)]
        return len(family) >= 3 or first.poll() is not None

    assert until(whole, 60)
    assert first.poll() is None, first.communicate()[0]
    return family


@pytest.mark.parametrize("whom", ["rushhour", "launcher", "keeper", "agent", "interrupt"])
def test_a_kill_leaves_nothing(tmp_path: Path, whom: str) -> None:
    (tmp_path / "k.toml").write_text(SCENARIO)
    (tmp_path / "tmp").mkdir()
    with begun(tmp_path) as first:
        try:
            assert until(lambda: agents_of(below(first.pid)) or first.poll() is not None, 60)
            time.sleep(random.Random(whom).uniform(0, 1.5))
            family = whole_family(first)
            inside = namespaces(family) - namespaces([os.getpid()])
            victims = {"rushhour": first.pid, "interrupt": first.pid, "launcher": family[0]}
            victims |= {"keeper": family[1], "agent": family[-1]}
            kills.send(victims[whom], signal.SIGINT if whom == "interrupt" else signal.SIGKILL)
            said, _ = first.communicate(timeout=30)
        finally:
            first.kill()
    assert "Traceback" not in said
    assert inside
    assert until(lambda: not any(lives(pid) for pid in family)), [status(pid) for pid in family]
    assert until(lambda: not inside & everywhere())
    names = {f"-{pid}" for pid in family}
    assert until(
        lambda: not [one for one in TRACERS.glob("rushhour-*") if any(one.name.endswith(n) for n in names)]
    )
    assert not list((tmp_path / "tmp").glob("rushhour-*")) or whom == "rushhour"
    assert not list((tmp_path / "out/runs").glob("[!.]*"))
    if whom != "rushhour":
        assert not list((tmp_path / "out/runs").glob(".sandbox-*"))


def test_when_all_are_killed_at_once_the_next_run_takes_away_what_is_left(tmp_path: Path) -> None:
    (tmp_path / "k.toml").write_text(SCENARIO)
    (tmp_path / "tmp").mkdir()
    with begun(tmp_path) as first:
        try:
            assert until(lambda: agents_of(below(first.pid)) or first.poll() is not None, 60)
            time.sleep(1.0)
            family = whole_family(first)
            inside = namespaces(family) - namespaces([os.getpid()])
            kills.all_at_once([first.pid, *family])
            first.communicate(timeout=20)
        finally:
            first.kill()
    assert until(lambda: not any(lives(pid) for pid in family))
    assert until(lambda: not inside & everywhere())
    text = SCENARIO.replace("20s", "300ms")
    (tmp_path / "k.toml").write_text(text)
    (tmp_path / "out/set.json").unlink()
    second = begun(tmp_path)
    said, _ = second.communicate(timeout=60)
    assert second.returncode in (0, 4), said
    assert not list((tmp_path / "out/runs").glob(".sandbox-*"))
    names = {f"-{pid}" for pid in family}
    assert not [one for one in TRACERS.glob("rushhour-*") if any(one.name.endswith(n) for n in names)]
