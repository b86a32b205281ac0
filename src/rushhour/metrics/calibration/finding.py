"""One check of calibration, and what all checks allow for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushhour.record import courses

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rushhour.record.context import End
    from rushhour.record.record import Record

# How far a stamp may be off. Virtual: a timer comes up to 0.75 µs late, reading the clock costs 0.26 µs.
# Real: a loaded machine.
VIRTUAL_NS, REAL_NS = 2_000, 500_000
# netem's jitter has long tails when it is not uniform.
NETEM_SIGMAS = 5
# Room for what the shaper's clock rounds, over a whole train or interval.
RATE_TOLERANCE = 0.01


@dataclass(frozen=True, slots=True)
class CalibrationFinding:
    """One check of one link end or path: what was asked, what was measured, whether that is true enough."""

    check: str
    where: str
    ok: bool
    asked: str
    measured: str

    @property
    def message(self) -> str:
        """The finding as a sentence."""
        return f"{self.check} of {self.where}: measured {self.measured}, asked for {self.asked}"


# What tc takes k and m for, in sizes.
_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20}


def ends_of(record: Record, numbers: Iterable[int]) -> list[End]:
    """Ends by their number, as they are at the start of the experiment, as when the agent calibrates."""
    known = record.context.ends
    return [courses.at(known[number], 0) for number in numbers if number in known]


def burst(record: Record, end: End) -> int:
    """Bytes of the shaper's bucket at an end, by the words of the plan; 0 where it has none."""
    planned = record.plan.place(end.end)
    lines = (*planned.qdiscs, *planned.filters) if planned else ()
    words = r"\b(?:c?burst|buffer|maxburst) (\d{1,12})(kb?|mb?|b?)\b"
    found = [match for line in lines for match in re.findall(words, line)]
    return max((int(size) * _UNITS[unit[:1]] for size, unit in found), default=0)
