"""The congestion window of a flow: its least, mean and greatest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rushhour.metrics.value import Found, Metric, of_flow
from rushhour.metrics.windows import steady_window, within
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from rushhour.record.record import Record

Known = list[tuple[str, dict[str, float]]]

_NO_READING = "no reading of the window while the flow was active"
_WHEN = (
    "of the congestion window (snd_cwnd) at each ACK that reached the sender while the flow was active after "
    "the warm-up; without per-ACK readings, at each sample of tcp_info."
)


def _windows(record: Record) -> Known:
    """Least, mean over time and greatest window of every TCP flow; empty where there was no reading."""
    found: Known = []
    for flow in record.flows(*kinds.TCP_STREAMS):
        series = record.series("snd_cwnd", flow=flow.id)
        inside = within(series.t_s, steady_window(record, flow))
        found.append((of_flow(flow), _described(series.t_s[inside], series.values[inside])))
    return found


def _described(t_s: NDArray[np.float64], values: NDArray[np.float64]) -> dict[str, float]:
    if not len(values):
        return {}
    known = {"min": float(values.min()), "max": float(values.max())}
    # A window holds until the next reading.
    held = np.diff(t_s)
    mean = float((held * values[:-1]).sum() / held.sum()) if held.sum() > 0 else float(values[-1])
    return known | {"mean": mean}


def _one(name: str) -> Callable[[Record], Iterator[Found]]:
    def function(record: Record) -> Iterator[Found]:
        for scope, known in record.once(_windows):
            yield Found(scope, known.get(name), None if known else _NO_READING)

    return function


METRICS = [
    Metric("cwnd_min_segments", "segments", "none", ("flow",), f"The least {_WHEN}", _one("min")),
    Metric(
        "cwnd_mean_segments",
        "segments",
        "none",
        ("flow",),
        f"The mean over time {_WHEN} A window holds until the next reading.",
        _one("mean"),
    ),
    Metric("cwnd_max_segments", "segments", "none", ("flow",), f"The greatest {_WHEN}", _one("max")),
]
