"""What gcov says of one object, made small: a shape that all runs share, and a bit for each of its items."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rushhour.coverage import FOLDERS, HEADERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

COVERED = re.compile("|".join(f"{folder}/" for folder in (*FOLDERS, HEADERS)))
"""Files of which anything is said; others appear where their functions were inlined."""


class Function(NamedTuple):
    """A function: its name, its first and last line."""

    name: str
    first: int
    last: int


class Item(NamedTuple):
    """What can be executed: a line, a branch (the n-th way on from a line), a function."""

    file: str
    kind: str
    what: int | tuple[int, int] | Function


@dataclass(frozen=True)
class Decoded:
    """What a run executed of an object: its items, a bit for each, how often its functions were called."""

    items: tuple[Item, ...]
    executed: NDArray[np.bool_]
    calls: int


@dataclass(frozen=True)
class Shape:
    """The items of an object, in the order in which gcov always gives them."""

    items: tuple[Item, ...]

    def decoded(self, said: Mapping[str, Any]) -> Decoded:
        """What one run executed of them, as gcov's JSON says it."""
        bits = np.fromiter(_counts(said), dtype=np.int64, count=len(self.items)) > 0
        calls = sum(one["execution_count"] for file in _covered(said) for one in file["functions"])
        return Decoded(self.items, bits, calls)


def shape_of(said: Mapping[str, Any]) -> Shape:
    """The items in gcov's JSON of an object."""
    return Shape(tuple(_items(said)))


def _covered(said: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [file for file in said["files"] if COVERED.match(file["file"])]


def _items(said: Mapping[str, Any]) -> Iterator[Item]:
    for file in _covered(said):
        name = file["file"]
        for line in file["lines"]:
            number = line["line_number"]
            yield Item(name, "line", number)
            for place in range(len(line["branches"])):
                yield Item(name, "branch", (number, place))
        for one in file["functions"]:
            yield Item(name, "function", Function(one["name"], one["start_line"], one["end_line"]))


def _counts(said: Mapping[str, Any]) -> Iterator[int]:
    """How often each item was executed, in the order of `_items`: of every object of every run."""
    for file in _covered(said):
        for line in file["lines"]:
            yield line["count"]
            for branch in line["branches"]:
                yield branch["count"]
        for one in file["functions"]:
            yield one["execution_count"]
