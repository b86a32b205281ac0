"""A root's files as a tree of names: here is put together what archives, images and folders say.

Names of strangers never reach this machine's file system: links are followed in the tree, as a process would
whose root this is, and no name leads out of it.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rushhour.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MOST_FILES = 500_000
MOST_BYTES = 16 << 30
# What a program's namespace is put together of (`agent/src/program/world.rs`): folders to mount on …
_MOUNTED = ("dev", "lab", "proc", "run", "sys", "tmp", "var/log", "var/tmp")
# … and what says who is reached by which name: nodes are, and there is no DNS.
_NAMES = ("etc/hosts", "etc/resolv.conf")
_MOST_LINKS = 40


class Data(NamedTuple):
    """Where the bytes of a file are on this machine."""

    file: Path
    offset: int
    size: int


_EMPTY = Data(Path("/dev/null"), 0, 0)


@dataclass(frozen=True)
class Entry:
    """A folder; or a symbolic link, which has a `target`; or a file, which has `data`.

    `runs` says whether it may be executed, `time` is when it was changed, in s since 1970.
    """

    target: str | None = None
    data: Data | None = None
    runs: bool = False
    time: int = 0

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return self.target is None and self.data is None


@dataclass
class Tree:
    """Entries by their path in the root, without a slash before it. `where` is what it is of, for errors."""

    where: str
    entries: dict[str, Entry] = field(default_factory=dict)
    _bytes: int = 0

    def put(self, name: str, entry: Entry) -> None:
        """Put an entry at a name, instead of what is there; the folders above it are made.

        Raises:
            LabError: the name leads out of the root, or it is too large.
        """
        place = self.place(name)
        if not place or "\0" in (entry.target or ""):
            return
        there = self.entries.get(place)
        if there is not None and not (there.is_folder and entry.is_folder):
            self.remove(place)
        self.entries[place] = entry
        self._bytes += entry.data.size if entry.data else 0
        if len(self.entries) > MOST_FILES or self._bytes > MOST_BYTES:
            raise LabError(
                f"a root has at most {MOST_FILES} files and {MOST_BYTES >> 30} GiB, and this one has more",
                where=self.where,
                hint="take what is not needed out of it",
            )

    def place(self, name: str) -> str:
        """The path of a name's entry, links in the folders above it followed; folders that lack are made.

        Raises:
            LabError: the name leads out of the root.
        """
        if ".." in name.split("/") or "\0" in name:
            raise LabError(f'the name "{name}" in it leads out of it', where=self.where, hint="do not use it")
        folder, _, last = posixpath.normpath("/" + name).strip("/").rpartition("/")
        return f"{self._folder(folder)}/{last}".strip("/")

    def _folder(self, name: str) -> str:
        found = ""
        for part in filter(None, name.split("/")):
            path = f"{found}/{part}".strip("/")
            there = self.entries.get(path)
            if there is not None and there.target is not None:
                path = resolve(path, self._look) or posixpath.normpath(
                    posixpath.join("/", found, there.target)
                ).strip("/")
                there = self.entries.get(path)
            if there is None or not there.is_folder:
                self.remove(path)
                self.entries[path] = Entry()
            found = path
        return found

    def _look(self, path: str) -> str | None:
        there = self.entries.get(path)
        return None if there is None else there.target or ""

    def remove(self, place: str, *, inside: bool = False) -> None:
        """Remove what is at a place; with `inside` only what is in this folder."""
        for one in [one for one in self.entries if one.startswith(f"{place}/")]:
            del self.entries[one]
        if not inside:
            self.entries.pop(place, None)

    def finish(self) -> None:
        """Make what every root has: places to mount on, and no names but those that the lab will tell.

        Raises:
            LabError: that cannot be.
        """
        for place in ("etc", "var"):
            if self.entries.get(place, Entry()).target is not None:
                raise LabError(
                    f"its /{place} is a symbolic link, where a folder has to be",
                    where=self.where,
                    hint="make it a folder",
                )
        for place in (*_MOUNTED, *_NAMES):
            self.remove(place)
            folder = place.rpartition("/")[0]
            if folder:
                self.entries.setdefault(folder, Entry())
        for place in _MOUNTED:
            self.entries[place] = Entry()
        for place in _NAMES:
            self.entries[place] = Entry(data=_EMPTY)

    def sorted(self) -> Iterator[tuple[str, Entry]]:
        """All entries, folders before what is in them."""
        return iter(sorted(self.entries.items(), key=lambda one: one[0].split("/")))


def resolve(name: str, look: Callable[[str], str | None]) -> str | None:
    """The path that a name leads to when all links are followed inside a root; None where there is nothing.

    `look` gives of a path None if nothing is there, the target of a link, and an empty text for all else.
    """
    found: list[str] = []
    parts = [*reversed(name.split("/"))]
    links = 0
    while parts:
        part = parts.pop()
        if part in {"", "."}:
            continue
        if part == "..":
            found = found[:-1]
            continue
        target = look("/".join([*found, part]))
        if target is None:
            return None
        if not target:
            found.append(part)
            continue
        links += 1
        if links > _MOST_LINKS:
            return None
        found = [] if target.startswith("/") else found
        parts += reversed(target.split("/"))
    return "/".join(found)
