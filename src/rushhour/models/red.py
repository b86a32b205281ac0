"""Random early detection (Floyd and Jacobson, IEEE/ACM Transactions on Networking 1(4), 1993).

Range: between the two thresholds, with a load that moves slowly against the mean of the queue.
"""

from __future__ import annotations


def chance(queue_bytes: float, lowest: float, highest: float, probability: float) -> float:
    """The chance p_b at a mean queue length: 0 below `lowest`, `probability` at `highest`, then 1 (eq. 1)."""
    if queue_bytes < lowest:
        return 0.0
    if queue_bytes >= highest:
        return 1.0
    return probability * (queue_bytes - lowest) / (highest - lowest)


def dropped(chance: float) -> float:
    """Fraction dropped at a chance p_b: gaps are uniform from 1 to 1/p_b packets (section 7), 2p/(1 + p)."""
    return 2 * chance / (1 + chance)


def mean_queue_bytes(loss: float, lowest: float, highest: float, probability: float) -> float:
    """Where the mean queue stands when the fraction `loss` must go; `highest` where no chance does that."""
    return min(highest, lowest + (highest - lowest) * loss / (2 - loss) / probability)
