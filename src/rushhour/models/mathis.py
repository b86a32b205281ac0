"""Reno under random loss. Range: 1e-4 ≲ p ≲ 1e-2, no timeouts, no limit but the window."""

from __future__ import annotations

import math

# √(3/2): every segment acknowledged as such, periodic loss. Linux counts the segments an ACK covers, so
# delayed ACKs do not lower it; under random loss it is nearer to 1.31.
PERIODIC = math.sqrt(3 / 2)
RANDOM = 1.31
# The law is often quoted without its constant: MSS/(R √p).
UNIT = 1.0


LOSS_RANGE = (1e-5, 2e-2)


def outside(loss: float) -> str | None:
    """Why the law does not hold at this loss, or None."""
    low, high = LOSS_RANGE
    if loss <= 0:
        return "without loss nothing but a limit bounds the window"
    if loss > high:
        return f"beyond p = {high:g} timeouts rule; see PFTK"
    return f"below p = {low:g} a window takes hours to settle" if loss < low else None


def rate_bps(mss_bytes: float, rtt_s: float, loss: float, constant: float = PERIODIC) -> float:
    """BW = MSS/R · C/√p in bit/s (Mathis, Semke, Mahdavi, Ott, CCR 27(3), 1997)."""
    return mss_bytes * 8 / rtt_s * constant / math.sqrt(loss)


def constant(goodput_bps: float, mss_bytes: float, rtt_s: float, loss: float) -> float:
    """The C that a measured goodput has: the inverse of `rate_bps`."""
    return goodput_bps * rtt_s * math.sqrt(loss) / (mss_bytes * 8)


def window_segments(loss: float, constant: float = PERIODIC) -> float:
    """Mean window C/√p in segments."""
    return constant / math.sqrt(loss)
