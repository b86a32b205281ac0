"""The rule for real time: repetitions that share nothing but their cell.

No two runs on a real machine are equal, and a run of one side has no partner on the other. So all values of
both sides are held against each other, without a word about how they are distributed.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from rushhour.summary.distributions import normal_quantile
from rushhour.verdict.rule import Estimate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# Up to so many pairs (25 against 25) the distribution of U is counted out, in numbers that doubles hold
# exactly; beyond, it is normal to the third digit.
_EXACT = 625
POWER = 0.8
"""Chance with which a change of the least size that matters is to be found (`needed`)."""


def unpaired(base: ArrayLike, candidate: ArrayLike, confidence: float) -> Estimate:
    """The shift from base [m] to candidate [n]: Hodges and Lehmann's estimate, p by Mann and Whitney.

    The estimate is the median of all m·n differences (Annals of Mathematical Statistics 34, 1963), its
    interval lies between the differences that a Mann-Whitney test at this confidence would not refuse, so it
    leaves zero out just where the test does (Lehmann, Nonparametrics, 1975, chapter 2.6). `base` of the
    estimate is the median.
    """
    x, y = np.asarray(base, np.float64), np.asarray(candidate, np.float64)
    shifts = np.sort(np.subtract.outer(y, x).ravel())
    centre, shift = float(np.median(x)), float(np.median(shifts))
    count = min(len(x), len(y))
    p = mann_whitney(x, y)
    cut = _cut(len(x), len(y), 1 - confidence)
    if cut == 0:
        return Estimate(count, centre, shift, -math.inf, math.inf, p)
    return Estimate(count, centre, shift, float(shifts[cut - 1]), float(shifts[-cut]), p)


def mann_whitney(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Two-sided p of Mann and Whitney's test: exact without ties, else by the normal approximation.

    The approximation corrects the variance for ties and U for being a whole number (Lehmann, Nonparametrics,
    1975, chapter 1.4).
    """
    m, n = len(x), len(y)
    together = np.concatenate([x, y])
    if np.ptp(together) == 0:
        return 1.0
    shifts = np.subtract.outer(x, y)
    wins = float(np.sum(shifts > 0) + np.sum(shifts == 0) / 2)
    u = max(wins, m * n - wins)
    _, ties = np.unique(together, return_counts=True)
    if m * n <= _EXACT and (ties == 1).all():
        above = float(_counts(m, n)[int(u) :].sum()) / math.comb(m + n, m)
        return min(1.0, 2 * above)
    tied = float(np.sum(ties**3 - ties)) / ((m + n) * (m + n - 1))
    spread = math.sqrt(m * n / 12 * (m + n + 1 - tied))
    return min(1.0, math.erfc((u - m * n / 2 - 0.5) / spread / math.sqrt(2)))


def needed(base: ArrayLike, candidate: ArrayLike, least: float, level: float) -> int | None:
    """How many repetitions of each side would find a change by `least`, four times out of five.

    Noether, "Sample size determination for some common nonparametric tests", JASA 82, 1987: for two sides of
    equal size n = (z + z')² / (6 (P - ½)²), z and z' the normal quantiles of 1 - level/2 and of the power,
    P how often a value of the candidate, moved by `least` from where the base lies, is above one of the
    base. None where P is ½: no number would do.
    """
    x, y = np.asarray(base, np.float64), np.asarray(candidate, np.float64)
    moved = y - (np.median(y) - np.median(x)) + least
    above = np.subtract.outer(moved, x)
    p = float(np.mean(above > 0) + np.mean(above == 0) / 2)
    if p <= 0.5:
        return None
    quantiles = normal_quantile(1 - level / 2) + normal_quantile(POWER)
    return max(math.ceil(quantiles**2 / (6 * (p - 0.5) ** 2)), _fewest(level))


def _fewest(level: float) -> int:
    """The least n for which n against n values can be significant at all: 2 / C(2n, n) ≤ level."""
    count = 2
    while 2 / math.comb(2 * count, count) > level:
        count += 1
    return count


def _cut(m: int, n: int, alpha: float) -> int:
    """How many differences lie outside the interval on each side: the greatest k with P(U < k) ≤ alpha/2."""
    if m * n <= _EXACT:
        below = np.cumsum(_counts(m, n)) / math.comb(m + n, m)
        return int(np.searchsorted(below, alpha / 2, side="right"))
    spread = math.sqrt(m * n * (m + n + 1) / 12)
    return max(0, math.floor(m * n / 2 + normal_quantile(alpha / 2) * spread))


@cache
def _counts(m: int, n: int) -> NDArray[np.float64]:
    """How many orders of m and n values give U = 0 … m·n: the coefficients of the Gaussian binomial."""
    counts = np.zeros(m * n + 1)
    counts[0] = 1.0
    for k in range(1, m + 1):
        # times (1 - q^(n+k)), divided by (1 - q^k)
        counts[n + k :] -= counts[: -(n + k)].copy() if n + k <= m * n else 0
        for place in range(k, m * n + 1):
            counts[place] += counts[place - k]
    return counts
