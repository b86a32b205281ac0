"""What follows a program's output outlives the folders that it looks through."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rushhour.running import executing


def test_a_folder_that_goes_while_it_is_looked_through_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, enough = [], threading.Event()

    def gone(folder: Path, _pattern: str) -> Iterator[Path]:
        looks.append(folder)
        if len(looks) > 1:
            enough.set()
        raise FileNotFoundError(folder)

    failed: list[object] = []
    monkeypatch.setattr(Path, "rglob", gone)
    monkeypatch.setattr(threading, "excepthook", failed.append)
    with executing._Tail(tmp_path, 0, lambda _: None):
        assert enough.wait(20), "it looked once, and never again"
    assert failed == []
