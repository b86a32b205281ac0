"""A full disk is said to be one, and stops a sweep; what has finished is kept."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rushhour import cli as command_line
from rushhour.errors import LabError
from rushhour.lab import console
from rushhour.running import runner

SCENARIO = """
    duration = "20s"
    topology = { preset = "dumbbell", rate = "100mbit", rtt = "2ms" }
    flow = [{ name = "a" }]
    sweep = { seed = [1, 2, 3] }
"""


def test_room_is_told_from_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    console.check_room(tmp_path)
    console.check_room(tmp_path / "gone")
    there = os.statvfs(tmp_path)
    full = os.statvfs_result((there.f_bsize, there.f_frsize, there.f_blocks, 3, 3, *tuple(there)[5:]))
    monkeypatch.setattr(os, "statvfs", lambda _: full)
    with pytest.raises(LabError, match="no room left"):
        console.check_room(tmp_path)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    if os.system(f"mount -t tmpfs -o size=1200k rushhour-test {place}") != 0:
        pytest.skip("a small file system cannot be mounted")
    yield place
    assert os.system(f"umount {place}") == 0


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_folder_that_takes_nothing_is_no_traceback(
    number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(**_: object) -> None:
        raise OSError(number, os.strerror(number), "out/report.html")

    monkeypatch.setattr(command_line.cli, "main", fail)
    with pytest.raises(SystemExit) as ended:
        command_line.main()
    assert ended.value.code == 2
    assert "out/report.html: cannot write: " + os.strerror(number) in capsys.readouterr().err


@pytest.mark.host
@pytest.mark.virtual
def test_a_sweep_on_a_full_disk_stops_and_says_so(tmp_path: Path, small_disk: Path) -> None:
    file = tmp_path / "full.toml"
    file.write_text(SCENARIO)
    batches = runner.prepare([file], out=small_disk / "out")
    with pytest.raises(LabError, match="the disk is full; what has finished is kept"):
        list(runner.carry_out(batches, runner.make_lab("uml"), jobs=1, fresh=True))
    assert list((small_disk / "out/runs").glob(".sandbox-*")) == []
