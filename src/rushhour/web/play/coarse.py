"""Goodput as a class wants to see it: means over longer times than the readings', which flicker.

Readings are 200 in an experiment, so a window holds some packets of each flow and the curve jumps between
them. A mean over a fiftieth of the experiment, or a round trip if that is longer, shows who has how much.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rushhour.quantities.words import quantity
from rushhour.report.panels import ABOVE

if TYPE_CHECKING:
    from rushhour.record.record import Record
    from rushhour.report.curves import Curve
    from rushhour.report.panels import Panel

PARTS = 50


def coarser(panel: Panel, record: Record) -> Panel:
    """The panel, that of goodput with means over longer windows."""
    if panel.id != "goodput":
        return panel
    longest = max((flow.base_rtt_ns or 0 for flow in record.flows()), default=0)
    window_ns = max(record.context.duration_ns // PARTS, longest, 1)
    curves = [averaged(curve, window_ns) if curve.shape == "interval" else curve for curve in panel.curves]
    most = max(float(np.max(curve.values, initial=0.0)) for curve in curves)
    rate = max((limit.value for limit in panel.limits), default=most)
    note = f"Payload that reached the receiver, in each {quantity(window_ns * 1e-9, 's')}."
    return replace(panel, curves=curves, note=note + (f" {ABOVE}" if most > rate else ""))


def averaged(curve: Curve, window_ns: int) -> Curve:
    """The means over windows of a curve whose samples are means over the time since the one before."""
    if len(curve.t_s) < 2:
        return curve
    # Whole nanoseconds: of two edges that differ by a rounding the time between would be nothing.
    stamps = np.rint(curve.t_s * 1e9).astype(np.int64)
    before = max(0, int(stamps[0] - np.min(np.diff(stamps))))
    instants = np.concatenate(([before], stamps))
    amount = np.concatenate(([0.0], np.cumsum(np.nan_to_num(curve.values) * np.diff(instants))))
    first, last = before // window_ns, -(-int(stamps[-1]) // window_ns)
    edges = np.unique(np.clip(np.arange(first, last + 1) * window_ns, before, stamps[-1]))
    means = np.diff(np.interp(edges, instants, amount)) / np.diff(edges)
    return replace(curve, t_s=np.asarray(edges[1:] * 1e-9, np.float64), values=means)
