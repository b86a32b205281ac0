"""What a metric is, and what measuring one gives: a number with its scope, or why there is none."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from rushhour.context import End, Flow
    from rushhour.record import Record

TOTAL = "total"

Better = Literal["higher", "lower", "none"]


@dataclass(frozen=True, slots=True)
class MetricValue:
    """One metric of one run at one scope.

    `scope` is `total`, `flow:NAME`, `end:LABEL` or `kind:KIND`. `value` is None where the metric is
    undefined, and then `note` says why; a note beside a value is a doubt about it.
    """

    metric: str
    scope: str
    value: float | None
    unit: str
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What a metric's function gives at one scope."""

    scope: str
    value: float | None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: its name ends in its unit; `scopes` are the kinds of scope it can have.

    `definition` is one paragraph with the formula and its source. `function` yields nothing at a scope to
    which the metric does not apply (no UDP flow, no loss of datagrams), and a value of None where it
    applies but is undefined.
    """

    name: str
    unit: str
    better: Better
    scopes: tuple[str, ...]
    definition: str
    function: Callable[[Record], Iterable[Found]]


def of_flow(flow: Flow) -> str:
    """The scope of one flow."""
    return f"flow:{flow.name}"


def of_end(end: End) -> str:
    """The scope of one link end."""
    return f"end:{end.label}"


def ratio(scope: str, part: float, whole: float, note: str, factor: float = 1.0) -> Found:
    """`factor * part / whole`, or nothing with a note where the whole is not above zero."""
    return Found(scope, factor * part / whole) if whole > 0 else Found(scope, None, note)


# What is told of a distribution: name and how to compute it. Percentiles are of the samples themselves,
# linearly interpolated between neighbours in rank (Hyndman and Fan's type 7).
STATISTICS: dict[str, tuple[str, Callable[[NDArray[np.float64]], float]]] = {
    "min": ("least", lambda values: float(values.min())),
    "mean": ("arithmetic mean", lambda values: float(values.mean())),
    "p50": ("median", lambda values: float(np.percentile(values, 50))),
    "p95": ("95th percentile", lambda values: float(np.percentile(values, 95))),
    "p99": ("99th percentile", lambda values: float(np.percentile(values, 99))),
    "max": ("greatest", lambda values: float(values.max())),
}

Distribution = tuple[str, "NDArray[np.float64]"]


def distribution(
    stem: str,
    scopes: tuple[str, ...],
    definition: str,
    samples: Callable[[Record], Iterator[Distribution]],
) -> list[Metric]:
    """The metrics of a distribution in µs: `STEM_min_us` … `STEM_max_us`, lower is better.

    `samples` yields (scope, values [n]) of each scope; nan are left out, and no sample at all is undefined.
    """

    def metric(name: str) -> Metric:
        words, compute = STATISTICS[name]

        def function(record: Record) -> Iterator[Found]:
            for scope, values in samples(record):
                known = values[~np.isnan(values)]
                value = compute(known) if len(known) else None
                yield Found(scope, value, None if len(known) else "no samples in this window")

        return Metric(f"{stem}_{name}_us", "µs", "lower", scopes, f"The {words} of {definition}", function)

    return [metric(name) for name in STATISTICS]


def finite(value: float) -> float | None:
    """The value, or None where it is nan or infinite."""
    return value if math.isfinite(value) else None
