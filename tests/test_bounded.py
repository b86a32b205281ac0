"""The runs in the cache keep to a size: those that were used longest ago go, and nothing that is in use."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING, NamedTuple

import pytest
from commandline import rush

from rushhour.errors import UsageError
from rushhour.files import bounded
from rushhour.record import kept
from rushhour.running import known

if TYPE_CHECKING:
    from pathlib import Path

KB = 1000


def entry(part: Path, name: str, hours: float, size: int = 40 * KB) -> Path:
    """An entry that was used so many hours ago."""
    place = part / name
    (place / "raw").mkdir(parents=True)
    (place / "raw/table").write_bytes(b"x" * size)
    then = time.time() - hours * 3600
    os.utime(place, (then, then))
    return place


def there(part: Path) -> str:
    return "".join(sorted(one.name for one in part.iterdir() if not one.name.startswith(".")))


def test_what_was_used_longest_ago_goes(tmp_path: Path) -> None:
    for name, hours in zip("abcd", (1, 4, 3, 2), strict=True):
        entry(tmp_path, name, hours)
    bounded.shrink(tmp_path, 256 * 200 * KB)
    assert there(tmp_path) == "abcd"
    (tmp_path / ".looked").unlink()
    bounded.shrink(tmp_path, 256 * 100 * KB)
    assert there(tmp_path) == "ad"


def test_it_is_looked_through_once_an_hour(tmp_path: Path) -> None:
    entry(tmp_path, "a", 2)
    bounded.shrink(tmp_path, 256 * 100 * KB)
    bounded.shrink(tmp_path, 0)
    assert there(tmp_path) == "a"
    os.utime(tmp_path / ".looked", (time.time() - 3700,) * 2)
    bounded.shrink(tmp_path, 0)
    assert there(tmp_path) == ""


def test_a_clock_that_was_set_back_delays_no_look(tmp_path: Path) -> None:
    entry(tmp_path, "a", 2)
    (tmp_path / ".looked").touch()
    os.utime(tmp_path / ".looked", (time.time() + 10**6,) * 2)
    bounded.shrink(tmp_path, 0)
    assert there(tmp_path) == ""


def test_what_results_have_too_gives_no_room_and_stays(tmp_path: Path) -> None:
    part = tmp_path / "part"
    shared = entry(part, "a", 9)
    os.link(shared / "raw/table", tmp_path / "table")
    entry(part, "b", 5)
    bounded.shrink(part, 256 * 50 * KB)
    assert there(part) == "ab"
    (part / ".looked").unlink()
    bounded.shrink(part, 0)
    assert there(part) == "a"


class _Disk(NamedTuple):
    f_bavail: int
    f_frsize: int = 4096


def test_half_of_the_room_of_a_disk_stays_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, hours in zip("abcd", (1, 4, 3, 2), strict=True):
        entry(tmp_path, name, hours)
    monkeypatch.setattr(os, "statvfs", lambda _: _Disk(0))
    bounded.shrink(tmp_path, 10**12)
    assert there(tmp_path) == "a"  # of two halves an eighth goes beforehand


def test_a_run_that_is_used_is_not_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = entry(tmp_path, "a", 5), entry(tmp_path, "b", 1)
    found = bounded._found(tmp_path)
    monkeypatch.setattr(bounded, "_found", lambda _: found)
    bounded.use(old)
    bounded.shrink(tmp_path, 0)
    assert old.exists()
    assert not new.exists()


def test_a_run_that_goes_at_this_moment_is_not_known(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    with pytest.raises(FileNotFoundError):
        kept.share(gone, tmp_path / "copy", with_manifest=True)
    assert not known._is_given(gone, tmp_path / "copy", None)  # type: ignore[arg-type]  # no job is looked at


def test_a_kept_run_makes_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("RUSHHOUR_CACHE_SIZE", "20MB")
    part = tmp_path / "cache/rushhour/runs/ab"
    old = entry(part, "ab00", 3, 90 * KB)
    new = entry(tmp_path / "results", "one", 0)
    kept.keep("ab01", new)
    assert not old.exists()
    assert (part / "ab01/raw/table").stat().st_nlink == 2


@pytest.mark.parametrize(("word", "said"), [("5gb", 'write "5GB"'), ("much", "RUSHHOUR_CACHE_SIZE")])
def test_a_size_that_is_none_is_said_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, word: str, said: str
) -> None:
    monkeypatch.setenv("RUSHHOUR_CACHE_SIZE", word)
    with pytest.raises(UsageError, match=said):
        kept.Keeper()


def test_the_command_shows_and_cleans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    old = entry(tmp_path / "rushhour/runs/ab", "ab00", 50)
    new = entry(tmp_path / "rushhour/runs/ab", "ab01", 5)
    shown = rush("cache")
    assert "runs" in shown.stdout
    assert "10 GB (RUSHHOUR_CACHE_SIZE)" in shown.stdout
    assert re.fullmatch(r"runs: [\d.]+ kB removed\n", rush("cache", "clean", "runs", "--unused", "2").stdout)
    assert (old.exists(), new.exists()) == (False, True)
    assert rush("cache", "clean", "runs").returncode == 0
    assert not new.exists()
    assert rush("cache", "clean", "runs").stdout == "runs: there was nothing to remove\n"
    wrong = rush("cache", "clean", "kernels")
    assert wrong.returncode == 2
