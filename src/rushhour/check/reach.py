"""Which cells execute a change: what the index of coverage tells of its functions and lines.

An index is of one kernel, a change of another: functions are found by file and name, lines only in a file
whose text is the same in both.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from typing import TYPE_CHECKING

from rushhour.check.inserted import is_unreached
from rushhour.coverage.index import cells_calling, cells_executing
from rushhour.lab.kernel import git
from rushhour.verdict.side import key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from rushhour.check.change import Change, FileChange
    from rushhour.check.inserted import Inserted
    from rushhour.coverage.index import CellRef, Index
    from rushhour.verdict.side import Key

# No part of what is compiled.
_SILENT = (
    "Documentation/*", "*.rst", "*.md", "MAINTAINERS", "CREDITS", "*.gitignore", "tools/*", "samples/*",
)  # fmt: skip


@dataclass(frozen=True)
class Reach:
    """What is known of a change.

    Attributes:
        executed: By file and function the cells that execute it; functions that are not known are left out.
        compiled: By file whether it is part of the laboratory's kernel; those not known are left out.
        never: By file the lines of the base that differ, have code, and are executed by no cell, where known.
        unreached: By file the lines of the candidate that come in where no cell came before.
        first: Cells that execute something of the change, or of a file in which declarations differ.
        known: Whether of everything that differs it is known which cells execute it.
        idle: Cells that execute no function that differs, where the index tells so for certain.
        unused: Files to which nothing in the kernel comes, and such as only build or declare what they have.
    """

    executed: Mapping[tuple[str, str], frozenset[Key]] = field(default_factory=dict)
    compiled: Mapping[str, bool] = field(default_factory=dict)
    never: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    unreached: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    first: frozenset[Key] = frozenset()
    known: bool = False
    idle: frozenset[Key] = frozenset()
    unused: frozenset[str] = frozenset()

    def cells(self, path: str, function: str) -> int | None:
        """How many cells execute a function; None if that is not known."""
        found = self.executed.get((path, function))
        return None if found is None else len(found)


def is_silent(change: Change) -> bool:
    """Whether no code that is ever compiled differs, so that both kernels are known to be the same."""
    return all(is_no_part(one.path) or not one.code for one in change.files)


def is_no_part(path: str) -> bool:
    """Whether a file is never compiled into a kernel."""
    return any(fnmatch(path, pattern) for pattern in _SILENT)


def reach(
    change: Change, index: Index | None, text: Callable[[str], str], unused: frozenset[str] = frozenset()
) -> Reach:
    """What an index says of a change.

    Args:
        change: What differs.
        index: What the cells execute; None if nobody knows.
        text: Gives the text of a file before the change.
        unused: Files of which it is known that no cell comes to what they change (`unused.unused`).
    """
    if index is None:
        return Reach()
    executed: dict[tuple[str, str], frozenset[Key]] = {}
    compiled: dict[str, bool] = {}
    never: dict[str, tuple[int, ...]] = {}
    unreached: dict[str, tuple[int, ...]] = {}
    first: set[Key] = set()
    known = True
    for one in change.files:
        if is_no_part(one.path):
            compiled[one.path] = False
        elif one.path in unused:
            compiled[one.path] = True
            executed |= {(one.path, name): frozenset() for name in one.functions}
        elif one.path in index.files:
            compiled[one.path] = True
            there = {function.name for function in index.files[one.path].functions}
            for name in there.intersection(one.functions):
                executed[one.path, name] = _keys(cells_calling(index, one.path, [name]))
            before = _text(one, index, text)
            with_code = [] if before is None else [n for n in one.old if n in index.files[one.path].lines]
            apart = () if before is None else _apart(one, index, before)
            unreached[one.path] = tuple(line for run in apart for line in run.lines)
            first |= _touching(one, index, with_code, apart)
            never[one.path] = tuple(n for n in with_code if not cells_executing(index, one.path, [n]))
            # Who uses declarations and macros is not known; of a new function the callers have changed, too.
            known = known and not one.outside
        elif _is_covered(one.path, index) and one.kind != "added":
            compiled[one.path] = False
        else:
            known = False
    idle = _idle(change, index, compiled, unused)
    return Reach(executed, compiled, never, unreached, frozenset(first), known, idle, unused)


def _idle(
    change: Change, index: Index, compiled: Mapping[str, bool], unused: frozenset[str]
) -> frozenset[Key]:
    """The cells of the index that come to no function that differs: none, if anything else differs as well.

    A cell that never comes to a function runs the same instructions whatever that does. What is inline in a
    header is also compiled into files that are not covered.
    """
    running: set[Key] = set()
    for one in change.files:
        if compiled.get(one.path) is False or not one.code or one.path in unused:
            continue
        # What the index does not know is new, perhaps called in place of another, or never compiled.
        if one.kind != "changed" or one.outside or not _all_known(one, index):
            return frozenset()
        running |= _keys(cells_calling(index, one.path, one.functions))
    return _keys(index.cells) - running


def _is_covered(path: str, index: Index) -> bool:
    """Whether an index would know a C file if it were compiled, for it knows others of that part of the tree.

    By the index and not by a list: an index may be older than what is covered today.
    """
    top = "/".join(path.split("/")[:2])
    return path.endswith(".c") and any(known.startswith(f"{top}/") for known in index.files)


def _all_known(one: FileChange, index: Index) -> bool:
    """Whether the index knows every function of a C file that differs."""
    if one.path not in index.files or not one.path.endswith(".c"):
        return False
    return {function.name for function in index.files[one.path].functions}.issuperset(one.functions)


def is_indirect(change: Change) -> bool:
    """Whether what differs is, or may be, the code of other files: by headers, flags, options."""
    return any(one.code and not one.path.endswith(".c") and not is_no_part(one.path) for one in change.files)


def coming(reached: Reach, index: Index | None, objects: Collection[str]) -> Reach:
    """With the cells that come to any function of objects that differ among those that run first."""
    if index is None:
        return reached
    covered = [path for name in objects if (path := f"{name.removesuffix('.o')}.c") in index.files]
    found = [
        _keys(cells_calling(index, path, [function.name for function in index.files[path].functions]))
        for path in covered
    ]
    return replace(reached, first=reached.first.union(*found))


def holds(index: Index, kernel: Mapping[str, object], repository: Path, commit: str) -> bool:
    """Whether an index is of this very kernel: release, configuration, and the text of every covered file.

    Args:
        index: What cells execute.
        kernel: The identity of the kernel.
        repository: Has its source.
        commit: In it.
    """
    if any(index.kernel.get(key) != kernel.get(key) for key in ("release", "config_sha256")):
        return False
    asked = "".join(f"{commit}:{name}\n" for name in index.files)
    rest = git.ask(repository, "cat-file", "--batch", text=asked).encode(errors="surrogateescape")
    for one in index.files.values():
        head, _, rest = rest.partition(b"\n")
        size = int(head.split()[-1]) if head.split()[-2:-1] == [b"blob"] else -1
        if hashlib.sha256(rest[: max(size, 0)]).hexdigest() != one.sha256:
            return False
        rest = rest[size + 1 :]
    return True


def _text(one: FileChange, index: Index, text: Callable[[str], str]) -> str | None:
    """The text of a file of the base, if the index is of the same."""
    found = text(one.path)
    same = hashlib.sha256(found.encode(errors="surrogateescape")).hexdigest()
    return found if same == index.files[one.path].sha256 else None


def _apart(one: FileChange, index: Index, text: str) -> tuple[Inserted, ...]:
    """The lines that come in where no cell comes."""
    known, lines = index.files[one.path], text.split("\n")
    code = [int(line) for line in known.lines]

    def executed(line: int) -> bool:
        return bool(cells_executing(index, one.path, [line]))

    return tuple(run for run in one.inserted if is_unreached(run, lines, code, known.functions, executed))


def _touching(
    one: FileChange, index: Index, with_code: Sequence[int], apart: Sequence[Inserted]
) -> frozenset[Key]:
    """Cells that execute what differs in a file: its lines where they are known, else its functions.

    Of declarations and macros nobody knows who uses them: most likely what is beside them.
    """
    if one.outside:
        beside = [known.name for known in index.files[one.path].functions]
        return _keys(cells_calling(index, one.path, beside))
    executing = _keys(cells_executing(index, one.path, with_code))
    come = [run for run in one.inserted if run.indent is not None and run not in apart]
    if come or not (with_code or apart):  # nobody knows who comes to them; or another version's file
        return executing | _keys(cells_calling(index, one.path, one.functions))
    return executing


def _keys(cells: Iterable[CellRef]) -> frozenset[Key]:
    return frozenset(key_of(cell.scenario, cell.factors) for cell in cells)
