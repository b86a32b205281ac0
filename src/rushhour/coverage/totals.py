"""How much is executed: of a file, of a folder, of all; and which functions never are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from rushhour.coverage.decoded import Function
    from rushhour.coverage.index import FileIndex, Index

FOLDERS = ("net/ipv4", "net/ipv6", "net/core", "net/sched", "net/with", "include/net")
"""The covered folders, in the order in which they are told."""


@dataclass(frozen=True)
class Share:
    """So many of so many are executed."""

    executed: int
    total: int

    def __add__(self, other: Share) -> Share:
        """Both together."""
        return Share(self.executed + other.executed, self.total + other.total)

    @property
    def fraction(self) -> float:
        """Between 0 and 1; of nothing, all."""
        return self.executed / self.total if self.total else 1.0


NOTHING = Share(0, 0)


@dataclass(frozen=True)
class Totals:
    """Lines, functions and branches of a file, or of several."""

    name: str
    lines: Share
    functions: Share
    branches: Share


def of_file(index: Index, one: FileIndex) -> Totals:
    """What is executed of a file, by any cell."""

    def share(sets: NDArray[np.int64]) -> Share:
        return Share(int(index.executed[sets].sum()), len(sets))

    return Totals(one.name, share(one.line_sets), share(one.function_sets), share(one.branch_sets))


def together(name: str, parts: Iterable[Totals]) -> Totals:
    """What is executed of several files."""
    lines = functions = branches = NOTHING
    for part in parts:
        lines, functions, branches = lines + part.lines, functions + part.functions, branches + part.branches
    return Totals(name, lines, functions, branches)


def by_folder(index: Index) -> list[tuple[Totals, list[Totals]]]:
    """Each covered folder with its files, those with the most lines that nothing executes first."""
    files = [of_file(index, one) for one in index.files.values()]
    found = []
    for folder in FOLDERS:
        inside = [one for one in files if one.name.startswith(f"{folder}/")]
        if inside:
            ordered = sorted(inside, key=lambda one: (one.lines.executed - one.lines.total, one.name))
            found.append((together(folder, inside), ordered))
    return found


def never(index: Index, one: FileIndex) -> list[Function]:
    """The functions of a file that no cell executes, in its order."""
    bits = index.executed[one.function_sets]
    return [function for function, executed in zip(one.functions, bits, strict=True) if not executed]
