"""A cause: one thing that limited a direction, with the inequality that shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rushhour.diagnosis.finding import Layer
    from rushhour.diagnosis.measured import Measured

TRAIN_LOST = 0.1
"""Part of the trains' packets that a queue drops only if it is shorter than a train."""


@dataclass(frozen=True)
class Cause:
    """One thing that limited: its name is the key of the finding it becomes.

    Attributes:
        limited: Share of the time of the single flow.
        where: The end that has to act, or the direction.
        law: The inequality that holds, with its numbers.
        source: Where it comes from.
        expected_bps: What one flow would reach without it; None where nobody can say.
    """

    key: str
    layer: Layer
    where: str
    limited: float
    law: str
    source: str
    expected_bps: float | None = None


def possible_bps(m: Measured) -> float | None:
    """What the path could carry if the ends let it.

    What arrived at best; or, where the ends held all measurements back, the rate of the narrowest line.
    """
    most, train = m.capacity_bps, m.train
    held = m.several if m.several is not None and m.several.shares else m.single
    if held is None or train is None or train.rate_bps is None:
        return most
    ends = held.limited("receiver", "reader", "sndbuf", "application")
    return max(most or 0.0, train.rate_bps) if ends > 0.5 and train.loss < TRAIN_LOST else most
