"""gzip whose bytes are the same with every Python."""

from __future__ import annotations

import gzip

_SYSTEM = 9  # its place in the header (RFC 1952, section 2.3); Python says "unknown" from 3.13 on
_UNIX = 3


def zipped(data: bytes, level: int = 9) -> bytes:
    """The data as gzip, without time and name."""
    made = bytearray(gzip.compress(data, compresslevel=level, mtime=0))
    made[_SYSTEM] = _UNIX
    return bytes(made)
