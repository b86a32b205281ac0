"""Which CPU a worker's run is done on: each has one of its own, where workers share a cache."""

from __future__ import annotations

import fcntl
import os
import platform
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from rushhour.files import cache

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def free() -> Iterator[int | None]:
    """A CPU that no other run of this user has; None where all are taken, or nothing can be locked."""
    taken: int | None = None
    handle = -1
    for cpu in sorted(os.sched_getaffinity(0)):
        with suppress(OSError):
            # By the machine's name: caches may lie on a shared file system.
            path = cache.folder("fleet", "cpus", f"{platform.node()}-{cpu}")
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(handle)
                continue
            taken = cpu
            break
    try:
        yield taken
    finally:
        if taken is not None:
            os.close(handle)
