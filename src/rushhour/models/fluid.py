"""What overload leaves of flows that do not react to it. Range: constant rates, FIFO queues, no transient.

Every link end passes on at most its rate, and of each flow the same share: that is what a full FIFO does to
flows whose packets arrive evenly mixed. Paths that feed back into one another (rings) are out of range.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.models.queueing import overload_loss

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def carried_bps(offered: Sequence[tuple[float, Sequence[int]]], rates: Mapping[int, float]) -> list[float]:
    """Rates at which flows arrive, given what each offers and the ends it crosses, in order.

    Args:
        offered: Rate in bit/s and ends of each flow.
        rates: Rate in bit/s of the ends that have one.
    """
    kept = dict.fromkeys(rates, 1.0)
    # What reaches an end is settled once the ends before it are: after as many rounds as a path has ends.
    for _ in range(max((len(ends) for _, ends in offered), default=0)):
        load = dict.fromkeys(rates, 0.0)
        for rate, ends in offered:
            left = rate
            for end in ends:
                if end in load:
                    load[end] += left
                    left *= kept[end]
        kept = {end: 1 - overload_loss(load[end], rates[end]) if load[end] else 1.0 for end in rates}
    arrived = []
    for rate, ends in offered:
        left = rate
        for end in ends:
            left *= kept.get(end, 1.0)
        arrived.append(left)
    return arrived
