"""What differs between two commits of a kernel: files, functions, lines.

Functions are found by the kernel's style: a body begins with a brace in the first column and ends with one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rushhour.check import tokens
from rushhour.check.inserted import Inserted, inserted
from rushhour.lab.kernel import git

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
# What is called or declared last before a body: `foo(` of `static int foo(struct sock *sk)`, the first word
# in `SYSCALL_DEFINE3(foo, …)`.
_NAME = re.compile(r"(\w+)\s*\(")
_DEFINING = re.compile(r"\b(?:COMPAT_)?SYSCALL_DEFINE\d\((\w+)|\bBPF_CALL_\d\((\w+)")
_NO_NAMES = frozenset({"__attribute__", "__releases", "__acquires", "__must_hold", "__printf", "__aligned"})
_HEAD_LINES = 12
_EXPORTED = re.compile(r"EXPORT_SYMBOL(?:_GPL)?\(\w+\);\s*")


@dataclass(frozen=True)
class Function:
    """A function of a file: its name, its first and last line (from 1)."""

    name: str
    first: int
    last: int


@dataclass(frozen=True)
class FileChange:
    """How a file differs.

    Attributes:
        path: In the tree.
        kind: `changed`, `added` or `removed`.
        old: Lines (from 1) of the base that are gone or otherwise.
        new: Lines of the candidate that are new or otherwise.
        functions: Names of functions in which lines differ, in the file's order; none of what is no C.
        outside: Whether lines outside of functions differ, or directives: declarations, macros, tables.
        code: Whether more than comments and blank space differs; what is no C always counts as code.
        inserted: Lines of a C file that come in where none goes.
        moved: Of a file that was given another name the other one; empty of all others.
        alike: Whether it has the same text under both names.
    """

    path: str
    kind: str
    old: tuple[int, ...]
    new: tuple[int, ...]
    functions: tuple[str, ...] = ()
    outside: bool = False
    code: bool = True
    inserted: tuple[Inserted, ...] = ()
    moved: str = ""
    alike: bool = False


@dataclass(frozen=True)
class Change:
    """How a candidate differs from its base: both are commits."""

    base: str
    candidate: str
    files: tuple[FileChange, ...] = field(default=())

    @property
    def functions(self) -> int:
        """How many functions differ."""
        return sum(len(one.functions) for one in self.files)


def between(repository: Path, base: str, candidate: str) -> Change:
    """What differs between two commits of a repository.

    Raises:
        KernelError: git cannot read them.
    """
    words = ("--no-ext-diff", "--no-color", "--no-renames", "--no-textconv")
    names = git.ask(repository, "diff", *words, "--name-status", "-z", base, candidate).split("\0")
    kinds = {"A": "added", "D": "removed"}
    found = []
    for state, path in zip(names[::2], names[1::2], strict=False):
        text = git.ask(repository, "diff", *words, "--unified=0", base, candidate, "--", f":(literal){path}")
        kind, (old, new) = kinds.get(state[:1], "changed"), lines_of(text)
        if path.endswith((".c", ".h")):
            texts = [_text(repository, commit, path) for commit in (base, candidate)]
            before, after = map(functions_of, texts)
            functions, outside = touched((before, old, _silent(texts[0])), (after, new, _silent(texts[1])))
            outside = outside or any(map(_directs, texts, (old, new)))
            code = kind != "changed" or not tokens.same(*texts)
            come = inserted(old, new, texts[1])
            found.append(FileChange(path, kind, old, new, functions, outside, code, come))
        else:
            found.append(FileChange(path, kind, old, new))
    moves = _moves(repository, base, candidate)
    return Change(base, candidate, tuple(_moved(one, moves) for one in found))


def _moves(repository: Path, base: str, candidate: str) -> dict[str, tuple[str, bool]]:
    """By path of a file that was renamed the path in the other commit, and whether its text is the same."""
    words = ("--no-ext-diff", "--no-color", "--no-textconv", "--find-renames", "--diff-filter=R")
    said = git.ask(repository, "diff", *words, "--name-status", "-z", base, candidate).split("\0")
    found: dict[str, tuple[str, bool]] = {}
    for state, before, after in zip(said[::3], said[1::3], said[2::3], strict=False):
        found |= {before: (after, state == "R100"), after: (before, state == "R100")}
    return found


def _moved(one: FileChange, moves: dict[str, tuple[str, bool]]) -> FileChange:
    other, alike = moves.get(one.path, ("", False))
    return replace(one, moved=other, alike=alike)


def lines_of(diff: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The lines that a diff of one file without context takes out of the old file and brings into the new."""
    old: list[int] = []
    new: list[int] = []
    for line in diff.splitlines():
        if hunk := _HUNK.match(line):
            first, count, to, more = (1 if word is None else int(word) for word in hunk.groups())
            old += range(first, first + count)
            new += range(to, to + more)
    return tuple(old), tuple(new)


def functions_of(text: str) -> list[Function]:
    """The functions that a C file defines, in their order, if it is written in the kernel's style."""
    lines = text.splitlines()
    found: list[Function] = []
    begin = 0
    name = ""
    for number, line in enumerate(lines, 1):
        if line.startswith("{") and not begin:
            name, begin = _head(lines[: number - 1])
        elif line.startswith("}"):
            if begin and name:
                found.append(Function(name, begin, number))
            begin = 0
    return found


def _head(before: Sequence[str]) -> tuple[str, int]:
    """The name of a function whose body begins behind these lines, and the line where its head begins."""
    head: list[str] = []
    for line in reversed(before[-_HEAD_LINES:]):
        if not line.strip() or line.startswith(("}", "#")) or line.rstrip().endswith((";", "*/")):
            break
        head.insert(0, line)
    text = " ".join(head)
    if defining := _DEFINING.search(text):
        name = next(word for word in defining.groups() if word)
    else:
        names = [word for word in _NAME.findall(text) if word not in _NO_NAMES]
        name = names[0] if names else ""
    return name, len(before) - len(head) + 1 if head else 0


def touched(*sides: tuple[list[Function], tuple[int, ...], set[int]]) -> tuple[tuple[str, ...], bool]:
    """The functions in which lines lie, and whether others lie outside of all.

    Args:
        sides: The functions of a text, lines that differ, and those that say nothing where no function is.
    """
    names: dict[str, None] = {}
    outside = False
    for functions, lines, silent in sides:
        for line in lines:
            inside = next((one.name for one in functions if one.first <= line <= one.last), None)
            if inside is not None:
                names[inside] = None
            elif line not in silent:
                outside = True
    return tuple(names), outside


def _silent(text: str) -> set[int]:
    """Lines without a token, and such as only let modules have a function: there are none here."""
    lines, coded = text.splitlines(), tokens.coded(text)
    return {
        number for number, line in enumerate(lines, 1) if number not in coded or _EXPORTED.fullmatch(line)
    }


def _directs(text: str, lines: Sequence[int]) -> bool:
    """Whether any of these lines is a directive, or goes on with one: it reaches beyond its function."""
    every = ["", *text.split("\n")]
    return any(every[line].lstrip().startswith("#") or every[line - 1].endswith("\\") for line in lines)


def _text(repository: Path, commit: str, path: str) -> str:
    return git.ask(repository, "cat-file", "blob", f"{commit}:{path}", default="")


def series(repository: Path, base: str, candidate: str) -> list[tuple[str, str]]:
    """The commits from base (left out) to candidate, oldest first, each with the one before it.

    Merges are followed by their first parent only.
    """
    return list(_steps(repository, base, candidate))


def _steps(repository: Path, base: str, candidate: str) -> Iterator[tuple[str, str]]:
    names = git.ask(repository, "rev-list", "--reverse", "--first-parent", candidate, "--not", base).split()
    before = base
    for name in names:
        yield before, name
        before = name
