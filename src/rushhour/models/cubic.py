"""CUBIC's window (RFC 9438). Range: congestion avoidance; mean window without timeouts."""

from __future__ import annotations

import math

# RFC 9438, section 4.6 and 4.1; Linux keeps them as 717/1024 and 410/1024.
BETA = 0.7
C = 0.4


def k_seconds(w_max: float, beta: float = BETA, c: float = C) -> float:
    """Time to grow back to `w_max` segments: ∛(W_max (1 - β) / C), if the loss was at `w_max`."""
    return math.cbrt(w_max * (1 - beta) / c)


def window_segments(t_s: float, w_max: float, beta: float = BETA, c: float = C) -> float:
    """W(t) = C (t - K)³ + W_max, t seconds after the reduction (RFC 9438, section 4.2)."""
    return c * (t_s - k_seconds(w_max, beta, c)) ** 3 + w_max


def mean_window_segments(rtt_s: float, loss: float, beta: float = BETA, c: float = C) -> float:
    """Mean window under loss probability p, the greater of CUBIC's own and its Reno-friendly region.

    ⁴√(C (3 + β) / (4 (1 - β))) · R^¾ / p^¾ (RFC 9438, section 5.1) and √(3/2) / √p.
    """
    own = math.pow(c * (3 + beta) / (4 * (1 - beta)), 0.25) * math.pow(rtt_s / loss, 0.75)
    return max(own, math.sqrt(1.5 / loss))
