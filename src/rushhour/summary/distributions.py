"""Student's t and the normal distribution, to the last digits of a double.

Nothing else of a statistics library is needed here, and the usual one (SciPy) is two thirds of a second to
import and twice as large as all else that a run needs. The tests hold every function against it.
"""

from __future__ import annotations

import math
from functools import cache

# Terms of the continued fraction; it converges in some √(freedom) of them.
_TERMS = 100_000
_LEAST = 1e-300


def student_two_sided(freedom: float, t: float) -> float:
    """How likely Student's t with so many degrees of freedom lies at least so far from zero, either way.

    I_x(f/2, 1/2), x = f / (f + t²): NIST's Digital Library of Mathematical Functions, 8.17(i).
    """
    square = t * t
    if math.isinf(square):
        return 0.0
    outer, inner = freedom / (freedom + square), square / (freedom + square)
    # The fraction converges fast on the side of the mean only.
    if outer < (freedom / 2 + 1) / (freedom / 2 + 2.5):
        return _incomplete_beta(outer, inner, freedom / 2, 0.5)
    return 1.0 - _incomplete_beta(inner, outer, 0.5, freedom / 2)


@cache
def student_quantile(freedom: float, p: float) -> float:
    """The t that a value of Student's t with so many degrees of freedom stays below with probability `p`."""
    if p < 0.5:
        return -student_quantile(freedom, 1 - p)
    outside = 2 * (1 - p)
    if outside == 1:
        return 0.0
    low, high = 0.0, 1.0
    while student_two_sided(freedom, high) > outside:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        if student_two_sided(freedom, middle) > outside:
            low = middle
        else:
            high = middle
    return high


def normal_quantile(p: float) -> float:
    """The z that a standard normal value stays below with probability `p`."""
    from statistics import NormalDist  # noqa: PLC0415 - slow to import, and one run needs none

    return NormalDist().inv_cdf(p)


def _incomplete_beta(x: float, rest: float, a: float, b: float) -> float:
    """I_x(a, b), `rest` being 1 - x, for x below about the mean (a + 1) / (a + b + 2).

    By the continued fraction 8.17.22 of the DLMF, evaluated from its front (Lentz's method, modified by
    Thompson and Barnett, Journal of Computational Physics 64, 1986).
    """
    if x == 0:
        return 0.0
    logarithm = a * math.log(x) + b * math.log(rest) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    numerator, denominator, fraction = 1.0, 0.0, 1.0
    for term in range(_TERMS):
        half = term // 2
        if term == 0:
            coefficient = 1.0
        elif term % 2:
            coefficient = -(a + half) * (a + b + half) * x / ((a + term - 1) * (a + term))
        else:
            coefficient = half * (b - half) * x / ((a + term - 1) * (a + term))
        denominator = 1 + coefficient * denominator
        denominator = 1 / (denominator if abs(denominator) > _LEAST else _LEAST)
        numerator = 1 + coefficient / numerator
        numerator = numerator if abs(numerator) > _LEAST else _LEAST
        step = numerator * denominator
        fraction *= step
        if term and abs(step - 1) < 1e-16:
            break
    return math.exp(logarithm) * (fraction - 1) / a
