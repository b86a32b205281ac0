"""The whole program where most people's CI is: in a container with the engine's default profile.

The same scenario outside and inside, as root and as an ordinary user, with one thing after the other taken
away: it runs, it says once what confines its guests, and its records are the same to the byte.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from rushhour.lab import agent, kernel

pytestmark = [pytest.mark.virtual, pytest.mark.host]

ROOT = Path(__file__).parents[2]
SCENARIO = """
title = "In a container"
duration = "2s"
seed = 7
[topology]
preset = "dumbbell"
rate = "20mbit"
rtt = "20ms"
buffer = "1bdp"
netem = "loss 0.2%"
queue = "fq_codel"
[[flow]]
name = "bbr"
cc = "bbr"
[[flow]]
name = "cubic"
cc = "cubic"
start = "200ms"
[[flow]]
name = "program"
generator = "iperf3"
"""
NO_NAMESPACES = "the guest has no namespaces of its own"
CAGE, LANDLOCK = "a root directory of its own", "by Landlock"
# What is taken away besides, and what the warning says of what is left.
CONTAINERS = {
    "": (CAGE, LANDLOCK),
    "no-landlock": (CAGE,),
    "no-proc": (CAGE, LANDLOCK),
    "user": (LANDLOCK,),
    "user no-landlock": ("there is no Landlock either",),
    "user no-shm no-sys no-sysctl no-cpuinfo": (LANDLOCK,),
}


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder that every user may enter, with the agent, two kernels and the scenario."""
    with tempfile.TemporaryDirectory(prefix="rushhour-container-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        for one in ("debian-6.1", "debian-6.12"):
            found = kernel.find(one).folder
            shutil.copytree(found, folder / "cache/rushhour/kernels" / found.name)
        shutil.copy(agent.find().binary, folder / "agent")
        (folder / "scenario.toml").write_text(SCENARIO)
        yield folder


def run(place: Path, words: str | None, *command: str) -> subprocess.CompletedProcess[str]:
    """Outside where `words` is None; in a container without what they name otherwise."""
    work = Path(tempfile.mkdtemp(dir=place))
    cache = work / "cache"
    shutil.copytree(place / "cache", cache)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(work),
        "TMPDIR": str(work),
        "XDG_CACHE_HOME": str(cache),
        "RUSHHOUR_AGENT": str(place / "agent"),
        "PYTHONPATH": os.pathsep.join(
            [str(ROOT / "src"), *(path for path in sys.path if "site-packages" in path)]
        ),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NO_COLOR": "1",
    }
    python = str(Path(sys.executable).resolve())
    full = [python, "-m", "rushhour", *command]
    if words is not None:
        shown = [
            sys.base_prefix,
            str(ROOT / "src"),
            *(p for p in sys.path if "site-packages" in p),
            str(place),
        ]
        environment["OPEN"] = ":".join(shown)
        full = [python, str(ROOT / "tests/container.py"), *words.split(), "--", *full]
    if words and "user" in words.split():
        for path in [work, *work.rglob("*")]:
            os.chown(path, 1000, 1000)
    return subprocess.run(
        full, env=environment, cwd=work, capture_output=True, text=True, timeout=300, check=False
    )


def carried_out(place: Path, words: str | None) -> tuple[dict[str, dict[str, str]], set[str], str]:
    """The hash of each raw file by the kernel's release, the warnings of the records, and what was said."""
    both = ["--kernel", "debian-6.1", "--kernel", "debian-6.12"]
    # The report is drawn where nothing is lacking, and where most is.
    brief = ["--no-report"] if words not in ("", list(CONTAINERS)[-1]) else []
    done = run(place, words, "run", "../scenario.toml", *both, "--out", "out", *brief)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    work = max(place.glob("tmp*"), key=lambda path: path.stat().st_mtime_ns)
    hashes, warnings = {}, set()
    for path in (work / "out").rglob("manifest.json"):
        manifest = json.loads(path.read_text())
        warnings |= set(manifest["warnings"])
        raw = path.parent.glob("raw/*")
        hashes[manifest["kernel"]["release"]] = {
            file.name: sha256(file.read_bytes()).hexdigest() for file in raw
        }
    assert len(hashes) == 2
    assert not list(work.rglob(".sandbox-*"))
    return hashes, warnings, said


@pytest.fixture(scope="module")
def outside(place: Path) -> dict[str, dict[str, str]]:
    hashes, warnings, _ = carried_out(place, None)
    assert not warnings
    return hashes


@pytest.mark.parametrize("words", CONTAINERS, ids=lambda words: words or "root")
def test_in_a_container_the_bytes_are_the_same(
    words: str, place: Path, outside: dict[str, dict[str, str]]
) -> None:
    hashes, warnings, said = carried_out(place, words)
    assert hashes == outside
    (warning,) = [one for one in warnings if one.startswith(NO_NAMESPACES)]
    assert all(part in warning for part in CONTAINERS[words])
    assert said.count(NO_NAMESPACES) == 1, said


@pytest.mark.parametrize("words", ["", "user no-landlock"])
def test_in_a_container_a_kernel_is_told_to_start(words: str, place: Path) -> None:
    done = run(place, words, "doctor", "--json")
    document = json.loads(done.stdout)
    assert done.returncode == 0
    kernels = next(one for one in document["checks"] if one["name"] == "kernels")
    assert [one["boots"] for one in kernels["facts"]["kernels"]] == [True, True]


def test_without_proc_an_ordinary_user_is_told(place: Path) -> None:
    done = run(place, "user no-proc", "run", "../scenario.toml", "--kernel", "debian-6.12", "--out", "out")
    assert done.returncode == 1
    assert "mount -t proc proc /proc" in done.stderr
    assert "Traceback" not in done.stderr
