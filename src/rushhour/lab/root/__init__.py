"""Roots: what a program sees as its `/` instead of this machine's files.

```
folder, archive, image ─tree.py→ names ─packed.py→ one archive in one spelling ─→ its SHA-256
                                                       └─unpacked once─→ a folder in the cache
```

By its hash it is told apart, travels to other machines, and is kept in the cache. What comes of an archive or
folder is remembered there, too, as long as its content, or the state of its files, is the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.errors import LabError
from rushhour.files import cache, laid, rooms, worn
from rushhour.files.sums import sum_of
from rushhour.lab import loading
from rushhour.lab.base import sha256
from rushhour.lab.root import archive, folder, image, packed
from rushhour.lab.root.inside import require
from rushhour.lab.root.tree import Data, Tree
from rushhour.lab.tools import Tool
from rushhour.plan.programs import ROOT

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["find", "is_root", "laid_out", "require"]

# Counts up with every change of what becomes of the same files.
_VERSION = 1
_PACKED = "root.tar"
# All roots of programs together take so many bytes at most, beside those in use.
_MOST = 10_000_000_000


def find(name: str, place: Path) -> Tool:
    """The root that a folder or file of this machine is, as a plan's tool of this name.

    Raises:
        LabError: it is not there, none, damaged, for other machines, or kept from others.
    """
    try:
        place = place.resolve(strict=True)
        loading.check_open(place)
        digest = _known(place) or _take(place)
        worn.use(_kept(digest))
    except (OSError, RuntimeError) as error:
        raise LabError(
            f"the root cannot be read: {getattr(error, 'strerror', None) or error}",
            where=str(getattr(error, "filename", None) or place),
            hint="root takes a folder, an archive (.tar, .tar.gz, .tar.xz, .tar.zst) or a saved image",
        ) from error
    return Tool(name, "", digest, {_PACKED: _kept(digest)}, {_PACKED: digest}, ())


def is_root(tool: Tool) -> bool:
    """Whether a tool is a root."""
    return tool.name.startswith(ROOT)


def laid_out(tool: Tool) -> Path:
    """The folder of a root in the cache.

    Raises:
        LabError: it cannot be laid out.
    """
    place, made = cache.folder("roots", tool.sha256), tool.files[_PACKED]
    try:
        laid.out(place, lambda new: _unpack(made, tool.sha256, new), _MOST)
    except OSError as error:
        raise LabError(
            f"the root cannot be laid out: {error.strerror}", where=str(place), hint=cache.HINT
        ) from error
    return place


def _unpack(made: Path, digest: str, folder: Path) -> None:
    if sum_of(made) != digest:
        raise LabError(
            "the root that the cache keeps was changed", where=str(made), hint="remove it: it is taken anew"
        )
    packed.unpack(made, folder)


def _kept(digest: str) -> Path:
    return cache.folder("roots", f"{digest}.tar")


def _known(place: Path) -> str | None:
    """The hash of the root that this was before, if it is kept."""
    try:
        digest = _note(place).read_text(encoding="ascii")
    except OSError:
        return None
    return digest if _kept(digest).is_file() else None


def _note(place: Path) -> Path:
    state = folder.stamp(place) if place.is_dir() else sum_of(place)
    return cache.folder("roots", "known", sha256(str(_VERSION), state))


def _take(place: Path) -> str:
    """Take a root into the cache; gives its hash."""
    note = _note(place)
    with rooms.room(cache.folder("roots", "x").parent) as room:
        tree = _tree(place, room)
        tree.finish()
        made = room / _PACKED
        packed.pack(tree, made)
        digest = sum_of(made)
        made.replace(_kept(digest))
    # What changed meanwhile is another root.
    if _note(place) != note:
        raise LabError("it changed while it was read", where=str(place), hint="run it again")
    rooms.put(note, digest.encode())
    return digest


def _tree(place: Path, room: Path) -> Tree:
    tree = Tree(str(place))
    if place.is_dir():
        found = image.of_folder(place)
        if found is None:
            folder.add(tree, place)
            return _some(tree)
    else:
        data = archive.plain(Data(place, 0, place.stat().st_size), room, tree.where)
        found = image.of_archive(data, tree.where)
        if found is None:
            archive.add(tree, data, room)
            return _some(tree)
    for layer in found.layers():
        archive.add(tree, archive.plain(layer, room, tree.where), room, layer=True)
    return _some(tree)


def _some(tree: Tree) -> Tree:
    if not any(entry.data is not None and entry.runs for entry in tree.entries.values()):
        raise LabError(
            "is no root: there is no program in it",
            where=tree.where,
            hint="a root is what a system has from / on: bin, lib, usr …",
        )
    return tree
