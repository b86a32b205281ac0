"""Echo requests that go beside the experiments of a diagnosis: how long they took, how many were lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.metrics.loss import known_fate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rushhour.record.context import Flow
    from rushhour.record.record import Record


def round_trips(record: Record, name: str) -> NDArray[np.float64] | None:
    """Round trips of an echo flow in ns [n], nan without an answer; None where there is no such flow."""
    flow = _flow(record, name)
    return None if flow is None else record.series("ping_rtt_us", flow=flow.id).values * 1e3


def lost(record: Record, name: str) -> float | None:
    """The part of an echo flow's requests that got no answer, 0 to 1; None where there is none to know of.

    Requests that the end may have overtaken are left out, as in the metric `loss`.
    """
    flow = _flow(record, name)
    fate = None if flow is None else known_fate(record, flow)
    return None if fate is None or not fate[0] else 1 - fate[1] / fate[0]


def _flow(record: Record, name: str) -> Flow | None:
    flow = next((one for one in record.flows("ping") if one.name == name), None)
    return flow if record.has("ping") else None
