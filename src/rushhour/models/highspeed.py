"""HighSpeed TCP (RFC 3649). Range: the response function above a window of 38 segments; below, Reno's.

The RFC counts round trips; Linux adds a(w)/w an ACK, so with delayed ACKs, one for two segments, its window
grows at half the pace: `window_segments` takes how many segments an ACK covers.
"""

from __future__ import annotations

import math

LOW_WINDOW, HIGH_WINDOW = 38, 83000
LOW_P, HIGH_P = 1e-3, 1e-7
HIGH_DECREASE = 0.1
# S of section 5: slope of the response function between the two points, -0.8352; in print -0.835.
S = (math.log(HIGH_WINDOW) - math.log(LOW_WINDOW)) / (math.log(HIGH_P) - math.log(LOW_P))
MOST_LOSS = 0.02
ACKED, DELAYED = 1, 2
RENO = 1.2  # of the response function of standard TCP (section 3)
# Linux keeps the steps of appendix B: the window from which a(w) is one more, and b(w) in 256ths.
STEPS = (
    (38, 128),
    (118, 112),
    (221, 104),
    (347, 98),
    (495, 93),
    (663, 89),
    (851, 86),
    (1058, 83),
    (1284, 81),
    (1529, 78),
    (1793, 76),
    (2076, 74),
    (2378, 72),
    (2699, 71),
    (3039, 69),
    (3399, 68),
    (3778, 66),
    (4177, 65),
    (4596, 64),
)


def window_segments(loss: float, delayed: int = ACKED) -> float:
    """Mean window at loss probability p: (p / Low_P)^S · Low_Window; from Low_P on Reno's 1.2/√p.

    `delayed` is how many segments an ACK covers where growth is counted in ACKs (Linux): the growth of a
    round trip is divided by it, so the loss that holds a window falls by it, and Reno's window by its root.
    """
    scaled = loss * delayed
    if scaled >= LOW_P:
        return RENO / math.sqrt(scaled)
    return LOW_WINDOW * math.pow(scaled / LOW_P, S)


def outside(loss: float) -> str | None:
    """Why the response function does not hold at this loss, or None."""
    if loss <= 0:
        return "without loss nothing but a limit bounds the window"
    return "beyond p = 0.02 timeouts rule, which the model leaves out" if loss > MOST_LOSS else None


def decrease(window: float) -> float:
    """b(w): the share of the window that a loss takes, 0.5 at 38 segments to 0.1 at 83000 (section 5)."""
    if window <= LOW_WINDOW:
        return 0.5
    place = (math.log(window) - math.log(LOW_WINDOW)) / (math.log(HIGH_WINDOW) - math.log(LOW_WINDOW))
    return (HIGH_DECREASE - 0.5) * place + 0.5


def increase(window: float) -> float:
    """a(w): segments a round trip adds, w² p(w) 2b(w) / (2 - b(w)), p(w) = 0.078/w^1.2 (section 5)."""
    if window <= LOW_WINDOW:
        return 1.0
    return 0.078 * math.pow(window, 0.8) * 2 * decrease(window) / (2 - decrease(window))


def linux_decrease(window: float) -> float:
    """b(w) as tcp_highspeed.c has it: the step of appendix B whose window is the next at or above `window`.

    Range: w ≤ 4596. The kernel finds the step while it avoids congestion, not in slow start: the loss
    that ends the first slow start takes the first step's half, however large the window is.
    """
    return next((in_256 / 256 for step, in_256 in STEPS if window <= step), STEPS[-1][1] / 256)
