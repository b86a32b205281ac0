"""How curves travel inside the HTML page: `rushhour-series/1`.

A run is one text: base64 of gzip of a `u32` little-endian length, a JSON header of that length, and columns.
A column of *n* numbers is `4·n` bytes: each number divided by the column's scale and rounded to an `i32`
(nan is -2³¹), the difference to its predecessor modulo 2³², zigzag (so that small differences of either sign
are small numbers), then all first bytes, all second, all third, all fourth. Slowly changing columns become
long runs of zeros, which gzip removes. Whole numbers below 2³¹ are kept exactly, others to one part in ten
million of the largest; time to the microsecond.
"""

from __future__ import annotations

import base64
import gzip
import json
import math
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from rushhour.files.zipped import zipped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Columns = list[tuple[NDArray[np.float64], float]]

FORMAT = "rushhour-series/1"
_MISSING = -(2**31)
_LARGEST = 2**31 - 2


def pack(header: dict[str, Any], columns: Sequence[tuple[NDArray[np.float64], float]]) -> str:
    """A run as text: the header (anything JSON) and columns, each with its scale.

    The header gains `format` and `columns`: a list of `[n, scale]` in the order given.
    """
    sizes = [[len(values), scale] for values, scale in columns]
    head = json.dumps(
        {"format": FORMAT, **header, "columns": sizes}, separators=(",", ":"), ensure_ascii=False
    ).encode()
    body = b"".join(_column(values, scale) for values, scale in columns)
    raw = struct.pack("<I", len(head)) + head + body
    return base64.b64encode(zipped(raw, 6)).decode("ascii")


def unpack(text: str) -> tuple[dict[str, Any], list[NDArray[np.float64]]]:
    """The header and columns of a packed run: what the page does, for tests and for tools that read pages."""
    raw = gzip.decompress(base64.b64decode(text))
    (length,) = struct.unpack_from("<I", raw)
    header: dict[str, Any] = json.loads(raw[4 : 4 + length])
    columns, offset = [], 4 + length
    for size, scale in header["columns"]:
        columns.append(_values(raw[offset : offset + 4 * size], scale))
        offset += 4 * size
    return header, columns


def time_scale(duration_s: float) -> float:
    """The scale of a time column: a microsecond, coarser where an `i32` would not reach the end."""
    return 1e-6 * _coarser(duration_s * 1e6)


def value_scale(values: NDArray[np.float64]) -> float:
    """The scale of a value column: 1 for whole numbers, else a power of ten, seven digits finer."""
    finite = values[np.isfinite(values)]
    largest = float(np.max(np.abs(finite), initial=0.0))
    # Below this a power of ten seven digits finer is no normal number any more.
    if largest < 1e-290:
        return 1.0
    if np.array_equal(finite, np.rint(finite)):
        return _coarser(largest)
    return float(10.0 ** (math.floor(math.log10(largest)) - 7))


def _coarser(largest: float) -> float:
    return 1.0 if largest <= _LARGEST else 10.0 ** math.ceil(math.log10(largest / _LARGEST))


def _column(values: NDArray[np.float64], scale: float) -> bytes:
    finite = np.isfinite(values)
    known = values if finite.all() else np.where(finite, values, 0.0)
    whole = np.rint(known / scale).clip(-_LARGEST, _LARGEST).astype(np.int64)
    if known is not values:
        whole[~finite] = _MISSING
    step = whole.copy()
    step[1:] -= whole[:-1]
    step = step.astype(np.uint32).view(np.int32)
    zigzag = ((step << 1) ^ (step >> 31)).astype("<i4")
    return zigzag.view(np.uint8).reshape(-1, 4).T.tobytes()


def _values(data: bytes, scale: float) -> NDArray[np.float64]:
    planes = np.frombuffer(data, dtype=np.uint8).reshape(4, -1)
    zigzag = np.ascontiguousarray(planes.T).view("<u4").reshape(-1)
    step = (zigzag >> np.uint32(1)) ^ (np.uint32(0) - (zigzag & np.uint32(1)))
    whole = np.cumsum(step, dtype=np.uint32).view(np.int32)
    values = whole.astype(np.float64) * scale
    values[whole == _MISSING] = np.nan
    return values
