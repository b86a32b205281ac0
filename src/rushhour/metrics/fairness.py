"""How evenly flows share: each one's part of the goodput, and Jain's index."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING

from rushhour.metrics.value import Found, Metric, Telling, of_flow
from rushhour.metrics.windows import by_kind, common_window, moved_within
from rushhour.series.sharing import jain_index

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.record.context import Flow
    from rushhour.record.record import Record


def _jain(record: Record) -> Iterator[Found]:
    for scope, rates in record.once(_every_rate).items():
        yield Found(scope, None, rates) if isinstance(rates, str) else Found(scope, jain_index(rates))


def _shares(record: Record) -> Iterator[Found]:
    for scope, flows in by_kind(record).items():
        rates = record.once(_every_rate)[scope]
        total = 0.0 if isinstance(rates, str) else fsum(rates)
        for place, flow in enumerate(flows):
            if isinstance(rates, str):
                yield Found(of_flow(flow), None, rates)
            else:
                yield Found(of_flow(flow), rates[place] / total)


def _every_rate(record: Record) -> dict[str, list[float] | str]:
    return {scope: _rates(record, flows) for scope, flows in by_kind(record).items()}


def _rates(record: Record, flows: list[Flow]) -> list[float] | str:
    """Bytes per ns of each flow while all were active after the warm-up, or why there is no answer."""
    window = common_window(record, flows)
    if window is None:
        return "the flows were never all active at once after the warm-up"
    moved = [moved_within(record, flow, *window) for flow in flows]
    rates = [count / (done - begin) for count, begin, done in (found for found in moved if found)]
    if len(rates) < len(flows):
        return "a flow has fewer than two readings while all were active"
    return rates if any(rates) else "no flow moved anything while all were active"


METRICS = [
    Metric(
        "goodput_share",
        "1",
        "none",
        ("flow",),
        "The flow's part of the goodput of all flows of its kind while all of them were active after the "
        "warm-up; 1/n of n flows is an even part.",
        _shares,
        title="Share of the goodput",
    ),
    Metric(
        "jain_index",
        "1",
        "higher",
        ("total", "kind"),
        "Jain's fairness index (Σx)² / (n Σx²) of the goodputs x of all n flows of a kind while all of "
        "them were active after the warm-up (DEC TR-301, 1984; RFC 5166, section 2.3). 1 is equal shares, "
        "1/n is one flow having all.",
        _jain,
        telling=Telling("Jain index", 50),
    ),
]
