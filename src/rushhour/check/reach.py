"""Which cells execute a change: what the index of coverage tells of its functions and lines.

An index is of one kernel, a change of another: functions are found by file and name, lines only in a file
whose text is the same in both.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import TYPE_CHECKING

from rushhour.coverage.index import cells_calling, cells_executing
from rushhour.verdict.side import key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rushhour.check.change import Change, FileChange
    from rushhour.coverage.index import CellRef, Index
    from rushhour.verdict.side import Key

_COVERED = ("net/ipv4/*.c", "net/ipv6/tcp*.c", "net/core/*.c", "net/sched/*.c")
# No part of what is compiled.
_SILENT = ("Documentation/*", "*.rst", "*.md", "MAINTAINERS", "tools/*", "samples/*")


@dataclass(frozen=True)
class Reach:
    """What is known of a change.

    Attributes:
        executed: By file and function the cells that execute it; functions that are not known are left out.
        compiled: By file whether it is part of the laboratory's kernel; those not known are left out.
        never: By file the lines of the base that differ, have code, and are executed by no cell, where known.
        first: Cells that execute something of the change.
        known: Whether of everything that differs it is known which cells execute it.
    """

    executed: Mapping[tuple[str, str], frozenset[Key]] = field(default_factory=dict)
    compiled: Mapping[str, bool] = field(default_factory=dict)
    never: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    first: frozenset[Key] = frozenset()
    known: bool = False

    def cells(self, path: str, function: str) -> int | None:
        """How many cells execute a function; None if that is not known."""
        found = self.executed.get((path, function))
        return None if found is None else len(found)


def is_silent(change: Change) -> bool:
    """Whether nothing that differs is ever compiled, so that both images are known to be the same."""
    return all(_no_part(one.path) for one in change.files)


def _no_part(path: str) -> bool:
    return any(fnmatch(path, pattern) for pattern in _SILENT)


def reach(change: Change, index: Index | None, text: Callable[[str], str]) -> Reach:
    """What an index says of a change.

    Args:
        change: What differs.
        index: What the cells execute; None if nobody knows.
        text: Gives the text of a file before the change.
    """
    if index is None:
        return Reach()
    executed: dict[tuple[str, str], frozenset[Key]] = {}
    compiled: dict[str, bool] = {}
    never: dict[str, tuple[int, ...]] = {}
    first: set[Key] = set()
    known = True
    for one in change.files:
        if _no_part(one.path):
            compiled[one.path] = False
        elif one.path in index.files:
            compiled[one.path] = True
            there = {function.name for function in index.files[one.path].functions}
            for name in there.intersection(one.functions):
                executed[one.path, name] = _keys(cells_calling(index, one.path, [name]))
            with_code = _with_code(one, index, text)
            first |= _touching(one, index, with_code)
            never[one.path] = tuple(n for n in with_code if not cells_executing(index, one.path, [n]))
            # Who uses declarations and macros is not known; of a new function the callers have changed, too.
            known = known and not one.outside
        elif any(fnmatch(one.path, pattern) for pattern in _COVERED) and one.kind != "added":
            compiled[one.path] = False
        else:
            known = False
    return Reach(executed, compiled, never, frozenset(first), known)


def _with_code(one: FileChange, index: Index, text: Callable[[str], str]) -> list[int]:
    """The lines of the base that differ and have code, where the index is of the same text; else none."""
    same = hashlib.sha256(text(one.path).encode(errors="surrogateescape")).hexdigest()
    if same != index.files[one.path].sha256:
        return []
    return [line for line in one.old if line in index.files[one.path].lines]


def _touching(one: FileChange, index: Index, with_code: Sequence[int]) -> frozenset[Key]:
    """Cells that execute what differs in a file: its lines where they are known, else its functions."""
    if not with_code:  # lines that come in, such as have no code, and another version's
        return _keys(cells_calling(index, one.path, one.functions))
    return _keys(cells_executing(index, one.path, with_code))


def _keys(cells: Iterable[CellRef]) -> frozenset[Key]:
    return frozenset(key_of(cell.scenario, cell.factors) for cell in cells)
