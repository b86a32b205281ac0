"""Rooms: what killed processes left is removed, and nothing else ever is."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rushhour.baseline import shelf
from rushhour.files import durable, rooms
from rushhour.files.rooms import SANDBOX
from rushhour.lab.confine import Sandbox


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    place = tmp_path / "victim"
    (place / "deep").mkdir(parents=True)
    (place / "deep/file").write_text("precious")
    place.chmod(0o755)
    return place


def whole(victim: Path) -> bool:
    return (victim / "deep/file").read_text() == "precious" and victim.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("name", ["", "mem", "out", "out/raw", "root", "linux"])
def test_a_planted_link_is_not_followed(name: str, victim: Path, tmp_path: Path) -> None:
    runs = tmp_path / "foreign/runs"
    planted = runs / f"{SANDBOX}abcd1234" / name
    planted.parent.mkdir(parents=True)
    planted.symlink_to(victim, target_is_directory=True)
    with Sandbox(runs):
        assert whole(victim)
    assert whole(victim)


def test_a_sandbox_that_is_a_link_stays(victim: Path, tmp_path: Path) -> None:
    link = tmp_path / f"{SANDBOX}abcd1234"
    link.symlink_to(victim)
    rooms.sweep(tmp_path)
    assert link.is_symlink()
    assert whole(victim)


@pytest.mark.parametrize(
    "name", [f"{SANDBOX}mine", f"{SANDBOX}../victim", f"{SANDBOX}ABCDEFGH", f"{SANDBOX}a.b.c.d."]
)
def test_only_names_that_were_made_here_are_removed(name: str, victim: Path, tmp_path: Path) -> None:
    (tmp_path / name.partition("/")[0]).mkdir()
    rooms.sweep(tmp_path)
    assert (tmp_path / name.partition("/")[0]).is_dir()
    assert whole(victim)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_a_folder_of_another_user_stays(tmp_path: Path) -> None:
    other = tmp_path / f"{SANDBOX}abcd1234"
    other.mkdir()
    os.chown(other, 12345, 12345)
    rooms.sweep(tmp_path)
    rooms.remove(other)
    assert other.is_dir()


def test_the_folder_that_holds_a_room_keeps_its_mode(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    room, lock = rooms.make(runs)
    (room / "closed/deep").mkdir(parents=True)
    (room / "closed").chmod(0)
    runs.chmod(0o2755)
    rooms.remove(room)
    os.close(lock)
    assert not list(runs.iterdir())
    assert runs.stat().st_mode & 0o7777 == 0o2755


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_uses_is_not(tmp_path: Path) -> None:
    words = "import sys, time; from pathlib import Path; from rushhour.files import rooms\n"
    words += "print(rooms.make(Path(sys.argv[1]))[0], flush=True); time.sleep(60)"
    process = subprocess.Popen(
        [sys.executable, "-c", words, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    left = Path(process.stdout.readline().strip())
    with rooms.room(tmp_path) as mine:
        assert left.is_dir()
        process.send_signal(signal.SIGKILL)
        process.communicate()
        with rooms.room(tmp_path):
            assert mine.is_dir()
        assert not left.exists()
    assert not list(tmp_path.iterdir())


def test_the_lock_of_a_strangers_baselines_empties_no_file(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    folder = tmp_path / "baselines"
    folder.mkdir()
    (folder / ".lock").symlink_to(precious)
    with pytest.raises(OSError, match="symbolic links"), shelf.locked(folder):
        pass
    assert precious.read_text() == "mine"


def test_a_forked_process_makes_its_files_durable_by_threads_of_its_own(tmp_path: Path) -> None:
    files = [tmp_path / str(number) for number in range(9)]
    for file in files:
        file.write_text("text")
    durable.sync_all(files)  # this process has its threads now; a child of it will not
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        durable.sync_all(files)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    with pytest.raises(FileNotFoundError):
        durable.sync_all([tmp_path / "none"])


def test_results_are_seen_by_git_only_where_their_folder_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rooms.open_results(Path("elsewhere/one"))
    with rooms.alone(Path("results/a/1"), "run"):
        assert Path("results/.gitignore").read_text() == "*\n"
    Path("results/.gitignore").unlink()
    rooms.open_results(Path("results/a/2"))
    assert sorted(str(path) for path in Path().rglob("*")) == [
        "elsewhere", "elsewhere/one", "results", "results/a", "results/a/1", "results/a/2",
    ]  # fmt: skip
    for _ in range(2):
        rooms.open_results(Path("elsewhere/two"), unseen=True)
        assert [path.name for path in Path("elsewhere/two").iterdir()] == [".gitignore"]
