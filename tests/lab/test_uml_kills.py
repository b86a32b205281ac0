"""Whatever is killed, nothing is left: no process, no folder, no shared memory."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import guests
import kills
import pytest
from waiting import until

from rushhour.files import rooms
from rushhour.files.rooms import SANDBOX
from rushhour.lab import kernel
from rushhour.lab.confine import Sandbox

pytestmark = pytest.mark.virtual

# A controller of its own, so that it can be killed, too.
CONTROLLER = """
import sys
from pathlib import Path
import guests
from rushhour.lab.confine import Sandbox
folder, image = Path(sys.argv[1]), Path(sys.argv[2])
with Sandbox(folder / "runs", image, folder / "root") as box:
    guests.start(box, image).wait()
"""


def processes(folder: Path) -> dict[int, str]:
    """The processes that work in this folder or are told of it, by number, with their names."""
    found = {}
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            words = (entry / "cmdline").read_bytes().split(b"\0")
            inside = str((entry / "cwd").readlink()).startswith(str(folder))
            if inside or any(str(folder).encode() in word for word in words[1:]):
                found[int(entry.name)] = (entry / "comm").read_text().strip()
    return found


def leftovers(folder: Path) -> list[str]:
    folders = [str(path) for path in (folder / "runs").glob(f"{SANDBOX}*")]
    return folders + list(processes(folder).values())


FORBIDDEN = {"a world of its own": "", "no mounts": "mnt", "a process group": "user pid net mnt ipc"}


@pytest.fixture(params=list(FORBIDDEN))
def controller(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    guests.build(tmp_path, guests.FOREVER)
    words = [sys.executable, "-c", CONTROLLER, str(tmp_path), str(kernel.default().image)]
    words = [*guests.without_namespaces(FORBIDDEN[request.param]), *words]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def beats(folder: Path) -> bool:
    return any(True for _ in (folder / "runs").glob(f"{SANDBOX}*/out/progress"))


@pytest.mark.parametrize("victim", ["controller", "launcher", "keeper", "linux", "user process"])
def test_one_killed_process_takes_all_others_with_it(
    victim: str, controller: Callable[[], subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    process = controller()
    assert until(lambda: beats(tmp_path))
    kills.send(find(victim, process.pid, tmp_path))
    process.wait(20)
    assert until(lambda: not leftovers(tmp_path)), leftovers(tmp_path)


def find(victim: str, controller: int, folder: Path) -> int:
    """The process of this role in the tree controller → launcher → keeper → linux → user processes."""
    chain = {"controller": controller}
    for role in ("launcher", "keeper", "linux", "user process"):
        chain[role] = first_child(list(chain.values())[-1])
    return chain[victim]


def first_child(process: int) -> int:
    found: list[int] = []

    def seen() -> bool:
        found[:] = children(process)
        return bool(found)

    assert until(seen)
    return found[0]


def children(process: int) -> list[int]:
    with suppress(OSError):
        return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    return []


@pytest.mark.parametrize("seed", range(4))
def test_kills_at_random_moments(
    seed: int, controller: Callable[[], subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    chance = random.Random(seed)
    process = controller()
    time.sleep(chance.uniform(0.02, 0.6))
    victims = [process.pid, *processes(tmp_path)]
    kills.send(chance.choice(victims))
    if process.poll() is None and not until(lambda: process.poll() is not None, 0.5):
        process.send_signal(signal.SIGKILL)
    process.wait(20)
    assert until(lambda: not processes(tmp_path)), processes(tmp_path)
    # A controller that is killed before its launcher runs leaves its folder to the next one.
    rooms.sweep(tmp_path / "runs")
    assert not leftovers(tmp_path)


def test_an_abandoned_sandbox_is_removed_and_a_living_one_is_not(tmp_path: Path) -> None:
    image = kernel.default().image
    dead = tmp_path / "runs" / f"{SANDBOX}deadbeef"
    (dead / "out").mkdir(parents=True)
    with Sandbox(tmp_path / "runs", image, tmp_path) as living:
        assert not dead.exists()
        rooms.sweep(tmp_path / "runs")
        assert living.folder.exists()
    assert not living.folder.exists()


def test_many_sandboxes_at_once_do_not_take_each_other_for_abandoned(tmp_path: Path) -> None:
    image = kernel.default().image

    def one(_: int) -> bool:
        with Sandbox(tmp_path / "runs", image, tmp_path) as box:
            return box.out.is_dir()

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(one, range(400)))
    assert not list((tmp_path / "runs").iterdir())


def test_cancelling_ends_the_guest_at_once(tmp_path: Path) -> None:
    image = kernel.default().image
    root = guests.build(tmp_path, guests.FOREVER)
    with Sandbox(tmp_path / "runs", image, root) as box:
        guest = guests.start(box, image)
        assert until(lambda: beats(tmp_path))
        guest.cancel()
        assert guest.wait().reason == "cancelled"
        assert until(lambda: not processes(tmp_path))
    assert not leftovers(tmp_path)
