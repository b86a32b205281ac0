"""A root as one archive in one spelling: equal files make equal bytes, whatever they were taken from."""

from __future__ import annotations

import os
import tarfile
from typing import IO, TYPE_CHECKING

from rushhour.errors import LabError
from rushhour.files import rooms
from rushhour.lab.root import archive
from rushhour.lab.root.tree import Data, Tree

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.lab.root.tree import Entry

# Whoever runs it: nobody writes, nothing has another user's rights.
_FOLDER, _PROGRAM, _FILE = 0o755, 0o555, 0o444
_PIECE = 1 << 20


def pack(tree: Tree, target: Path) -> None:
    """Write the archive of a tree.

    Raises:
        LabError: a file of it is not as it was any more.
        OSError: it cannot be read or written.
    """
    with tarfile.open(
        target, "x:", format=tarfile.GNU_FORMAT, encoding="utf-8", errors="surrogateescape"
    ) as made:
        for name, entry in tree.sorted():
            about = tarfile.TarInfo(name)
            about.mtime = entry.time
            if entry.data is not None:
                about.size, about.mode = entry.data.size, _PROGRAM if entry.runs else _FILE
                with entry.data.file.open("rb") as file:
                    _check_size(entry.data, file, name)
                    file.seek(entry.data.offset)
                    made.addfile(about, file)
            elif entry.target is not None:
                about.type, about.linkname, about.mode = tarfile.SYMTYPE, entry.target, 0o777
                made.addfile(about)
            else:
                about.type, about.mode = tarfile.DIRTYPE, _FOLDER
                made.addfile(about)


def _check_size(data: Data, file: IO[bytes], name: str) -> None:
    if os.fstat(file.fileno()).st_size < data.offset + data.size and data.size:
        raise LabError(f"{name} changed while the root was read", where=str(data.file), hint="run it again")


def unpack(packed: Path, folder: Path) -> None:
    """Lay a packed root out in a new folder.

    Raises:
        LabError: it is damaged.
        OSError: it cannot be written.
    """
    tree = Tree(str(packed))
    with rooms.room(folder.parent) as room:
        archive.add(tree, Data(packed, 0, packed.stat().st_size), room)
    folder.mkdir()
    # Where a name's folder is a link the tree has it elsewhere, so nothing is written through a link.
    for name, entry in tree.sorted():
        place = folder / name
        if entry.is_folder:
            place.mkdir()
        elif entry.target is not None:
            place.symlink_to(entry.target)
        else:
            _write(entry, place)
    for name, entry in reversed([*tree.sorted()]):
        os.utime(folder / name, (entry.time, entry.time), follow_symlinks=False)


def _write(entry: Entry, place: Path) -> None:
    assert entry.data is not None
    with entry.data.file.open("rb") as source, place.open("xb") as file:
        source.seek(entry.data.offset)
        left = entry.data.size
        while left and (piece := source.read(min(left, _PIECE))):
            file.write(piece)
            left -= len(piece)
        os.fchmod(file.fileno(), _PROGRAM if entry.runs else _FILE)
