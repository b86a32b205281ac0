"""Where the level of a series of numbers changes, by optimal partitioning.

The series is divided so that the squared deviations from the means of its pieces, and a penalty for each
piece, are least in sum: exactly, by going through all places (Jackson and others, "An algorithm for optimal
partitioning of data on an interval", IEEE Signal Processing Letters 12, 2005). PELT (Killick, Fearnhead,
Eckley, JASA 107, 2012) finds the same optimum and looks at fewer places; histories are too short for that to
matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def changes_of_level(values: NDArray[np.float64], penalty: float, least: int = 1) -> list[int]:
    """The places in values [n] at which a new level begins, in order.

    Args:
        values: In units of their noise.
        penalty: What a change must lower the squared deviations by, at least.
        least: Values on each level, at least.
    """
    count = len(values)
    centred = values - values.mean()  # sums of squares lose digits far from zero
    sums = np.concatenate([[0.0], np.cumsum(centred)])
    squares = np.concatenate([[0.0], np.cumsum(centred**2)])
    best = np.full(count + 1, np.inf)
    best[0] = -penalty
    begin = np.zeros(count + 1, np.int64)
    for end in range(least, count + 1):
        starts = np.arange(0, end - least + 1)
        deviations = squares[end] - squares[starts] - (sums[end] - sums[starts]) ** 2 / (end - starts)
        total = best[starts] + deviations + penalty
        begin[end] = starts[np.argmin(total)]
        best[end] = total[begin[end]]
    found: list[int] = []
    place = count
    while (place := int(begin[place])) > 0:
        found.insert(0, place)
    return found
