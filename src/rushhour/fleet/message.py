"""Messages between the controller and workers: a JSON object and pieces of bytes, with a checksum over all.

Takes and gives bytes. Nothing in a message is code: what is read here cannot do anything.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from typing import TYPE_CHECKING, Any

from rushhour.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FORMAT = "rushhour-fleet/1"
_MAGIC = b"RHF1"
_SUM = 32
# Less gains nothing.
_SMALL = 512
# Of zlib: tables shrink to a quarter by the quickest, and hardly further by others.
_LEVEL = 1
_LARGEST = 1 << 32


def pack(header: Mapping[str, Any], pieces: Sequence[bytes] = ()) -> bytes:
    """A message of a header that JSON can hold, and of pieces."""
    packed = [_shrunk(piece) for piece in pieces]
    about = {
        "format": FORMAT,
        "header": header,
        "pieces": [[len(piece), len(small)] for piece, small in zip(pieces, packed, strict=True)],
    }
    told = zlib.compress(json.dumps(about, separators=(",", ":")).encode(), _LEVEL)
    body = b"".join([_MAGIC, len(told).to_bytes(8, "big"), told, *packed])
    return body + hashlib.sha256(body).digest()


def unpack(data: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """The header and the pieces of a message.

    Raises:
        RecordError: it is none, or was damaged on its way.
    """
    body = memoryview(data)[:-_SUM]
    if bytes(body[:4]) != _MAGIC or hashlib.sha256(body).digest() != bytes(data[-_SUM:]):
        raise RecordError("a message of the fleet was damaged on its way")
    end = 12 + int.from_bytes(body[4:12], "big")
    about = json.loads(_grown(bytes(body[12:end]), None))
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise RecordError("a message of the fleet has a format that this program does not read")
    pieces, place = [], end
    for size, small in about["pieces"]:
        piece = bytes(body[place : place + small])
        pieces.append(piece if size == small else _grown(piece, size))
        place += small
    return about["header"], pieces


def _shrunk(piece: bytes) -> bytes:
    if len(piece) < _SMALL:
        return piece
    small = zlib.compress(piece, _LEVEL)
    return small if len(small) < len(piece) else piece


def _grown(piece: bytes, size: int | None) -> bytes:
    """Decompressed, and no longer than was said: a small message must not fill the memory."""
    most = _LARGEST if size is None else size
    reader = zlib.decompressobj()
    try:
        found = reader.decompress(piece, most + 1)
    except zlib.error as error:
        raise RecordError(f"a message of the fleet is damaged: {error}") from error
    if len(found) > most or (size is not None and len(found) != size):
        raise RecordError("a message of the fleet does not hold what it says")
    return found
