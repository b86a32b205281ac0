"""A folder of this machine as a tree of names, and what tells whether it changed."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

from rushhour.errors import LabError
from rushhour.files import state
from rushhour.lab.loading import check_open
from rushhour.lab.root.tree import MOST_FILES, Data, Entry, Tree

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def stamp(folder: Path) -> str:
    """A hash that is another one when anything in the folder was changed."""
    return state.hashed(_all(folder))


def add(tree: Tree, folder: Path) -> None:
    """Put what a folder holds into the tree; devices, pipes and sockets are left out.

    Raises:
        LabError: a file cannot be read, or is kept from others.
    """
    for name, about in _all(folder):
        place, time = folder / name, max(0, int(about.st_mtime))
        if stat.S_ISDIR(about.st_mode):
            tree.put(name, Entry(time=time))
        elif stat.S_ISLNK(about.st_mode):
            tree.put(name, Entry(target=str(place.readlink()), time=time))
        elif stat.S_ISREG(about.st_mode):
            check_open(place, about)
            data = Data(place, 0, about.st_size)
            tree.put(name, Entry(data=data, runs=bool(about.st_mode & 0o111), time=time))


def _all(folder: Path) -> Iterator[state.Entry]:
    """Everything below a folder, by its path from there, in order."""
    try:
        for seen, entry in enumerate(state.entries(folder)):
            if seen >= MOST_FILES:
                raise LabError(f"a root has at most {MOST_FILES} files", where=str(folder))
            yield entry
    except OSError as error:
        raise LabError(
            f"the root cannot be read whole: {error.strerror}",
            where=str(error.filename or folder),
            hint='as who may read it: tar -C FOLDER -c . > root.tar; then root = "root.tar"',
        ) from error
