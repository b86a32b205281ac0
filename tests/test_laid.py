"""Folders of the cache that are laid out once: whoever uses one finds it as it was made."""

from __future__ import annotations

import fcntl
import os
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING

import pytest

from rushhour.files import laid

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MOST = 1 << 30
NAME = "0123456789abcdef"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / NAME


class Filling:
    """Makes the folder, and counts how often."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, folder: Path) -> None:
        self.times += 1
        (folder / "usr/bin").mkdir(parents=True)
        (folder / "usr/bin/sh").write_text("a program")
        (folder / "bin").symlink_to("usr/bin")


def another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laid, "_seen", set())


def edited(place: Path) -> None:
    about = (place / "usr/bin/sh").stat()
    (place / "usr/bin/sh").write_text("another 1")
    os.utime(place / "usr/bin/sh", ns=(about.st_atime_ns, about.st_mtime_ns))


def replaced(place: Path) -> None:
    (place / "usr/bin/sh").unlink()
    (place / "usr/bin/sh").write_text("a program")


def taken_away(place: Path) -> None:
    (place / "usr/bin/sh").unlink()


def added(place: Path) -> None:
    (place / "usr/bin/bash").touch()


def led_elsewhere(place: Path) -> None:
    (place / "bin").unlink()
    (place / "bin").symlink_to("usr")


def forbidden(place: Path) -> None:
    (place / "usr").chmod(0o700)


def test_it_is_made_once_and_used_as_it_is(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill = Filling()
    for _ in range(2):
        laid.out(place, fill, MOST)
        laid.out(place, fill, MOST)
        assert (place / "bin/sh").read_text() == "a program"
        another_process(monkeypatch)
    assert fill.times == 1


@pytest.mark.parametrize("change", [edited, replaced, taken_away, added, led_elsewhere, forbidden])
def test_what_was_changed_is_made_anew(
    change: Callable[[Path], None], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill = Filling()
    laid.out(place, fill, MOST)
    change(place)
    another_process(monkeypatch)
    laid.out(place, fill, MOST)
    assert fill.times == 2
    assert sorted(os.listdir(place / "usr/bin")) == ["sh"]  # noqa: PTH208
    assert (place / "bin/sh").read_text() == "a program"
    another_process(monkeypatch)
    laid.out(place, fill, MOST)
    assert fill.times == 2


def test_what_an_older_version_left_without_a_note_is_made_anew(place: Path) -> None:
    place.mkdir()
    fill = Filling()
    laid.out(place, fill, MOST)
    assert fill.times == 1
    assert (place / "bin/sh").is_file()


def test_of_many_that_come_at_once_one_makes_it(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    another_process(monkeypatch)
    fill, together = Filling(), Barrier(8)

    def come(_: int) -> str:
        together.wait()
        laid.out(place, fill, MOST)
        return (place / "bin/sh").read_text()

    with ThreadPoolExecutor(8) as pool:
        assert {*pool.map(come, range(8))} == {"a program"}
    assert fill.times == 1


def test_half_of_it_is_never_there(place: Path) -> None:
    def breaks(folder: Path) -> None:
        folder.mkdir()
        (folder / "half").touch()
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        laid.out(place, breaks, MOST)
    assert not place.exists()
    laid.out(place, Filling(), MOST)
    assert (place / "bin/sh").is_file()


def test_a_cache_that_cannot_be_written_is_used_as_it_is(place: Path) -> None:
    Filling()(place)
    (place.parent / ".made").write_text("no folder")
    fill = Filling()
    laid.out(place, fill, MOST)
    assert fill.times == 0


def test_notes_of_folders_that_are_gone_go_unless_they_are_being_made(place: Path) -> None:
    notes = place.parent / ".made"
    notes.mkdir()
    (notes / "gone").touch()
    (notes / "under-way").touch()
    with (notes / "under-way").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        laid.out(place, Filling(), MOST)
    assert sorted(os.listdir(notes)) == [NAME, "under-way"]  # noqa: PTH208
