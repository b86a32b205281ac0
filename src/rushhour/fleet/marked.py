"""The processes of a fleet at this machine, found by the mark in their environment, and ended.

Sent to hosts with `there`: it imports the standard library only.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MARK = "RUSHHOUR_FLEET"
"""In the environment of every process that a fleet starts: `ID/NAME` of its member."""
GRACE_S = 8.0


def with_mark(mark: str) -> Iterator[int]:
    sought = mark.encode()
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                settings = (entry / "environ").read_bytes().split(b"\0")
                if any(
                    one == sought or (sought.endswith(b"=") and one.startswith(sought)) for one in settings
                ):
                    yield int(entry.name)


def marked(fleet: str, name: str) -> dict[int, bool]:
    """The processes of a member and all below them, and whether each is the topmost of its kin.

    Without ourselves and those who wait for us.
    """
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError, IndexError):
            if entry.name.isdigit():
                after = (
                    (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
                )
                if after[0] != "Z":
                    parents[int(entry.name)] = int(after[1])
    found = set(with_mark(f"{MARK}={fleet}/{name}")) & parents.keys()
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    ours = os.getpid()
    while ours in parents:
        found.discard(ours)
        ours = parents[ours]
    return {pid: parents[pid] not in found for pid in found}


def end(fleet: str, name: str) -> int:
    """End all processes of a member: asked first, then forced; until none was found twice in a row."""
    ended: set[int] = set()
    asked: set[int] = set()
    nothing, begun = 0, time.monotonic()
    while nothing < 2 and time.monotonic() - begun < 3 * GRACE_S:
        found = marked(fleet, name)
        nothing = 0 if found else nothing + 1
        force = time.monotonic() - begun > GRACE_S
        # It ends when the others have, and removes their semaphores; killed before, it would leave them.
        trackers = {pid for pid in found if _tracks(pid)}
        for pid, topmost in found.items():
            if force and trackers < found.keys() and pid in trackers:
                continue
            if force or (topmost and pid not in asked):
                asked.add(pid)
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL if force else signal.SIGTERM)
        ended |= found.keys()
        time.sleep(0.05)
    return len(ended)


def _tracks(pid: int) -> bool:
    """Whether it is the one that removes what Python's processes shared."""
    with suppress(OSError):
        return b"multiprocessing.resource_tracker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False
