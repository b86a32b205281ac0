"""A large document is written piece by piece, and is the text that it would be in one piece."""

from __future__ import annotations

import json
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest

from rushhour.record import seal

if TYPE_CHECKING:
    from pathlib import Path

VALUE: dict[str, Any] = {
    "name": "ü \udcff", "numbers": [1, 2.5, -1e300, None, True],
    "empty": [{}, [], ""], "inner": {"a": {"b": [[1]]}},
}  # fmt: skip


@pytest.mark.parametrize("words", [1, 2, 3, 7, 1000])
def test_pieces_are_the_whole_text(words: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seal, "_WORDS", words)
    seal.write_json(tmp_path / "x.json", VALUE)
    text = json.dumps(VALUE, indent=1, ensure_ascii=False) + "\n"
    assert (tmp_path / "x.json").read_bytes() == text.encode("utf-8", "surrogateescape")


def test_the_words_of_a_large_one_are_not_in_memory_together(tmp_path: Path) -> None:
    value = {"cells": [[number / 7] for number in range(200_000)]}
    tracemalloc.start()
    try:
        seal.write_json(tmp_path / "x.json", value)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # All words at once take six times the text and more.
    assert peak < 4 * (tmp_path / "x.json").stat().st_size
