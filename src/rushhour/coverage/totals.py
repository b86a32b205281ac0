"""How much is executed: of a file, of a folder, of all; and which functions never are."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from rushhour.coverage.decoded import Function
    from rushhour.coverage.index import FileIndex, Index

_FIRST = ("net/ipv4", "net/ipv6", "net/core", "net/sched")


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

    @property
    def said(self) -> str:
        """In whole percent, which is never 0 or 100 where it is not."""
        if 0 < self.executed < 0.005 * self.total:
            return "<1 %"
        return ">99 %" if 0.995 * self.total < self.executed < self.total else f"{100 * self.fraction:.0f} %"


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
    inside = defaultdict(list)
    for one in index.files.values():
        inside[_folder(one.name)].append(of_file(index, one))
    return [
        (
            together(folder, inside[folder]),
            sorted(inside[folder], key=lambda one: (one.lines.executed - one.lines.total, one.name)),
        )
        for folder in sorted(inside, key=_place)
    ]


def _folder(name: str) -> str:
    """The folder in which a file is told: `net/core`, `drivers/net`; `net` of what lies there itself."""
    return "/".join(name.split("/")[:-1][:2])


def _place(folder: str) -> tuple[int, bool, str]:
    """TCP's and the queues' first, drivers and headers last."""
    rank = _FIRST.index(folder) if folder in _FIRST else len(_FIRST)
    return rank, not folder.startswith("net"), folder


def never(index: Index, one: FileIndex) -> list[Function]:
    """The functions of a file that no cell executes, in its order."""
    bits = index.executed[one.function_sets]
    return [function for function, executed in zip(one.functions, bits, strict=True) if not executed]
