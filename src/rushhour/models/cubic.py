"""CUBIC's window and response function (RFC 9438). Range: no timeouts, 1e-8 ≲ p ≲ 1e-2."""

from __future__ import annotations

import math

# RFC 9438, section 4.6 and 4.1; Linux keeps them as 717/1024 and 410/1024.
BETA = 0.7
C = 0.4
MOST_LOSS = 0.02


def k_seconds(w_max: float, beta: float = BETA, c: float = C) -> float:
    """Time to grow back to `w_max` segments: ∛(W_max (1 - β) / C), if the loss was at `w_max`."""
    return math.cbrt(w_max * (1 - beta) / c)


def window_segments(t_s: float, w_max: float, beta: float = BETA, c: float = C) -> float:
    """W(t) = C (t - K)³ + W_max, t seconds after the reduction (RFC 9438, section 4.2)."""
    return c * (t_s - k_seconds(w_max, beta, c)) ** 3 + w_max


def own_window_segments(rtt_s: float, loss: float, beta: float = BETA, c: float = C) -> float:
    """Mean window of CUBIC's own region: ⁴√(C (3 + β) / (4 (1 - β))) · R^¾ / p^¾ (RFC 9438, 5.1)."""
    return math.pow(c * (3 + beta) / (4 * (1 - beta)), 0.25) * math.pow(rtt_s / loss, 0.75)


def friendly_alpha(beta: float = BETA) -> float:
    """Segments a round trip adds in the Reno-friendly region: 3 (1 - β) / (1 + β) (RFC 9438, section 4.3)."""
    return 3 * (1 - beta) / (1 + beta)


def friendly_window_segments(loss: float, beta: float = BETA) -> float:
    """Mean window of the Reno-friendly region: √(a (1 + β) / (2 (1 - β) p)), which is Reno's √(3/2)/√p."""
    return math.sqrt(friendly_alpha(beta) * (1 + beta) / (2 * (1 - beta) * loss))


def is_friendly(rtt_s: float, loss: float) -> bool:
    """Whether the Reno-friendly region rules: its window is the greater."""
    return friendly_window_segments(loss) >= own_window_segments(rtt_s, loss)


def mean_window_segments(rtt_s: float, loss: float, beta: float = BETA, c: float = C) -> float:
    """Mean window under loss probability p: the greater of the two regions (RFC 9438, section 4.3)."""
    return max(own_window_segments(rtt_s, loss, beta, c), friendly_window_segments(loss, beta))


def outside(loss: float) -> str | None:
    """Why the response function does not hold at this loss, or None."""
    if loss <= 0:
        return "without loss nothing but a limit bounds the window"
    return "beyond p = 0.02 timeouts rule, which the model leaves out" if loss > MOST_LOSS else None


def rate_bps(mss_bytes: float, rtt_s: float, loss: float) -> float:
    """Mean window over the round trip, in bit/s (RFC 9438, section 5.2)."""
    return mean_window_segments(rtt_s, loss) * mss_bytes * 8 / rtt_s
