"""netem's `rate R [OVERHEAD [CELLSIZE [CELLOVERHEAD]]]`: what a packet counts for, and how long it takes.

After `packet_time_ns` of net/sched/sch_netem.c.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from rushhour.quantities.tc_units import RATES, scaled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Size = TypeVar("Size", float, "NDArray[np.float64]")


@dataclass(frozen=True, slots=True)
class NetemRate:
    """A rate in bit/s; bytes that every packet counts besides, and of cells size and bytes besides."""

    bps: int
    overhead: int = 0
    cell: int = 0
    cell_overhead: int = 0

    @property
    def is_plain(self) -> bool:
        """Whether packets count for what they are."""
        return not (self.overhead or self.cell)

    def counted(self, size: Size) -> Size:
        """The bytes that a packet of this size counts for, or packets of these."""
        whole = size + self.overhead
        return -(-whole // self.cell) * (self.cell + self.cell_overhead) if self.cell else whole

    def sent_ns(self, size: int) -> int:
        """How long it takes."""
        return int(self.counted(size)) * 10**9 // max(1, self.bps // 8)


def netem_rate(words: str | None) -> NetemRate | None:
    """The rate in the words of a discipline, `netem rate 8mbit 20`; None where netem keeps none."""
    split = (words or "").split()
    if split[:1] != ["netem"] or "rate" not in split[:-1]:
        return None
    at = split.index("rate") + 1
    bps = scaled(split[at], RATES)
    numbers: list[int] = []
    for word in split[at + 1 : at + 4]:
        if not word.removeprefix("-").isdigit():
            break
        numbers.append(int(word))
    return NetemRate(bps, *numbers) if bps else None


def counts_otherwise(words: str | None, bps: float | None) -> bool:
    """Whether the rate of an end, in bit/s, is netem's, and packets count for more or less than they are."""
    rate = netem_rate(words)
    return rate is not None and not rate.is_plain and rate.bps == bps
