"""Files by content: a kernel's image, the agent, programs; sent once to a worker, and kept in its cache.

Several workers may share a cache; a file that was damaged there is not known, and is sent again.
"""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from rushhour.errors import LabError, RecordError
from rushhour.files import cache, rooms
from rushhour.files.sums import sum_of

if TYPE_CHECKING:
    from pathlib import Path

_NAME = re.compile(r"[0-9a-f]{64}")


def place(digest: str) -> Path:
    """Where the file with this SHA-256 lies, whether it is there or not."""
    if not _NAME.fullmatch(digest):
        raise RecordError(f"{digest[:80]!r} is no SHA-256")
    return cache.folder("fleet", "blobs", digest[:2], digest)


def has(digest: str) -> bool:
    """Whether this machine has the file, every byte of it."""
    with suppress(OSError):
        return sum_of(place(digest)) == digest
    return False


def put(digest: str, data: bytes) -> None:
    """Keep a file.

    Raises:
        RecordError: it is another one.
        LabError: it cannot be written; the cause is the `OSError`.
    """
    if hashlib.sha256(data).hexdigest() != digest:
        raise RecordError(f"the file that came is not the one with the SHA-256 {digest[:12]}…")
    path = place(digest)
    try:
        with rooms.room(path.parent) as room:
            new = room / "file"
            new.write_bytes(data)
            new.chmod(0o555)
            new.replace(path)
    except OSError as error:
        raise LabError(
            f"a file of the sweep cannot be kept: {error.strerror}", where=str(path), hint=cache.HINT
        ) from error
