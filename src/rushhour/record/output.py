"""What programs printed in a run: `raw/output.jsonl`, line by line with the virtual time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from rushhour.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

FILE = "output.jsonl"


class Line(NamedTuple):
    """A line of a program: when it was whole (ns), which program, on which stream (`out`, `err`), its text.

    `cut` says that no end of line followed: it was longer than a record takes, or its last.
    """

    t_ns: int
    program: int
    stream: str
    text: str
    cut: bool = False


def read(path: Path) -> tuple[Line, ...]:
    """What a record's file holds.

    Raises:
        RecordError: a line of it is no such line.
    """
    with path.open(encoding="utf-8") as file:
        return tuple(lines(file, path))


def lines(texts: Iterable[str], where: Path) -> Iterator[Line]:
    """The lines that a record's file holds.

    Raises:
        RecordError: one is no such line.
    """
    for number, text in enumerate(texts, 1):
        try:
            row = json.loads(text)
            yield Line(
                int(row["t_ns"]),
                int(row["program"]),
                str(row["stream"]),
                str(row["text"]),
                bool(row.get("cut")),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise RecordError("is no line of a program", where=f"{where}:{number}") from error
