"""The shelf: names of baselines on this machine, their versions, and which of them is the current one.

~/.local/share/rushhour/baselines/NAME/1/          a version
                                      /2/
                                      /name.json   the current version, who made it that and why
"""

from __future__ import annotations

import fcntl
import os
import re
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.baseline.read import Baseline
from rushhour.errors import RecordError, UsageError
from rushhour.files import places
from rushhour.record.baseline_file import NameFile
from rushhour.record.document import read
from rushhour.record.folders import BASELINE
from rushhour.record.json_file import read_json
from rushhour.record.seal import write_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FORMAT = "rushhour-baseline-name/1"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
FILE = "name.json"
"""What says which version is the current one."""


@dataclass(frozen=True, slots=True)
class Promotion:
    """A version became the current one: when (UTC, ISO 8601) and why."""

    version: int
    time: str
    reason: str


@dataclass(frozen=True, slots=True)
class Kept:
    """A name on the shelf: its versions in order, and every promotion, the last one last."""

    name: str
    folder: Path
    versions: Sequence[int]
    promotions: Sequence[Promotion]

    @property
    def current(self) -> int:
        """The number of the version that the name stands for."""
        return self.promotions[-1].version

    def open(self, version: int | None = None) -> Baseline:
        """A version; by default the current one.

        Raises:
            UsageError: there is no such version.
            RecordError: it is damaged.
        """
        number = self.current if version is None else version
        if number not in self.versions:
            raise UsageError(
                f"the baseline {self.name!r} has no version {number}",
                hint="there are: " + ", ".join(map(str, self.versions)),
            )
        return Baseline.open(self.folder / str(number))


def find(word: str | Path) -> Baseline:
    """The baseline of this name (`NAME`, `NAME@VERSION`), or in this folder.

    Raises:
        UsageError: there is none.
        RecordError: it is of another format version, or damaged.
    """
    name, _, version = str(word).partition("@")
    if isinstance(word, str) and is_kept(name):
        if version and not version.isdigit():
            raise UsageError(f"{version!r} is not a version", hint=f"write {name}@2, or {name}")
        return kept(name).open(int(version) if version else None)
    if (Path(word) / BASELINE).is_file():
        return Baseline.open(Path(word))
    there = ", ".join(one.name for one in names()) or "none"
    raise UsageError(
        f"there is no baseline {str(word)!r}; kept here: {there}",
        hint="to keep one: rushhour baseline save NAME RECORDS",
    )


def names() -> list[Kept]:
    """Every name on the shelf, sorted."""
    folder = place("any").parent
    return [kept(path.parent.name) for path in sorted(folder.glob(f"[!.]*/{FILE}"))]


def history(one: Baseline) -> Sequence[Promotion]:
    """Every promotion of a baseline's name, the last one last; of a folder of one's own nothing is known."""
    return kept(one.name).promotions if one.path.parent == place(one.name) else ()


def place(name: str) -> Path:
    """Where the versions of a name lie."""
    return places.data("baselines", name)


def kept(name: str) -> Kept:
    """What is kept under a name.

    Raises:
        UsageError: nothing is.
        RecordError: what stands there is damaged.
    """
    folder = place(name)
    path = folder / FILE
    if not path.is_file():
        raise UsageError(
            f"there is no baseline {name!r}", hint="`rushhour baseline list` names those there are"
        )
    hint = "it was damaged, or written by a newer rushhour"
    about = read(NameFile, read_json(path), str(path), hint)
    promotions = [Promotion(entry.version, entry.time, entry.reason) for entry in about.promotions]
    if not promotions or about.format != FORMAT:
        raise RecordError("the file does not name the current version", where=str(path), hint=hint)
    versions = sorted(int(path.parent.name) for path in folder.glob(f"[0-9]*/{BASELINE}"))
    return Kept(name, folder, versions, promotions)


def is_kept(name: str) -> bool:
    """Whether something is kept under a name, be it damaged."""
    return _NAME.fullmatch(name) is not None and (place(name) / FILE).is_file()


def current(name: str) -> int | None:
    """The version that a name stands for now; None where nothing is kept under it.

    Raises:
        RecordError: as of `kept`.
    """
    return kept(name).current if is_kept(name) else None


def point(name: str, promotions: Sequence[Promotion]) -> None:
    """Write which version is the current one, at once or not at all."""
    entries = [{"version": one.version, "time": one.time, "reason": one.reason} for one in promotions]
    write_json(place(name) / FILE, {"format": FORMAT, "promotions": entries})


def check_name(name: str) -> None:
    """Refuse what is no name.

    Raises:
        UsageError: it is none.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot name a baseline",
            hint='letters, digits, ".", "_" and "-", a letter or digit first; a folder has a "/" in it',
        )


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a name: versions are numbered and promoted by one process at a time."""
    folder.mkdir(parents=True, exist_ok=True)
    # Neither emptied nor followed: a folder of baselines may come from a stranger, and this may be a link.
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    with os.fdopen(os.open(folder / ".lock", flags, 0o666), "r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
