"""What chance allows: the counts that independent trials give."""

from __future__ import annotations

import math
from statistics import NormalDist

_CONFIDENCE = 0.999
_MAX_EXACT = 1000


def binomial_interval(n: int, p: float, confidence: float = _CONFIDENCE) -> tuple[int, int]:
    """The counts that n trials of probability p give with at least this confidence, both ends included.

    Exact (sums of the binomial distribution) where n·p is small, else the normal approximation, whose error
    is then far below its width.
    """
    if n <= 0 or p <= 0:
        return 0, 0
    if p >= 1:
        return n, n
    if p > 0.5:
        low, high = binomial_interval(n, 1 - p, confidence)
        return n - high, n - low
    mean, tail = n * p, (1 - confidence) / 2
    spread = math.sqrt(mean * (1 - p)) * NormalDist().inv_cdf(1 - tail)
    if mean > _MAX_EXACT / 2 and n - mean > _MAX_EXACT / 2:
        return math.floor(mean - spread - 1), math.ceil(mean + spread + 1)
    low = high = 0
    below, log_p, log_q = 0.0, math.log(p), math.log1p(-p)
    base = math.lgamma(n + 1)
    for k in range(min(n, int(mean + 4 * spread) + 20) + 1):
        below += math.exp(base - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * log_p + (n - k) * log_q)
        low = k + 1 if below < tail else low
        high = k
        if below >= 1 - tail:
            break
    return low, high
