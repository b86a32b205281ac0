"""DCTCP in its steady state (Alizadeh et al., SIGCOMM 2010; RFC 8257).

Range: N long flows of one round-trip time that saw in step, marks by the queue of the moment at a threshold
of K packets, windows well above the two segments that are DCTCP's least. Delayed ACKs and a queue that marks
by an average (RED with a weight below 1) make the loop longer, and its amplitude greater.
"""

from __future__ import annotations

import math

LEAST_WINDOW = 8.0  # segments; below, the sawtooth is a few whole ones, which no fluid model sees


def critical_window(rate_pps: float, rtt_s: float, threshold: float, flows: int = 1) -> float:
    """W* = (C·RTT + K) / N: the window in segments at which the queue reaches K and marks."""
    return (rate_pps * rtt_s + threshold) / flows


def alpha(window: float) -> float:
    """The fraction of marked segments in steady state: a² (1 - a/4) = (2W* + 1) / (W* + 1)²."""
    wanted = (2 * window + 1) / (window + 1) ** 2
    low, high = 0.0, 1.0  # the left side rises on [0, 1]
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if middle**2 * (1 - middle / 4) < wanted else (low, middle)
    return high


def alpha_approximate(window: float) -> float:
    """The same for small fractions: √(2/W*)."""
    return math.sqrt(2 / window)


def amplitude(rate_pps: float, rtt_s: float, threshold: float, flows: int = 1) -> float:
    """Packets between the queue's greatest and least: N (W* + 1) alpha / 2, about ½ √(2N (C·RTT + K))."""
    window = critical_window(rate_pps, rtt_s, threshold, flows)
    return flows * (window + 1) * alpha(window) / 2


def queue_range(rate_pps: float, rtt_s: float, threshold: float, flows: int = 1) -> tuple[float, float]:
    """Least and greatest queue in packets: Q_max = K + N, Q_min = Q_max - amplitude, not below 0."""
    top = threshold + flows
    return max(0.0, top - amplitude(rate_pps, rtt_s, threshold, flows)), top


def least_threshold(rate_pps: float, rtt_s: float) -> float:
    """K below which the queue runs empty and the link idles: C·RTT / 7 packets."""
    return rate_pps * rtt_s / 7


def marked_window_segments(mark: float) -> float:
    """Mean window when every segment is marked with probability p, whatever the window: 2/p.

    A round trip adds 1 to a window of W and takes alpha/2 = p/2 of it, which balances at W = 2/p.
    """
    return 2 / mark


def outside(rate_pps: float, rtt_s: float, threshold: float, flows: int = 1) -> str | None:
    """Why the steady state is not that of the model, or None."""
    if critical_window(rate_pps, rtt_s, threshold, flows) < LEAST_WINDOW:
        return f"windows below {LEAST_WINDOW:g} segments: the sawtooth is a few whole segments"
    if threshold < least_threshold(rate_pps, rtt_s):
        return "the threshold is below C·RTT/7: the queue runs empty between marks"
    return None
