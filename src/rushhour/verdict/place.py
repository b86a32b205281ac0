"""Where a verdict goes: `results/compare/BASE..CANDIDATE/DATE-TIME/`, which no other comparison writes."""

from __future__ import annotations

import re
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from rushhour.errors import ReportError
from rushhour.files import rooms
from rushhour.lab import clock
from rushhour.running.prepare import RESULTS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

_PLAIN = re.compile(r"[^A-Za-z0-9._-]+")
# Where a comparison's records are made.
_INSIDE = ("base", "base/runs", "candidate", "candidate/runs")


def folder_for(base: str, candidate: str, made: datetime) -> Path:
    """A folder of this name that is not there yet."""
    names = "..".join(_PLAIN.sub("-", name).strip("-.")[:80] or "records" for name in (base, candidate))
    return rooms.unused(RESULTS / "compare" / names / clock.folder_stamp(made))


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Make the folder and keep other comparisons out of it; the lock is the folder's own and leaves nothing.

    Raises:
        UsageError: another comparison is writing there.
        ReportError: the folder cannot be made.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(rooms.alone(folder, "comparison", *_INSIDE))
        except OSError as error:
            raise cannot_write(folder, error) from error
        yield


def cannot_write(folder: Path, error: OSError) -> ReportError:
    """What to say where the folder of a verdict cannot be written."""
    return ReportError(
        f"the verdict cannot be written: {error.strerror}",
        where=str(folder),
        hint="choose another place with --out",
    )
