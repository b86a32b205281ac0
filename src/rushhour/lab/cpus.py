"""The CPUs that are this process's: those that it may run on, and no more than its control groups let it use.

A container on a large machine may run on each of its CPUs and have the time of two. As many runs at once as
there are CPUs would each have a thirtieth of one, and the memory of all of them would be needed.
"""

from __future__ import annotations

import math
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_SELF, _GROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def own() -> list[int]:
    """Their numbers, ascending where all of the machine's are ours.

    Of a few among many each process begins at another one: others in such containers choose, too.
    """
    every = sorted(os.sched_getaffinity(0))
    share = quota()
    if share is None or share >= len(every):
        return every
    first, count = os.getpid() % len(every), max(1, math.ceil(share))
    return [every[(first + number) % len(every)] for number in range(count)]


def quota() -> float | None:
    """How many CPUs' time the control groups of this process allow; None: all of them."""
    shares = [share for folder in _folders() if (share := _second(folder) or _first(folder)) is not None]
    return min(shares, default=None)


def _folders() -> Iterator[Path]:
    """Where a limit may stand: this process's groups and those above, of either version.

    In a container its own group is the root, whatever the system calls it.
    """
    with suppress(OSError, ValueError):
        for line in _SELF.read_text(encoding="utf-8").splitlines():
            _, names, path = line.split(":", 2)
            if names and "cpu" not in names.split(","):
                continue
            mount = _GROUPS / names if names else _GROUPS
            below = mount / path.lstrip("/")
            yield from (folder for folder in (below, *below.parents) if folder.is_relative_to(mount))


def _second(folder: Path) -> float | None:
    """A limit of version 2: `max 100000`, or microseconds and the period that they are of."""
    with suppress(OSError, ValueError):
        allowed, period = (folder / "cpu.max").read_text(encoding="ascii").split()
        return int(allowed) / int(period)
    return None


def _first(folder: Path) -> float | None:
    """A limit of version 1: -1, or the same in two files."""
    with suppress(OSError, ValueError, ZeroDivisionError):
        allowed, period = (
            int((folder / f"cpu.cfs_{name}_us").read_text(encoding="ascii")) for name in ("quota", "period")
        )
        return allowed / period if allowed > 0 else None
    return None
