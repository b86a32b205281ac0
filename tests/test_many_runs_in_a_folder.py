"""A folder of very many runs is not looked through for every one of them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from rushhour.files import rooms
from rushhour.running.batch import Batch, Run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The folders that were looked through."""
    found: list[str] = []
    scan, names = os.scandir, os.listdir

    def scanned(path: Any) -> Any:
        found.append(str(path))
        return scan(path)

    def listed(path: Any = ".") -> Any:
        found.append(str(path))
        return names(path)

    monkeypatch.setattr(os, "scandir", scanned)
    monkeypatch.setattr(os, "listdir", listed)
    return found  # type: ignore[return-value]


def left_behind(folder: Path) -> Path:
    """A room as a killed process leaves it: nobody holds its lock."""
    room = folder / f"{rooms.NEW}abcdefgh"
    room.mkdir()
    return room


def test_a_small_folder_is_swept_before_each_room(tmp_path: Path) -> None:
    for _ in range(3):
        old = left_behind(tmp_path)
        with rooms.room(tmp_path):
            assert not old.exists()


def test_a_large_folder_is_swept_now_and_then(tmp_path: Path, looked: list[str]) -> None:
    for number in range(1000):
        (tmp_path / f"{number:05d}-run").mkdir()
    first = left_behind(tmp_path)
    with rooms.room(tmp_path):
        assert not first.exists()
    second = left_behind(tmp_path)
    looked.clear()
    for _ in range(12):
        with rooms.room(tmp_path):
            pass
    assert not second.exists()
    assert 1 <= looked.count(str(tmp_path)) <= 2


def test_earlier_runs_are_found_by_one_look(tmp_path: Path, looked: list[str]) -> None:
    for number in range(50):
        (tmp_path / "runs" / f"{number:05d}-{number:012x}").mkdir(parents=True)
    batch = Batch("x", None, [], [], 1, 1, quick=False, folder=tmp_path)  # type: ignore[arg-type]
    runs = [Run(number, None, None, 0, 1) for number in range(60)]  # type: ignore[arg-type]
    found = [batch.finished(run) for run in runs]
    assert [one.name for one in found if one] == [f"{number:05d}-{number:012x}" for number in range(50)]
    assert found[50:] == [None] * 10
    assert looked.count(str(tmp_path / "runs")) == 1
    assert batch.finished(runs[3], f"{3:05d}-{3:012x}") is None
    (tmp_path / "runs" / "00055-new").mkdir()
    batch.begin()
    assert batch.finished(runs[55]) == tmp_path / "runs" / "00055-new"
