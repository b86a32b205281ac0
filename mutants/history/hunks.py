"""What differs between two releases of one series, hunk by hunk, each as a patch that takes it out."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushhour.errors import KernelError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FOLDERS = ("net/ipv4", "net/ipv6", "net/core", "net/sched")
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@.*\n", re.MULTILINE)
_FILE = re.compile(r"^diff --git .*\n", re.MULTILINE)


@dataclass(frozen=True)
class Hunk:
    """One hunk: as a change of the newer release, whose lines it counts.

    `lines` are those of the newer release that it takes out, or between which it puts something in.
    """

    file: str
    lines: tuple[int, ...]
    change: str

    @property
    def patch(self) -> str:
        """The hunk alone, as `git apply` takes it."""
        return f"--- a/{self.file}\n+++ b/{self.file}\n{self.change}"

    @property
    def comments_only(self) -> bool:
        """Whether nothing that is compiled differs: empty lines, lines that begin as comments do."""
        changed = re.findall(r"^[-+](.*)$", self.change, re.MULTILINE)
        return all(re.match(r"\s*(/\*|\*|//|$)", line) for line in changed)


def between(old: Path, new: Path) -> Iterator[Hunk]:
    """The hunks of the network stack between two unpacked releases, each turned round."""
    for folder in FOLDERS:
        # Exit code 1: they differ.
        command = ["git", "diff", "--no-index", "--no-color", "--no-renames", "--diff-filter=M", "-U3"]
        done = subprocess.run(
            [*command, str(new / folder), str(old / folder)], capture_output=True, text=True, check=False
        )
        if done.returncode > 1:
            raise KernelError(f"git diff failed: {done.stderr.strip()}", where=folder)
        for text in _FILE.split(done.stdout)[1:]:
            yield from _of_file(text, new)


def _of_file(text: str, new: Path) -> Iterator[Hunk]:
    named = re.search(r"^--- a/?(.*)$", text, re.MULTILINE)
    if not named or not named[1].endswith(".c"):
        return
    file = named[1].removeprefix(str(new).lstrip("/")).lstrip("/")
    parts = list(_HUNK.finditer(text))
    for part, after in zip(parts, [*parts[1:], None], strict=True):
        change = text[part.start() : after.start() if after else len(text)]
        yield Hunk(file, tuple(_lines(int(part[1]), change)), change)


def _lines(first: int, change: str) -> Iterator[int]:
    """Lines that go; where something comes in, the line before it."""
    at, seen = first, set()
    for line in change.splitlines()[1:]:
        if line.startswith(("-", "+")):
            touched = at if line.startswith("-") else at - 1
            if touched not in seen:
                seen.add(touched)
                yield touched
        if not line.startswith(("+", "\\")):
            at += 1
