"""What the compiler says of our copies, as words about a person's own files."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rushhour.errors import KernelError
from rushhour.lab.kernel.given import FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rushhour.lab.kernel.sources import Source

# A line of gcc's excerpts: `   12 |         foo();`, `      |         ^~~`.
_EXCERPT = re.compile(r" +[0-9]* \|")
_MOST_WARNINGS = 12


@contextmanager
def of(found: Source, tree: Path) -> Iterator[None]:
    """A refusal in the block names the files as the person knows them, and no folder of the cache."""
    try:
        yield
    except KernelError as fault:
        fault.message = words(fault.message, found, tree)
        fault.args = (fault.message,)
        raise


def words(text: str, found: Source, tree: Path) -> str:
    """The same words with a person's files in place of our copies of them."""
    if found.tree:
        return text.replace(str(tree), str(found.tree))
    files = found.given.files if found.given else ()
    for file in sorted(files, key=lambda one: -len(one.name)):
        path = str(file.path).replace("\\", r"\\")
        text = re.sub(rf"[^\s:'`]*{FOLDER}/{re.escape(file.name)}\b", path, text)
    return text.replace(f"{tree}/", "")


def warnings(log: Path, found: Source, tree: Path) -> list[str]:
    """What the compiler warned of in the files that were given, with its excerpts."""
    told: list[str] = []
    ours = False
    for line in log.read_text(errors="replace").splitlines():
        if not _EXCERPT.match(line):
            ours = f"{FOLDER}/" in line and "warning:" in line
        if ours:
            told.append(words(line, found, tree))
    return ["\n".join(told[:_MOST_WARNINGS])] if told else []
