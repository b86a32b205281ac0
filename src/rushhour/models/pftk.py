"""Reno under random loss with timeouts: PFTK (Padhye, Firoiu, Towsley, Kurose, SIGCOMM 1998).

Packets lost in one round trip are one loss, those of different round trips independent; what is given is the
*send* rate, retransmissions included. Range: bulk transfers of Reno, p ≲ 0.1, a path whose round trip does
not depend on the window. A sender with SACK, RACK and tail-loss probes (Linux) has fewer timeouts than the
model counts and lies above it, nearer to the root law.
"""

from __future__ import annotations

import math

# Segments per ACK, as the window counts them: Linux counts every segment an ACK covers.
DELAYED, COUNTED = 2, 1
MIN_RTO_S = 0.2  # Linux's least retransmission timeout (TCP_RTO_MIN), above the smoothed RTT
MOST_LOSS = 0.1


def timeout_s(rtt_s: float, least_s: float = MIN_RTO_S) -> float:
    """T0 of an undisturbed path as Linux has it: RTT plus the floor of the four deviations (RFC 6298)."""
    return rtt_s + least_s


def full_rate_bps(
    mss_bytes: float,
    rtt_s: float,
    loss: float,
    t0_s: float,
    *,
    w_max: float = math.inf,
    b: int = COUNTED,
) -> float:
    """Send rate in bit/s by the full model (equations 28 to 32 of the paper; 0 < p < 1).

    Args:
        mss_bytes: Payload of a segment.
        rtt_s: Round-trip time.
        loss: Probability p that a segment is the first one lost of its round.
        t0_s: First retransmission timeout T0.
        w_max: Largest window in segments, the receiver's.
        b: Segments per ACK.
    """
    unlimited = _mean_peak_window(loss, b)
    window = min(unlimited, w_max)
    timeout = _timeout_share(window, loss)
    packets = (1 - loss) / loss + window + timeout / (1 - loss)
    rounds = b / 2 * unlimited + 1
    if unlimited >= w_max:
        rounds = b / 8 * w_max + (1 - loss) / (loss * w_max) + 2
    seconds = rtt_s * rounds + timeout * t0_s * _backoff(loss) / (1 - loss)
    return packets / seconds * mss_bytes * 8


def rate_bps(
    mss_bytes: float,
    rtt_s: float,
    loss: float,
    t0_s: float,
    *,
    w_max: float = math.inf,
    b: int = COUNTED,
) -> float:
    """Send rate in bit/s by the approximate model (equation 33): arguments as for `full_rate_bps`.

    min(W_max/R, 1 / (R √(2bp/3) + T0 min(1, 3 √(3bp/8)) p (1 + 32p²))) segments a second.
    """
    root = rtt_s * math.sqrt(2 * b * loss / 3)
    timeouts = t0_s * min(1.0, 3 * math.sqrt(3 * b * loss / 8)) * loss * (1 + 32 * loss**2)
    return min(w_max / rtt_s, 1 / (root + timeouts)) * mss_bytes * 8


def tfrc_rate_bps(segment_bytes: float, rtt_s: float, loss: float) -> float:
    """The throughput equation of TFRC in bit/s: the approximate model with T0 = 4R, b = 1 (RFC 5348, 3.1)."""
    root = rtt_s * math.sqrt(2 * loss / 3)
    timeouts = 4 * rtt_s * 3 * math.sqrt(3 * loss / 8) * loss * (1 + 32 * loss**2)
    return segment_bytes * 8 / (root + timeouts)


def outside(loss: float) -> str | None:
    """Why the model does not hold at this loss, or None."""
    if loss <= 0:
        return "without loss nothing but a limit bounds the window"
    if loss > MOST_LOSS:
        return f"beyond p = {MOST_LOSS:.0%} most rounds end in a timeout, and the model's windows are below 3"
    return None


def _mean_peak_window(loss: float, b: int) -> float:
    """E[W_u]: mean window at the end of a period between losses (equation 13)."""
    step = (2 + b) / (3 * b)
    return step + math.sqrt(8 * (1 - loss) / (3 * b * loss) + step**2)


def _timeout_share(window: float, loss: float) -> float:
    """Q(w): probability that a loss in a window of w is found by a timeout (equation 24)."""
    if window <= 3:
        return 1.0
    kept = math.pow(1 - loss, 3)
    found = (1 - kept) * (1 + kept * (1 - math.pow(1 - loss, window - 3))) / (1 - math.pow(1 - loss, window))
    return min(1.0, found)


def _backoff(loss: float) -> float:
    """f(p): mean length of a series of timeouts in T0, doubling up to 64 T0 (equation 29)."""
    return 1 + math.fsum(math.ldexp(math.pow(loss, power + 1), power) for power in range(6))
