"""Deleting: a name with all its versions, or an older version; never what somebody else put beside them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushhour.baseline import shelf
from rushhour.baseline.read import Baseline
from rushhour.errors import RecordError, RushHourError, UsageError
from rushhour.files import rooms
from rushhour.record.folders import BASELINE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@dataclass(frozen=True)
class Doomed:
    """What a word would delete: a folder, the versions in it, and their runs; None where one is damaged."""

    name: str
    folder: Path
    versions: Sequence[int]
    runs: int | None
    whole: bool


def doomed(word: str) -> Doomed:
    """What is deleted for a name, or for `NAME@VERSION`.

    Raises:
        UsageError: there is nothing of that name, it is a folder of the user's own, the current version, or
            something lies there that no baseline has.
    """
    name, at, version = word.partition("@")
    if "/" in word or not (at or shelf.is_kept(name)):
        _refuse_folder(word)
    shelf.check_name(name)
    kept = shelf.kept(name) if at else None
    folder = shelf.place(name)
    there = sorted(int(path.parent.name) for path in folder.glob(f"[0-9]*/{BASELINE}"))
    if kept is not None:
        number = int(version) if version.isdecimal() else 0
        if number not in there:
            raise UsageError(
                f"the baseline {name!r} has no version {version!r}",
                hint="there are: " + ", ".join(map(str, there)),
            )
        if number == kept.current:
            raise UsageError(
                f"version {number} is what {name} stands for",
                hint="make another the current one first: "
                f"rushhour baseline promote {shlex.quote(name)} VERSION --reason …; or delete the whole name",
            )
        return Doomed(name, folder / version, [number], _runs(folder, [number]), whole=False)
    if foreign := [path for path in sorted(folder.iterdir()) if not _is_ours(path.name)]:
        raise UsageError(f"{foreign[0]} is no part of a baseline", hint="move it elsewhere first")
    return Doomed(name, folder, there, _runs(folder, there), whole=True)


def delete(what: Doomed) -> None:
    """Delete it: from one moment to the next nothing finds it any more.

    Raises:
        RecordError: it cannot be removed.
    """
    try:
        with shelf.locked(shelf.place(what.name)), rooms.room(what.folder.parent) as room:
            what.folder.rename(room / "gone")
    except OSError as error:
        raise RecordError(
            f"the baseline cannot be deleted: {error.strerror or error}", where=str(what.folder)
        ) from error


def _refuse_folder(word: str) -> None:
    """Raise UsageError: nothing is kept under this word."""
    try:
        found = shelf.find(word)
    except RushHourError as error:
        raise UsageError(error.message, hint="`rushhour baseline list` names those there are") from error
    raise UsageError(
        f"{word} is a folder of yours, which this command leaves alone",
        hint=f"to remove it: rm -r {shlex.quote(str(found.path))}",
    )


def _is_ours(name: str) -> bool:
    return name.isdecimal() or name.startswith((".lock", rooms.NEW)) or name == shelf.FILE


def _runs(folder: Path, versions: Sequence[int]) -> int | None:
    try:
        return sum(len(Baseline.open(folder / str(number)).runs) for number in versions)
    except RushHourError:
        return None
