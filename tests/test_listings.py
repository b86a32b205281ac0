"""What lists folders in an order of its own does so, and in no other way than the system."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import listings
import pytest

# ruff: noqa: PTH208 - what is tested is not pathlib's

if TYPE_CHECKING:
    from pathlib import Path

NAMES = [f"name-{number}" for number in range(20)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in NAMES:
        (tmp_path / name).touch()
    return tmp_path


def orders(folder: Path) -> list[list[str]]:
    with os.scandir(folder) as entries:
        scanned = [entry.name for entry in entries]
    walked = next(os.walk(folder))[2]
    globbed = [path.name for path in folder.glob("name-*")]
    return [os.listdir(folder), scanned, walked, globbed, [path.name for path in folder.iterdir()]]


def test_the_tests_see_one_order_whatever_the_file_system_lists(folder: Path) -> None:
    first, *others = orders(folder)
    assert sorted(first) == sorted(NAMES)
    assert first not in (sorted(NAMES), sorted(NAMES, reverse=True), NAMES)
    assert all(other == first for other in others)


def test_another_word_is_another_order(folder: Path) -> None:
    here = os.listdir(folder)
    back = listings.shuffle("another")
    try:
        there = orders(folder)
    finally:
        back()
    assert all(sorted(other) == sorted(here) and other != here for other in there)
    assert os.listdir(folder) == here


def test_open_folders_and_names_of_bytes_are_listed_as_before(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        assert os.listdir(number) == [os.fsdecode(name) for name in os.listdir(os.fsencode(folder))]
        with os.scandir(number) as entries:
            assert {entry.stat().st_size for entry in entries} == {0}
    finally:
        os.close(number)
    with pytest.raises(FileNotFoundError):
        os.scandir(folder / "none")
    shutil.rmtree(folder)
    assert not folder.exists()
