"""How long flows need to come to equal shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rushhour.metrics.value import Found, Metric, Telling
from rushhour.metrics.windows import by_kind
from rushhour.series.readings import delivered
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rushhour.record.context import Flow
    from rushhour.record.record import Record

WINDOW_NS = 1_000_000_000
WINDOWS = 5
WITHIN = 0.2


def first_fair(shares: NDArray[np.float64], windows: int = WINDOWS, within: float = WITHIN) -> int | None:
    """Index of the first of `windows` consecutive rows in which every share is within ± `within` of the mean.

    `shares` [time, flow]; None if there is no such row. A row in which nothing moved is not fair.
    """
    mean = shares.mean(axis=1, keepdims=True)
    fair = ((np.abs(shares - mean) <= within * mean) & (mean > 0)).all(axis=1)
    many = np.concatenate([[0], np.cumsum(fair)])
    found = np.flatnonzero(many[windows:] - many[:-windows] == windows)
    return int(found[0]) if len(found) else None


def _convergence(record: Record) -> Iterator[Found]:
    for scope, flows in by_kind(record).items():
        yield _of(record, scope, flows)


def _of(record: Record, scope: str, flows: list[Flow]) -> Found:
    # The warm-up plays no part: convergence is what happens then.
    spans = [flow.active_ns for flow in flows]
    known = [span for span in spans if span is not None]
    if len(known) < len(spans):
        return Found(scope, None, "a flow did not run, or its end is unknown")
    begin, done = max(span[0] for span in known), min(span[1] for span in known)
    stops = [flow.stop_ns for flow in flows if flow.stop_ns is not None]
    count = (min(done, record.context.duration_ns, *stops) - begin) // WINDOW_NS
    if count < WINDOWS:
        return Found(scope, None, f"all flows were active for less than {WINDOWS} windows of 1 s")
    edges = begin + WINDOW_NS * np.arange(count + 1)
    shares = np.stack([_moved(record, flow, edges) for flow in flows], axis=1)
    if np.isnan(shares).any():
        return Found(scope, None, "a flow has windows of 1 s without two readings")
    first = first_fair(shares)
    if first is None:
        return Found(scope, None, f"the shares never stayed fair for {WINDOWS} windows of 1 s")
    return Found(scope, first * WINDOW_NS / 1e9)


def _moved(record: Record, flow: Flow, edges: NDArray[np.int64]) -> NDArray[np.float64]:
    # bytes/ns in each window, between the last readings up to its edges; datagrams are readings of their own.
    t_ns, count = delivered(record, flow)
    at = np.searchsorted(t_ns, edges, side="right") - 1
    if flow.kind in kinds.UDP_STREAMS:
        total = np.where(at >= 0, count[at] if len(count) else 0, 0)
        return np.diff(total) / WINDOW_NS
    if not len(t_ns) or at[0] < 0:
        return np.full(len(edges) - 1, np.nan)
    span = np.diff(t_ns[at])
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(span > 0, np.diff(count[at]) / span, np.nan)


METRICS = [
    Metric(
        "convergence_time_s",
        "s",
        "lower",
        ("total", "kind"),
        f"Time from the last connection of a kind's flows to the first of {WINDOWS} consecutive windows of "
        f"1 s in which the goodput of every flow is within ±{WITHIN:.0%} of their mean (RFC 5166, section "
        "2.3, leaves the thresholds open). Undefined if the shares never stay so.",
        _convergence,
        telling=Telling("convergence", 260),
    ),
]
