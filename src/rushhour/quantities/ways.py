"""Ways of a flow's packets: the ends that each crosses, and how many of the packets cross an end."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def shares(ways: Sequence[Sequence[int]]) -> dict[int, float]:
    """By end, the share of a flow's packets that cross it if they take these ways in turn."""
    count = Counter(number for way in ways for number in way)
    return {number: times / len(ways) for number, times in count.items()}
