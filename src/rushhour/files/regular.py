"""Files of strangers: opened only where they are files, read only as far as they are long.

What a folder from elsewhere holds may be a pipe that never says anything, a device without an end, or a link
to one of the system's own files that look like any other.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from io import BufferedReader
    from pathlib import Path


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file for reading; what waits for others is never waited for.

    Raises:
        OSError: there is none, it cannot be read, or it is not a regular file.
    """
    # Without O_NONBLOCK the opening of a pipe waits for whoever writes into it.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return os.fdopen(handle, "rb")


def checksum(path: Path) -> str:
    """The SHA-256 of a regular file's content, in hexadecimal; `sums.sum_of` remembers it.

    Raises:
        OSError: it cannot be read, or is not a regular file.
    """
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_regular(path: Path, most: int) -> bytes:
    """The content of a regular file, as long as the file system says it is.

    Raises:
        OSError: it cannot be read, or holds more than `most` bytes.
    """
    with open_regular(path) as file:
        # Files of /proc say that they are empty, and some of them have no end.
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise OSError(errno.EFBIG, f"it has more than {most >> 20} MiB", str(path))
        return file.read(size)
