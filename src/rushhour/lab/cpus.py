"""The CPUs that are this process's: those that it may run on, and no more than its control groups let it use.

A container on a large machine may run on each of its CPUs and have the time of two. As many runs at once as
there are CPUs would each have a thirtieth of one, and the memory of all of them would be needed.
"""

from __future__ import annotations

import math
import os
from contextlib import suppress
from pathlib import Path

from rushhour.lab import cgroups


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
    with suppress(ValueError):
        folders = cgroups.folders(_text(cgroups.SELF), _text(cgroups.MOUNTS))
        names = (cgroups.MAX, cgroups.QUOTA, cgroups.PERIOD)
        files = {
            path: text for folder in folders for name in names if (text := _text(path := f"{folder}/{name}"))
        }
        return min(cgroups.processors(files), default=None)
    return None


def _text(path: str) -> str:
    """What a file says; nothing where it is not there."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""
