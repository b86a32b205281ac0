"""Folders of the cache that are laid out once, and used by every later command as they were made.

Runs are told apart by the hash of what such a folder was made of. So a file in it that was edited, replaced,
added or taken away would be used under a name that is not its own. The state of all files is noted beside the
folder, in `.made`; every process looks at it once, and a folder that is another one is made anew.
"""

from __future__ import annotations

import fcntl
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING

from rushhour.files import rooms, state, worn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_NOTES = ".made"
# The folders that this process has looked at.
_seen: set[Path] = set()


def out(place: Path, fill: Callable[[Path], None], most: int) -> None:
    """See to it that a folder is there, as `fill` makes it at a place that is not there yet.

    When one is made, what nobody has used for long goes, and what is more than `most` bytes. A cache that
    cannot be written is used as it is.

    Raises:
        OSError: it cannot be made.
    """
    worn.use(place)
    if place in _seen and place.is_dir():
        return
    made = False
    with _turn(place) as note:
        if not place.is_dir() or (note is not None and note.read() != _state(place)):
            with rooms.room(place.parent) as room:
                fill(room / "folder")
                rooms.take_place(room / "folder", place)
            made = True
            if note is not None:
                note.seek(0)
                note.truncate()
                note.write(_state(place))
    _seen.add(place)
    if made:
        worn.clear(place.parent, most)
        _forget(place.parent)


@contextmanager
def _turn(place: Path) -> Iterator[IO[str] | None]:
    """The note of a folder, while nobody else makes it; none where the cache cannot be written."""
    path = place.parent / _NOTES / place.name
    try:
        path.parent.mkdir(exist_ok=True)
        note = path.open("a+", encoding="ascii")
    except OSError:
        yield None
        return
    with note:
        with suppress(OSError):  # a file system may have no locks
            fcntl.flock(note, fcntl.LOCK_EX)
        note.seek(0)
        yield note


def _state(place: Path) -> str:
    return state.hashed(state.entries(place))


def _forget(parent: Path) -> None:
    """Remove the notes of folders that are gone, but for those that are being made."""
    with suppress(OSError):
        for note in (parent / _NOTES).iterdir():
            if not (parent / note.name).exists():
                with note.open("rb") as held:
                    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    note.unlink()
