"""Windows: when a flow was active, when all were, and what moved in between.

Takes flows and their readings, gives spans in ns. A window is cut to readings that exist; nothing is
interpolated between them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rushhour.record import decode
from rushhour.series.readings import delivered
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from rushhour.record.context import End, Flow
    from rushhour.record.record import Record


def payload_flows(record: Record) -> list[Flow]:
    """The flows that carry payload one way: TCP and UDP; those of arrival processes are not among them."""
    return record.flows(*kinds.STREAMS)


def steady_window(record: Record, flow: Flow) -> tuple[int, int] | None:
    """When the flow was sending after the warm-up and before the end, in ns; None if never."""
    active = flow.active_ns
    if active is None:
        return None
    context = record.context
    begin = max(active[0], context.warmup_ns)
    stops = [active[1], context.duration_ns, *([] if flow.stop_ns is None else [flow.stop_ns])]
    return (begin, min(stops)) if min(stops) > begin else None


def moved_within(record: Record, flow: Flow, begin: int, done: int) -> tuple[int, int, int] | None:
    """Bytes between the first reading from `begin` on and the last up to `done`, with their stamps.

    Readings at which a TCP receiver held data behind a hole are passed over, within a quarter of the window
    at each edge: all of that counts in the instant in which the hole is filled, whenever it came.
    None where there are no two readings in the window.
    """
    t_ns, count = delivered(record, flow)
    first, last = int(np.searchsorted(t_ns, begin)), int(np.searchsorted(t_ns, done, side="right")) - 1
    (holes,) = record.curve(_holes, flow) if last > first else ((),)
    if len(holes):
        held = np.isin(t_ns[first : last + 1], holes)
        whole, most = np.flatnonzero(~held), (last - first) // 4
        if len(whole) and whole[0] <= most:
            first, last = first + int(whole[0]), max(first + int(whole[-1]), last - most)
    if last <= first or t_ns[last] <= t_ns[first]:
        return None
    return int(count[last] - count[first]), int(t_ns[first]), int(t_ns[last])


def _holes(record: Record, flow: Flow) -> tuple[NDArray[np.int64]]:
    """When a sample found data in a TCP receiver's memory that its application could not read yet."""
    if flow.kind not in kinds.TCP_STREAMS or not record.has("tcp_info"):
        return (np.zeros(0, np.int64),)
    rows = record.socket(flow.id, 1)
    held = (decode.skmem(rows["skmem"])["rmem_alloc"] > 0) & (rows["rqueue"] == 0)
    stamps: NDArray[np.int64] = rows["t_ns"][held].astype(np.int64)
    return (stamps,)


def bottlenecks(record: Record) -> list[End]:
    """The bottleneck ends of the flows, each once."""
    ends = record.context.ends
    every = record.context.flows.values()
    found = {end for flow in every for end in flow.bottleneck_ends}
    return [end for number, end in ends.items() if number in found]


def busy_window(record: Record, end: End) -> tuple[int, int] | None:
    """From when the first flow across this end was active to when the last was, after the warm-up, in ns."""
    windows = [
        window
        for flow in [*payload_flows(record), *record.arrivals()]
        if end.end in flow.crossed and (window := steady_window(record, flow)) is not None
    ]
    return (min(begin for begin, _ in windows), max(done for _, done in windows)) if windows else None


def common_window(record: Record, flows: Iterable[Flow]) -> tuple[int, int] | None:
    """When all of these flows were active after the warm-up, in ns; None if never."""
    windows = [steady_window(record, flow) for flow in flows]
    known = [window for window in windows if window is not None]
    if not known or len(known) < len(windows):
        return None
    begin, done = max(begin for begin, _ in known), min(done for _, done in known)
    return (begin, done) if done > begin else None


def by_kind(record: Record) -> dict[str, list[Flow]]:
    """Scope → the flows of one kind, for the kinds that have at least two; `total` if only one has.

    A request that a program sent competes with nobody: what was found and is brief is left out.
    """
    known = {kind: [flow for flow in record.flows(kind) if not flow.is_brief] for kind in kinds.STREAMS}
    many = {f"kind:{kind}": flows for kind, flows in known.items() if len(flows) > 1}
    return {"total": next(iter(many.values()))} if len(many) == 1 else many


def within(t_s: NDArray[np.float64], span: tuple[int, int] | None) -> NDArray[np.bool_]:
    """Which stamps lie in a span of ns; none if there is no span."""
    if span is None:
        return np.zeros(len(t_s), bool)
    inside: NDArray[np.bool_] = (t_s >= span[0] * 1e-9) & (t_s <= span[1] * 1e-9)
    return inside
