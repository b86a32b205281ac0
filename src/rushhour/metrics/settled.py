"""Whether shares have settled: a mean over a time in which they still drift is one of that time alone."""

from __future__ import annotations

from collections import defaultdict
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from rushhour.quantities.short import percent
from rushhour.series import sharing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rushhour.record.record import Record

LEAST_WINDOWS = 10
"""Windows of the second half: of fewer no trend can be told from chance."""
LEAST_DRIFT = 0.05
"""Of all that arrived; what a share moves by less does not change what a run says."""
CERTAIN = 3.0
"""Standard deviations of Kendall's S without a trend: one run in 370."""
MOST_FLOWS = 10
"""Single flows are judged where there are no more; else what a group has together."""


def drifts(record: Record) -> list[str]:
    """Sentences on shares of the goodput that still rose or fell in the second half of their time."""
    return [
        f"the share of {name} was still {'rising' if after > before else 'falling'} at the end, from "
        f"{percent(before)} to {percent(after)} in the second half: give the experiment more time (duration)"
        for name, before, after in _drifts(record)
    ][:1]


def _drifts(record: Record) -> Iterator[tuple[str, float, float]]:
    """Who drifts, with the share in the first and the last third of the second half; the largest first."""
    moved = sharing.moved(record)
    # Where a pattern changes the network nothing settles, and nobody expects it.
    if len(moved) < 2 or any(end.over_time for end in record.context.ends.values()):
        return
    ends, counts = next(iter(moved.values()))[0], {name: bytes_ for name, (_, bytes_) in moved.items()}
    steady = np.all([~np.isnan(one) for one in counts.values()], axis=0) & (ends > record.context.warmup_ns)
    table = _together(record, {name: one[steady] for name, one in counts.items()})
    whole = np.sum(list(table.values()), axis=0)
    found = []
    for name, one in table.items() if len(whole) and np.all(whole > 0) else ():
        half = (one / whole)[len(whole) // 2 :]
        third = len(half) // 3
        if len(half) < LEAST_WINDOWS:
            return
        before, after = float(half[:third].mean()), float(half[-third:].mean())
        if abs(after - before) >= LEAST_DRIFT and abs(trend(half)) >= CERTAIN:
            found.append((name, before, after))
    yield from sorted(found, key=lambda one: -abs(one[2] - one[1]))


def _together(record: Record, counts: dict[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
    """By flow, or by group where flows are many."""
    if len(counts) <= MOST_FLOWS:
        return {f"flow {name}": one for name, one in counts.items()}
    groups: dict[str, list[NDArray[np.float64]]] = defaultdict(list)
    for name, one in counts.items():
        groups[record.context.flow(name).group].append(one)
    return {f"group {name}": np.sum(several, axis=0) for name, several in groups.items()}


def trend(values: NDArray[np.float64]) -> float:
    """Mann's test for a trend: Kendall's S against time over its standard deviation without one [n] → z.

    H. B. Mann, "Nonparametric tests against trend", Econometrica 13, 1945.
    """
    n = len(values)
    s = float(sum(np.sign(values[k + 1 :] - values[k]).sum() for k in range(n - 1)))
    spread = sqrt(n * (n - 1) * (2 * n + 5) / 18) if n > 1 else 0.0
    return (s - np.sign(s)) / spread if spread else 0.0
