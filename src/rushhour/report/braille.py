"""Small charts of braille letters: each letter is 2 by 4 dots, so 60 letters show 120 instants."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rushhour.report.curves import Curve

# The bit of each dot: rows from the top, left and right column (Unicode, block Braille Patterns).
_DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])


def chart(curve: Curve, width: int, height: int, duration_s: float, top: float) -> list[str]:
    """The curve as `height` lines of `width` letters: from the least to the greatest value of each instant.

    Args:
        curve: What is drawn; gaps stay empty.
        width: Letters in a line.
        height: Lines.
        duration_s: The time that the width stands for, from 0.
        top: The value at the upper edge; the lower edge is 0.
    """
    low, high = _ranges(curve, 2 * width, duration_s)
    dots = np.zeros((4 * height, 2 * width), dtype=bool)
    scale = (4 * height - 1) / top if top > 0 else 0.0
    for column in np.flatnonzero(~np.isnan(low)):
        first, last = (
            int(np.clip(round(value * scale), 0, 4 * height - 1)) for value in (low[column], high[column])
        )
        dots[4 * height - 1 - last : 4 * height - first, column] = True
    letters = (dots.reshape(height, 4, width, 2).transpose(0, 2, 1, 3) * _DOTS).sum(axis=(2, 3))
    # A letter without dots is a space: some fonts draw empty circles for it.
    return ["".join(chr(0x2800 + int(code)) if code else " " for code in line) for line in letters]


def _ranges(curve: Curve, columns: int, duration_s: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Least and greatest value within each of `columns` equal times, joined to their neighbours."""
    low, high = np.full(columns, np.nan), np.full(columns, np.nan)
    inside = (curve.t_s >= 0) & (curve.t_s <= duration_s) & ~np.isnan(curve.values)
    t_s, values = curve.t_s[inside], curve.values[inside]
    if len(t_s) == 0 or duration_s <= 0:
        return low, high
    place = np.minimum((t_s * (columns / duration_s)).astype(int), columns - 1)
    np.fmin.at(low, place, values)
    np.fmax.at(high, place, values)
    if curve.shape == "points":
        return low, high
    return _joined(
        low,
        high,
        int(place[0]),
        int(place[-1]),
        values[np.searchsorted(place, np.arange(columns), side="right") - 1],
    )


def _joined(
    low: NDArray[np.float64], high: NDArray[np.float64], first: int, last: int, ends: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    # A column without samples holds the value before it; every column reaches to where the one before ended.
    for column in range(first + 1, last + 1):
        before = ends[column - 1]
        low[column] = min(before, low[column]) if not np.isnan(low[column]) else before
        high[column] = max(before, high[column]) if not np.isnan(high[column]) else before
    return low, high
