"""How evenly flows share: Jain's index."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rushhour.metrics.value import Found, Metric
from rushhour.metrics.windows import by_kind, common_window, moved_within

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike

    from rushhour.context import Flow
    from rushhour.record import Record


def jain_index(shares: ArrayLike) -> float:
    """(Σx)² / (n Σx²) of n shares: 1 if all are equal, 1/n if one has all; nan if all are zero.

    Jain, Chiu, Hawe: A Quantitative Measure of Fairness, DEC TR-301, 1984.
    """
    values = np.asarray(shares, np.float64)
    squares = float(np.sum(values**2)) * len(values)
    return float(np.sum(values)) ** 2 / squares if squares else float("nan")


def _jain(record: Record) -> Iterator[Found]:
    for scope, flows in by_kind(record).items():
        yield _of(record, scope, flows)


def _of(record: Record, scope: str, flows: list[Flow]) -> Found:
    window = common_window(record, flows)
    if window is None:
        return Found(scope, None, "the flows were never all active at once after the warm-up")
    moved = [moved_within(record, flow, *window) for flow in flows]
    rates = [count / (done - begin) for count, begin, done in (found for found in moved if found)]
    if len(rates) < len(flows):
        return Found(scope, None, "a flow has fewer than two readings while all were active")
    if not any(rates):
        return Found(scope, None, "no flow moved anything while all were active")
    return Found(scope, jain_index(rates))


METRICS = [
    Metric(
        "jain_index",
        "1",
        "higher",
        ("total", "kind"),
        "Jain's fairness index (Σx)² / (n Σx²) of the goodputs x of all n flows of a kind over the time "
        "all of them were active after the warm-up (Jain, Chiu, Hawe, DEC TR-301, 1984; RFC 5166, section "
        "2.3). 1 is equal shares, 1/n is one flow having all.",
        _jain,
    ),
]
