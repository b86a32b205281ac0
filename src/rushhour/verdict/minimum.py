"""The least difference that matters, of each metric: what a scenario says, else a share of the base.

A share of nothing is nothing: from 0 to 1 drop would be a change without end. So a share never means less
than the floor of the metric's unit, which is what one reading can hardly tell.
"""

from __future__ import annotations

from rushhour.quantities.measures import KINDS, Tolerance, worth
from rushhour.quantities.units import UnitError

FLOORS: dict[str, float] = {
    "rate": 1000.0,  # bit/s: a packet in some seconds
    "time": 2e-6,  # s: the virtual clock has steps of 256 ns, timers come up to 0.75 µs late
    "size": 64.0,  # B: less than the smallest frame
    "ratio": 0.001,
    "frequency": 0.01,  # 1/s
}
"""By kind of unit (`measures.KINDS`), in the kind's first unit."""
COUNT = 0.5
"""Of what is counted (packets, segments, flows): half a one in the mean."""


def floor(unit: str) -> float:
    """The floor of a unit, in that unit."""
    kind, factor = worth(unit)
    return FLOORS[kind] / factor if kind in KINDS else COUNT


def least(minimum: Tolerance, base: float, unit: str) -> float:
    """The least difference from `base` that matters, in `unit`.

    An amount is taken as it is; a share is never less than the unit's floor. A scenario's tolerance in
    another kind of unit was refused when it was loaded; one of an older record counts as a share of 5 %.
    """
    if not minimum.relative:
        try:
            return minimum.around(base, unit)
        except UnitError:
            minimum = Tolerance(5.0, "%")
    return max(minimum.around(base, unit), floor(unit))


def share(fraction: float) -> Tolerance:
    """A relative minimum: 0.05 is `5%`."""
    return Tolerance(fraction * 100, "%")
