"""The index: of each line, branch and function of the covered files the cells that execute it.

Most items share their cells with many others (the lines of a block, the functions of a discipline), so an
index has the distinct sets of cells once, and of each item the number of its set.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rushhour.errors import UsageError
from rushhour.spec.toml import plain_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from rushhour.coverage.decoded import Function


@dataclass(frozen=True)
class CellRef:
    """A cell that was run: its scenario, its number in it, its factors.

    `calls` is how often its runs called covered functions: what it costs, and the same on every machine.
    """

    scenario: str
    cell: int
    factors: Mapping[str, object]
    calls: int

    @property
    def label(self) -> str:
        """`suite/fixed-buffers cc=cubic, buffer=2bdp`."""
        words = ", ".join(plain_words(self.factors))
        return f"{self.scenario} {words}".rstrip()


@dataclass(frozen=True)
class FileIndex:
    """One covered file: its items, and of each the number of its set of cells.

    `lines` and `branches` (the line of each) are ascending; sets are in `line_sets`, `branch_sets` and
    `function_sets`, in the order of the items. `sha256` is of the file's text.
    """

    name: str
    sha256: str
    lines: NDArray[np.int64]
    line_sets: NDArray[np.int64]
    branches: NDArray[np.int64]
    branch_sets: NDArray[np.int64]
    functions: tuple[Function, ...]
    function_sets: NDArray[np.int64]


@dataclass(frozen=True)
class Index:
    """What the cells of a sweep execute of a kernel.

    `kernel` is what identifies the kernel's source; row *s* of `sets` says of each cell whether it is in set
    *s*.
    """

    kernel: Mapping[str, object]
    cells: tuple[CellRef, ...]
    files: Mapping[str, FileIndex]
    sets: NDArray[np.bool_]

    @cached_property
    def executed(self) -> NDArray[np.bool_]:
        """Of each set whether any cell is in it."""
        return np.asarray(self.sets.any(axis=1))

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Of each set how many cells are in it."""
        return np.asarray(self.sets.sum(axis=1), dtype=np.int64)


def cells_executing(index: Index, file: str, lines: Iterable[int]) -> list[CellRef]:
    """The cells that execute any of these lines of a file, the cheapest first.

    Lines without code (a comment, a declaration, the rest of a statement that began above) are executed by
    none; `cells_calling` knows the function around them.

    Raises:
        UsageError: the file is not covered.
    """
    one = _file(index, file)
    wanted = np.asarray(sorted(set(lines)), dtype=np.int64)
    return _cheapest(index, one.line_sets[np.isin(one.lines, wanted)])


def cells_calling(index: Index, file: str, functions: Iterable[str]) -> list[CellRef]:
    """The cells that execute any of these functions of a file, the cheapest first.

    Raises:
        UsageError: the file is not covered.
    """
    one, names = _file(index, file), set(functions)
    chosen = np.asarray([function.name in names for function in one.functions], dtype=np.bool_)
    return _cheapest(index, one.function_sets[chosen])


def _file(index: Index, name: str) -> FileIndex:
    if name not in index.files:
        raise UsageError(
            f"{name} is not covered",
            hint="covered is what is compiled of net/ and drivers/net/, and what they use of include/net",
        )
    return index.files[name]


def _cheapest(index: Index, sets: NDArray[np.int64]) -> list[CellRef]:
    if not len(sets):
        return []
    inside = np.asarray(index.sets[np.unique(sets)].any(axis=0))
    found = [(cell.calls, number) for number, cell in enumerate(index.cells) if inside[number]]
    return [index.cells[number] for _, number in sorted(found)]
