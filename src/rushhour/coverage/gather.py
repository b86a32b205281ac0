"""From what each run executed to an index of all."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from rushhour.coverage.decoded import Function, Item
from rushhour.coverage.index import CellRef, FileIndex, Index

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from rushhour.coverage.decoded import Decoded

KERNEL = ("name", "release", "source", "source_sha256", "config_sha256", "compiler")
"""What an index keeps of a kernel's identity."""


class Gatherer:
    """Takes runs one after the other; several runs of one cell count as one.

    Args:
        kernel: The identity of the kernel that counted.
    """

    def __init__(self, kernel: Mapping[str, Any]) -> None:
        self._kernel = {key: kernel[key] for key in KERNEL if key in kernel}
        self._numbers: dict[Item, int] = {}
        self._places: dict[int, NDArray[np.int64]] = {}
        self._cells: dict[tuple[str, int], CellRef] = {}
        self._executed: dict[tuple[str, int], NDArray[np.bool_]] = {}
        self._alive: list[tuple[Item, ...]] = []

    def take(self, cell: CellRef, run: Iterable[Decoded]) -> None:
        """Add a run of a cell: the objects that it executed."""
        key = (cell.scenario, cell.cell)
        old = self._cells.get(key)
        calls = old.calls if old else 0
        found = self._executed.get(key, np.zeros(0, dtype=np.bool_))
        for one in run:
            places = self._of(one.items)
            found = _longer(found, len(self._numbers))
            found[places[one.executed]] = True
            calls += one.calls
        self._executed[key] = found
        self._cells[key] = CellRef(cell.scenario, cell.cell, cell.factors, calls)

    def index(self, texts: Mapping[str, str]) -> Index:
        """All that was taken; `texts` are the files' texts by name."""
        cells = sorted(self._cells)
        items = sorted(self._numbers, key=_order)
        order = np.asarray([self._numbers[item] for item in items], dtype=np.int64)
        rows = [_longer(self._executed[key], len(self._numbers)) for key in cells]
        bits = np.asarray(rows, dtype=np.bool_).reshape(len(cells), len(self._numbers)).T[order]
        bits = _functions_by_their_lines(items, bits)
        sets, numbers = _distinct(bits)
        return Index(
            self._kernel, tuple(self._cells[key] for key in cells), _files(items, numbers, texts), sets
        )

    def _of(self, items: tuple[Item, ...]) -> NDArray[np.int64]:
        """The numbers of an object's items; remembered by the tuple, which all runs of an object share."""
        if id(items) not in self._places:
            self._alive.append(items)
            numbers = [self._numbers.setdefault(item, len(self._numbers)) for item in items]
            self._places[id(items)] = np.asarray(numbers, dtype=np.int64)
        return self._places[id(items)]


def _longer(bits: NDArray[np.bool_], size: int) -> NDArray[np.bool_]:
    return np.concatenate([bits, np.zeros(size - len(bits), dtype=np.bool_)]) if len(bits) < size else bits


def _order(item: Item) -> tuple[str, str, int, int, str]:
    what = item.what
    if isinstance(what, Function):
        return (item.file, item.kind, what.first, what.last, what.name)
    return (item.file, item.kind, *(what if isinstance(what, tuple) else (what, 0)), "")


def _functions_by_their_lines(items: Sequence[Item], bits: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """A function that the compiler put into its callers is executed when one of its lines is."""
    lines: dict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for place, item in enumerate(items):
        if isinstance(item.what, int):
            lines[item.file][0].append(item.what)
            lines[item.file][1].append(place)
    whole = bits.copy()
    for place, item in enumerate(items):
        if isinstance(item.what, Function) and item.what.last > item.what.first:
            numbers, places = lines[item.file]
            begin, end = np.searchsorted(numbers, [item.what.first, item.what.last + 1])
            whole[place] |= bits[places[begin:end]].any(axis=0)
    return whole


def _distinct(bits: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """The distinct rows, in the order of their first appearance, and of each row the number of its own."""
    packed = np.packbits(bits, axis=1)
    known: dict[bytes, int] = {}
    numbers = [known.setdefault(row.tobytes(), len(known)) for row in packed]
    width = packed.shape[1]
    rows = np.frombuffer(b"".join(known), dtype=np.uint8).reshape(len(known), width)
    sets = np.unpackbits(rows, axis=1, count=bits.shape[1]).astype(np.bool_)
    return sets, np.asarray(numbers, dtype=np.int64)


def _files(
    items: Sequence[Item], numbers: NDArray[np.int64], texts: Mapping[str, str]
) -> dict[str, FileIndex]:
    found: dict[str, dict[str, list[tuple[Any, int]]]] = defaultdict(lambda: defaultdict(list))
    for item, number in zip(items, numbers.tolist(), strict=True):
        found[item.file][item.kind].append((item.what, number))
    return {name: _file(name, kinds, texts.get(name, "")) for name, kinds in sorted(found.items())}


def _file(name: str, kinds: Mapping[str, list[tuple[Any, int]]], text: str) -> FileIndex:
    def column(kind: str, of: int) -> NDArray[np.int64]:
        return np.asarray([one[of] for one in kinds.get(kind, ())], dtype=np.int64)

    return FileIndex(
        name=name,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        lines=column("line", 0),
        line_sets=column("line", 1),
        branches=np.asarray([what[0] for what, _ in kinds.get("branch", ())], dtype=np.int64),
        branch_sets=column("branch", 1),
        functions=tuple(what for what, _ in kinds.get("function", ())),
        function_sets=column("function", 1),
    )
