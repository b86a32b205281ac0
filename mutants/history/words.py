"""Whether each known change is where the table says: its words in the sources with it, and in none before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.verdict.known import changes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from rushhour.verdict.known import Change

SERIES = ("5.10", "6.1", "6.12", "7.2")

# Where the words of all changes are.
FOLDERS = ("net/", "include/", "drivers/net/veth.c")

# Of each series the newest release is meant.
NEWEST = 9999


def wrong(trees: Mapping[str, Path]) -> Iterator[str]:
    """What is otherwise than the table says, in a sentence each.

    Args:
        trees: of each series an unpacked source.
    """
    for change in changes():
        for series, tree in trees.items() if change.text else ():
            expected = change.there(f"{series}.{NEWEST}") != change.gone
            if there(change, tree) != expected:
                verb = "lacks" if expected else "has"
                yield f"{change.commit[:12]} {change.subject}: {series} {verb} {change.text}"


def there(change: Change, tree: Path) -> bool:
    """Whether the change's words are in a source; without words: whether the file is."""
    file, words = change.text
    path = tree / file
    return path.is_file() and words in path.read_text(encoding="utf-8", errors="replace")
