"""Small charts of braille letters: each letter is 2 by 4 dots, so 60 letters show 120 instants."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    return _letters(dots)


class Canvas:
    """An area of `height` lines of `width` letters, on which lines of several colours are drawn.

    Places are parts of the width from the left, heights parts of the height from below.
    """

    def __init__(self, width: int, height: int) -> None:
        self._dots = np.zeros((4 * height, 2 * width), dtype=bool)
        self._colours: dict[tuple[int, int], str] = {}

    def cell(self, place: float, height: float) -> tuple[int, int]:
        """The line and the column of the letter that a point lies in."""
        row, column = self._dot(place, height)
        return row // 4, column // 2

    def join(self, places: Sequence[float], heights: Sequence[float], colour: str) -> None:
        """Draw straight lines from point to point; a height of nan is a gap."""
        spots = list(zip(places, heights, strict=True))
        for (x0, y0), (x1, y1) in pairwise(spots):
            if math.isnan(y0) or math.isnan(y1):
                continue
            (row, column), (to_row, to_column) = self._dot(x0, y0), self._dot(x1, y1)
            steps = max(abs(to_row - row), abs(to_column - column), 1)
            for step in range(steps + 1):
                at = (
                    round(row + (to_row - row) * step / steps),
                    round(column + (to_column - column) * step / steps),
                )
                self._dots[at] = True
                self._colours[at[0] // 4, at[1] // 2] = colour

    def lines(self) -> list[list[tuple[str, str]]]:
        """Each line's letters with their colours; of a letter that several cross, that of the last."""
        return [
            [(letter, self._colours.get((row, column), "")) for column, letter in enumerate(line)]
            for row, line in enumerate(_letters(self._dots))
        ]

    def _dot(self, place: float, height: float) -> tuple[int, int]:
        rows, columns = self._dots.shape
        return (
            int(np.clip(round((1 - height) * (rows - 1)), 0, rows - 1)),
            int(np.clip(round(place * (columns - 1)), 0, columns - 1)),
        )


def _letters(dots: NDArray[np.bool_]) -> list[str]:
    """Dots, four rows and two columns to a letter, as lines of letters."""
    height, width = dots.shape[0] // 4, dots.shape[1] // 2
    letters = (dots.reshape(height, 4, width, 2).transpose(0, 2, 1, 3) * _DOTS).sum(axis=(2, 3))
    # A letter without dots is a space: some fonts draw empty circles for it.
    return ["".join(chr(0x2800 + int(code)) if code else " " for code in line) for line in letters]


def _ranges(curve: Curve, columns: int, duration_s: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Least and greatest value within each of `columns` equal times, joined to their neighbours."""
    low, high = np.full(columns, np.nan), np.full(columns, np.nan)
    # The last reading comes just after the end, and of equal ones it is all that was kept.
    until = duration_s * (1 + 1 / columns)
    inside = (curve.t_s >= 0) & (curve.t_s <= until) & ~np.isnan(curve.values)
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
