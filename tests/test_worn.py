"""What nobody has used for a month leaves the cache, and nothing else does."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from subprocess import PIPE
from typing import TYPE_CHECKING

import kills

from rushhour.files import worn
from rushhour.lab import agent, root

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

HASH = "0123456789abcdef"


def entry(folder: Path, name: str, days: float) -> Path:
    """Something in the cache that was used so long ago."""
    place = folder / name
    if name.endswith(".tar"):
        place.write_text("x")
    else:
        (place / "deep").mkdir(parents=True)
    then = time.time() - days * 86400
    (folder / ".used").mkdir(exist_ok=True)
    mark = folder / ".used" / name.partition(".")[0]
    mark.touch()
    os.utime(mark, (then, then))
    return place


def test_what_is_worn_goes_with_its_archive(tmp_path: Path) -> None:
    old, fresh, other = HASH, HASH.replace("0", "1"), HASH.replace("0", "2")
    gone = [entry(tmp_path, old, 31), entry(tmp_path, f"{old}.tar", 31)]
    stays = [entry(tmp_path, fresh, 29), entry(tmp_path, "known", 99), entry(tmp_path, "notes.tar", 99)]
    (tmp_path / other).mkdir()  # an entry of before there were notes
    (tmp_path / "link").symlink_to(stays[0])
    worn.clear(tmp_path)
    assert not any(place.exists() for place in gone)
    assert all(place.exists() for place in [*stays, tmp_path / other, tmp_path / "link"])
    assert sorted(place.name for place in (tmp_path / ".used").iterdir()) == [fresh]
    worn.clear(tmp_path / "not there")


def test_use_keeps_an_entry_and_not_its_times(tmp_path: Path) -> None:
    place = entry(tmp_path, HASH, 31)
    os.utime(place, (1, 1))
    worn.use(place)
    worn.clear(tmp_path)
    assert place.stat().st_mtime == 1


def test_of_too_much_goes_what_was_used_longest_ago(tmp_path: Path) -> None:
    names = [HASH.replace("0", str(number)) for number in range(1, 5)]
    places = [entry(tmp_path, name, days) for name, days in zip(names, (1, 4, 3, 2), strict=True)]
    for place in places:
        (place / "deep/file").write_bytes(b"x" * 40_000)
    worn.clear(tmp_path, 4 * 60_000)
    assert all(place.exists() for place in places)
    worn.clear(tmp_path, 2 * 60_000)
    assert [place.exists() for place in places] == [True, False, False, True]


def test_what_a_process_uses_stays(tmp_path: Path) -> None:
    place, other = entry(tmp_path, HASH, 40), entry(tmp_path, HASH.replace("0", "1"), 40)
    code = (
        "import pathlib; from rushhour.files import worn\n"
        f"worn.use(pathlib.Path({str(place)!r})); print(flush=True); input()"
    )
    with kills.at_the_end(subprocess.Popen([sys.executable, "-c", code], stdin=PIPE, stdout=PIPE)) as user:
        assert user.stdout is not None
        user.stdout.readline()
        then = time.time() - 40 * 86400
        os.utime(tmp_path / ".used" / HASH, (then, then))
        worn.clear(tmp_path, 0)
        assert place.exists()
        assert not other.exists()
        worn.clear(tmp_path)
        user.communicate(b"\n")
    worn.clear(tmp_path)
    assert not place.exists()


def test_a_new_root_clears_old_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "cache/rushhour/guest").mkdir(parents=True)
    (tmp_path / "cache/rushhour/roots").mkdir()
    guest = entry(tmp_path / "cache/rushhour/guest", HASH, 31)
    of_a_program = entry(tmp_path / "cache/rushhour/roots", HASH, 31)
    binary = tmp_path / "agent"
    binary.write_text("#!/bin/sh\necho 1\n")
    binary.chmod(0o755)
    made = agent.of(binary).root
    assert made.is_dir()
    assert not guest.exists()
    (tmp_path / "system/bin").mkdir(parents=True)
    (tmp_path / "system/bin/sh").write_text("#!/bin/false\n")
    (tmp_path / "system/bin/sh").chmod(0o755)
    place = root.laid_out(root.find("root:system", tmp_path / "system"))
    assert place.is_dir()
    assert not of_a_program.exists()
