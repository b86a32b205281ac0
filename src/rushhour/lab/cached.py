"""What lies in the cache, by kinds, and how each is removed. Nothing of it is lost but time."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushhour.files import bounded, cache, worn
from rushhour.files.size import on_disk
from rushhour.quantities import short

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass(frozen=True)
class Kind:
    """A part of the cache.

    `places` are its files and folders, a word with `*` for several; `limit` says what keeps it small, or the
    command that removes it. `remove` removes what was not used since a time (s since 1970); None where that
    takes a command of its own.
    """

    name: str
    what: str
    places: tuple[str, ...]
    limit: str
    remove: Callable[[float], None] | None = None

    def found(self) -> list[Path]:
        """The files and folders that are there."""
        return [place for pattern in self.places for place in root().glob(pattern)]

    def clean(self, days: float) -> None:
        """Remove what was not used for so many days."""
        if self.remove is not None:
            self.remove(time.time() - days * 86400)

    def size(self) -> int:
        """Bytes on the disk."""
        return sum(on_disk(place) for place in self.found())


def root() -> Path:
    """The folder of the cache."""
    return cache.folder("any").parent


def kinds() -> list[Kind]:
    """Every kind; the last is what no other has.

    Raises:
        UsageError: `RUSHHOUR_CACHE_SIZE` is no size.
    """
    most = f"{short.size(bounded.most())} ({bounded.VARIABLE})"
    month = f"{worn.DAYS} days without use"
    known = [
        Kind("runs", "runs, by what determines them", ("runs",), most, _runs),
        Kind("programs", "programs laid out for guests", ("guest", "roots"), month, _programs),
        Kind("fetched", "runs from a storage", ("fetched",), month, _fetched),
        Kind("metrics", "metrics and checksums", ("*.sqlite*",), "a number of them", _metrics),
        Kind(
            "builds", "sources and builds of kernels", ("sources", "build", "locks"), "rushhour kernel clean"
        ),
        Kind("kernels", "kernels", ("kernels",), "rushhour kernel remove NAME"),
        Kind("fleet", "what a worker was sent", ("fleet",), "rushhour fleet down --purge"),
    ]
    named = {place for kind in known for place in kind.found()}
    rest = tuple(sorted(one.name for one in root().iterdir() if one not in named))
    return [*known, Kind("other", "agents, packages, results of tests", rest, "")]


def _runs(before: float) -> None:
    for part in sorted(root().glob("runs/*/")):
        with suppress(OSError):
            bounded.clear(part, before)


def _programs(before: float) -> None:
    for folder in (root() / "guest", root() / "roots"):
        worn.clear(folder, before=before)


def _metrics(before: float) -> None:
    for file in root().glob("*.sqlite*"):
        with suppress(OSError):
            if file.stat().st_mtime < before:
                file.unlink()


def _fetched(before: float) -> None:
    worn.clear(root() / "fetched", before=before)
