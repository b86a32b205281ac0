"""Which objects see that a macro has another value: only those whose compiler expands or tests it.

A header in which nothing but the values of macros differ gives the same text to every file that uses none of
them. The compiler tells which macros a file uses, however their names came about (`-dU`); who was asked once
need not be asked for the next value.
"""

from __future__ import annotations

import re
import shlex
import zlib
from typing import TYPE_CHECKING

from rushhour.errors import KernelError
from rushhour.lab.kernel import process

if TYPE_CHECKING:
    from pathlib import Path

_DEFINE = re.compile(r"[ \t]*#[ \t]*define[ \t]+(\w+)(\([\w \t,.]*\))?([^(\w].*)?")
_COMMENT = re.compile(r"/\*.*?\*/|//.*")
# As the compiler writes it: a macro where it is used first, or tested and not there.
_USED = re.compile(r"^#(?:define|undef) (\w+)", re.MULTILINE)


def values(before: str, after: str) -> frozenset[str] | None:
    """The macros whose values are all in which a header differs; None if anything else differs.

    What is left has the same lines, for `__LINE__` tells of them.
    """
    one, other = before.split("\n"), after.split("\n")
    if len(one) != len(other):
        return None
    found = set[str]()
    for number, (old, new) in enumerate(zip(one, other, strict=True)):
        if old != new:
            above = one[number - 1] if number else ""
            name = None if above.rstrip().endswith("\\") else _valued(old, new)
            if name is None:
                return None
            found.add(name)
    return frozenset(found)


def _valued(old: str, new: str) -> str | None:
    """The macro that two lines define, each as a whole, if they differ in its value and nothing else."""
    was, now = _DEFINE.fullmatch(old), _DEFINE.fullmatch(new)
    if not was or not now or was.group(1, 2) != now.group(1, 2):
        return None
    if old.rstrip().endswith("\\") or new.rstrip().endswith("\\"):
        return None
    # Where the line lies in a comment, or opens one, it does so before and after.
    if _COMMENT.findall(old) != _COMMENT.findall(new):
        return None
    rest = [_COMMENT.sub(" ", line) for line in (old, new)]
    return None if any("/*" in line or "*/" in line for line in rest) else was[1]


def used_by(command: str, place: Path) -> frozenset[str] | None:
    """The macros that a command of the compiler's expands or tests; None if it fails: make tells it better.

    Args:
        command: As kbuild noted it.
        place: The build directory.
    """
    words = shlex.split(command)
    kept = [word for word in words[: words.index("-c")] if not word.startswith("-Wp,-MMD,")]
    try:
        return frozenset(_USED.findall(process.answer([*kept, "-E", "-P", "-dU", words[-1]], cwd=place)))
    except KernelError:
        return None


class Uses:
    """What is known of the macros that objects use: a file for each, with the date of the object."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def of(self, name: str, date: int) -> frozenset[str] | None:
        """What an object of this date uses; None if nobody knows."""
        try:
            told, *words = zlib.decompress(self._file(name).read_bytes()).decode().split(" ")
        except (OSError, ValueError, zlib.error):
            return None
        return frozenset(words) if told == str(date) else None

    def keep(self, name: str, date: int, macros: frozenset[str]) -> None:
        """Remember it."""
        self._folder.mkdir(parents=True, exist_ok=True)
        new = self._file(name).with_suffix(".new")
        new.write_bytes(zlib.compress(" ".join([str(date), *sorted(macros)]).encode(), 1))
        new.replace(self._file(name))

    def _file(self, name: str) -> Path:
        return self._folder / f"{name.replace('/', '+')}.macros"
