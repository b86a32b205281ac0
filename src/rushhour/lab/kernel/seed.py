"""Beginning a tree's build with the build of a tree that is close to it.

A first build compiles everything, which takes minutes; yet of two trees of one version most files are the
same, and so are the objects made from them. So a new tree begins as its neighbour: the neighbour's build
directory is copied, with its places rewritten in what kbuild noted; files that have the neighbour's content
get the neighbour's date, all others a new one. From there on make decides by its own rules, exactly as it
does between two builds of one changing tree.

The build directory appears last and whole: whatever is interrupted before that leaves a tree that is built
from nothing.
"""

from __future__ import annotations

import filecmp
import os
import shutil
import time
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushhour.lab.kernel import config, git, objects, reuse, store, training, workcopy
from rushhour.lab.kernel.make import FRAGMENT
from rushhour.lab.kernel.sanitizers import options_of, part_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from rushhour.lab.kernel.sources import Source

# What names places in a build directory: kbuild's notes, its makefile, lists of dependencies, assembly.
_NOTES = (".cmd", ".d", ".s", "Makefile")
# Notes of our own that are about the neighbour.
_FOREIGN = ("configured", "build.log", objects.BUILT)


@dataclass(frozen=True)
class _Neighbour:
    """A tree in the cache that was built here, and its build directory."""

    key: str
    version: tuple[int, int, int]

    @property
    def tree(self) -> Path:
        return store.cache("sources", self.key)

    @property
    def place(self) -> Path:
        return store.cache("build", self.key)


def begin(found: Source, tell: Callable[[str], None]) -> None:
    """Begin the tree of a source that was never built with its nearest neighbour, if there is one.

    Hold the lock of the source's key. Of a user's own directory it is the copy in the cache that is begun.
    """
    tree, place = store.cache("sources", found.key), store.cache("build", found.key)
    if place.exists() or tree.exists():
        return
    if found.base:
        text = (found.base.directory() / "Makefile").read_text(errors="replace")
    elif found.tree:
        text = (found.tree / "Makefile").read_text(errors="replace")
    elif found.repository:
        text = git.ask(found.repository, "show", f"{found.facts['commit']}:Makefile", default="")
    else:
        text = (found.directory() / "Makefile").read_text(errors="replace")
    own = found.base.key if found.base else ""
    # With other sanitizers not one object is the same.
    watched = options_of(found.given.sanitizers if found.given else ())
    neighbour = _nearest(config.version_in(text), own, watched)
    if neighbour is None:
        return
    tell(f"beginning with the build of {neighbour.key}")
    with _locked(neighbour, found, lambda: tell(f"waiting: another process builds {neighbour.key}")):
        if found.repository:
            workcopy.clone(neighbour.tree, tree)
            git.adopt(found.repository, found.facts["commit"], found.key)
            found.directory()
        elif found.tree or found.base:
            workcopy.clone(neighbour.tree, tree)
            found.directory()
        else:
            _date(tree, neighbour.tree)
        _copy_build(neighbour, tree, place)


def _locked(
    neighbour: _Neighbour, found: Source, waiting: Callable[[], None]
) -> AbstractContextManager[object]:
    """The neighbour's lock, unless it is held: a tree's own source is its neighbour, too."""
    own = found.base is not None and found.base.key == neighbour.key
    return nullcontext() if own else store.lock(neighbour.key, waiting)


def _nearest(version: tuple[int, int, int] | None, own: str, watched: str) -> _Neighbour | None:
    """The built tree of this version and patch level, its sublevel nearest; of equals `own`, or the last.

    `watched` are the options of its sanitizers.
    """
    if version is None:
        return None
    images = sorted(
        store.cache("build", "any").parent.glob("*/linux"), key=lambda image: -image.stat().st_mtime_ns
    )
    near = []
    for image in images:
        if part_of(image.with_name(FRAGMENT)) != watched:
            continue
        makefile = store.cache("sources", image.parent.name) / "Makefile"
        other = config.version_in(makefile.read_text(errors="replace")) if makefile.is_file() else None
        if other and other[:2] == version[:2]:
            near.append(_Neighbour(image.parent.name, other))
    return min(near, key=lambda one: (abs(one.version[2] - version[2]), one.key != own), default=None)


def _date(tree: Path, neighbour: Path) -> None:
    """Give every file its equal's date, and those without one the present's: an archive's are long past."""
    for folder, _, names in os.walk(tree):
        for name in names:
            mine = os.path.join(folder, name)  # noqa: PTH118 - 90 000 times: Path objects cost seconds
            theirs = os.path.join(neighbour, os.path.relpath(mine, tree))  # noqa: PTH118
            if os.path.islink(mine):  # noqa: PTH114
                continue
            same = os.path.isfile(theirs) and filecmp.cmp(mine, theirs, shallow=False)  # noqa: PTH113
            date = os.stat(theirs).st_mtime_ns if same else time.time_ns()  # noqa: PTH116
            os.utime(mine, ns=(date, date))


def _copy_build(neighbour: _Neighbour, tree: Path, place: Path) -> None:
    """The neighbour's build directory at its new place, dates kept, places in its notes rewritten."""
    places = [
        (os.fsencode(old), os.fsencode(new))
        for old, new in ((neighbour.tree, tree), (neighbour.place, place))
    ]
    with store.scratch(place) as room:
        copy = room / "build"
        shutil.copytree(neighbour.place, copy, symlinks=True, ignore=shutil.ignore_patterns(reuse.SHELF))
        for name in _FOREIGN:
            (copy / name).unlink(missing_ok=True)
        training.put_back(copy)
        for path in copy.rglob("*"):
            if path.name.endswith(_NOTES) and path.is_file() and not path.is_symlink():
                _rewrite(path, places)
        copy.rename(place)


def _rewrite(path: Path, places: list[tuple[bytes, bytes]]) -> None:
    state, text = path.stat(), path.read_bytes()
    rewritten = text
    for old, new in places:
        rewritten = rewritten.replace(old, new)
    if rewritten != text:
        path.write_bytes(rewritten)
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
