"""Queues that are full and offered loads that are too high. Range: one FIFO, long after the start."""

from __future__ import annotations


def full_queue_delay_s(limit_bytes: float, rate_bps: float) -> float:
    """Delay behind a FIFO of this limit when it is full: 8B/C."""
    return limit_bytes * 8 / rate_bps


def overload_loss(offered_bps: float, rate_bps: float) -> float:
    """Fraction that an unresponsive load loses at a bottleneck: 1 - C/offered, 0 below the rate."""
    return max(0.0, 1 - rate_bps / offered_bps)


def reno_utilization(buffer_bdp: float) -> float:
    """Utilization by one Reno flow against a FIFO of `buffer_bdp` bandwidth-delay products.

    The mean of the AIMD sawtooth between W/2 and W, W = (1 + b)·BDP: 0.75 (1 + b)² / (1 + b + b²) for b ≤ 1,
    and 1 above (Appenzeller, Keslassy, McKeown, SIGCOMM 2004, for the limit b = 1).
    """
    b = buffer_bdp
    return 1.0 if b >= 1 else 0.75 * (1 + b) ** 2 / (1 + b + b * b)
