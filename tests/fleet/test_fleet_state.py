"""What is kept of a fleet: whole, private, and read again as it was."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import kills
import pytest

from rushhour.errors import LabError, UsageError
from rushhour.fleet import state
from rushhour.fleet.certificates import Pair
from rushhour.fleet.state import Fleet, Member

if TYPE_CHECKING:
    from pathlib import Path

NASTY = 'a "quoted"\n\\ line, \x7f\x01 and é 🚦'


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path / "rushhour/fleet"


def fleet() -> Fleet:
    members = {
        "alice": Member("alice", "me@alice", "up", pid=7, workers=2, memory=1 << 40),
        "bob.example": Member("bob.example", "bob", "aside", why=NASTY, hint="h"),
    }
    return Fleet("lab", "0123456789ab", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z", members=members)


def test_it_is_read_as_it_was_written(home: Path) -> None:
    with state.held("lab"):
        state.keep(fleet())
        state.write_pair("lab", Pair("certificate", "key"), state.CERTIFICATE, state.KEY)
    assert state.known("lab") == fleet()
    assert state.names() == ["lab"]
    assert state.read_pair("lab", state.CERTIFICATE, state.KEY) == Pair("certificate", "key")
    assert stat.S_IMODE((home / "lab").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (home / "lab").iterdir()} == {0o600}
    state.forget("lab")
    assert state.names() == []


def test_a_wide_umask_opens_nothing(home: Path) -> None:
    before = os.umask(0)
    try:
        with state.held("lab"):
            state.keep(fleet())
    finally:
        os.umask(before)
    assert stat.S_IMODE((home / "lab").stat().st_mode) == 0o700
    assert stat.S_IMODE((home / "lab" / state.FILE).stat().st_mode) == 0o600


def test_what_nothing_was_written_to_is_gone(home: Path) -> None:
    with state.held("lab") as folder:
        assert folder.is_dir()
    assert not (home / "lab").exists()


def test_one_command_at_a_time() -> None:
    script = "from rushhour.fleet import state\nwith state.held('lab'): print('held', flush=True); input()"
    with kills.at_the_end(
        subprocess.Popen(
            [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(UsageError, match="another command"), state.held("lab"):
            pass
        other.kill()
    # A killed one holds nothing.
    with state.held("lab"):
        pass


@pytest.mark.parametrize(
    "text", ["", "format = 1\n", 'format = "rushhour-fleet/2"\n', "[", 'format = "rushhour-fleet/1"\n']
)
def test_a_damaged_file_is_told(home: Path, text: str) -> None:
    (home / "lab").mkdir(parents=True)
    (home / "lab" / state.FILE).write_text(text)
    with pytest.raises(LabError) as caught:
        state.known("lab")
    assert caught.value.hint
    assert "rushhour.fleet.member" in caught.value.hint


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "-x", "é", "a" * 65])
def test_names(name: str) -> None:
    with pytest.raises(UsageError, match="no name of a fleet"):
        state.folder(name)


def test_none_of_this_name() -> None:
    with pytest.raises(UsageError, match="there is no fleet 'lab'"):
        state.known("lab")
