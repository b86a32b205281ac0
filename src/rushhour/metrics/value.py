"""A metric, and the result of measuring it: a number with its scope, or the reason for its absence."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from rushhour.record.context import End, Flow, LinkClass
    from rushhour.record.record import Record

TOTAL = "total"
NO_READING = "the kernel gave no such reading"
"""Why a metric is undefined where the kernel does not tell what it needs, or told nothing of that flow."""
NO_EVENT = "the kernel has no event that tells it"
SAMPLED = "by samples of tcp_info, not by events"
"""Why a value is rough, and cannot be held against one of another kernel that has the event."""
COUNTED_LATE = "before 5.18 a kernel counts them when their wait ends"
OTHERWISE = frozenset({NO_EVENT, SAMPLED, COUNTED_LATE})
"""What is said of a quantity that one kernel tells otherwise than others, or not at all."""

Better = Literal["higher", "lower", "none"]


@dataclass(frozen=True, slots=True)
class MetricValue:
    """One metric of one run at one scope.

    `scope` is `total`, `flow:NAME`, `end:LABEL`, `class:NAME`, `node:NAME`, `kind:KIND`, `group:NAME` or
    `program:NAME`.
    `value` is None where the metric is undefined, and then `note` says why; a note beside a value is a doubt
    about it.
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
class Telling:
    """That a metric is worth a column of a report: its short title, and its place, the least first.

    `if_any`: without a value other than 0 there is no column. `counts`: its unit 1 counts events.
    """

    title: str
    place: int
    if_any: bool = False
    counts: bool = False


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: its name ends in its unit; `scopes` are the kinds of scope it can have.

    `definition` is one paragraph with the formula and its source. `function` yields nothing at a scope to
    which the metric does not apply (no UDP flow, no loss of datagrams), and a value of None where it
    applies but is undefined. `minimum` is the least difference that matters when two sides are compared, in
    a scenario's words ("10%", "1 ms"); without it that of the comparison. `title` is what an axis is called;
    without it the column's title, or the words of its name. Without `telling` it has no column.
    """

    name: str
    unit: str
    better: Better
    scopes: tuple[str, ...]
    definition: str
    function: Callable[[Record], Iterable[Found]]
    minimum: str | None = None
    title: str = ""
    telling: Telling | None = None


def of_flow(flow: Flow) -> str:
    """The scope of one flow."""
    return f"flow:{flow.name}"


def of_end(end: End) -> str:
    """The scope of one link end."""
    return f"end:{end.label}"


def of_class(record: Record, end: End, entry: LinkClass) -> str:
    """The scope of a class: its name, and its link end's label where several ends have classes."""
    several = sum(1 for other in record.context.ends.values() if other.classes) > 1
    return f"class:{entry.name}, {end.label}" if several else f"class:{entry.name}"


def at(values: Iterable[MetricValue], flow: str | None = None, scope: str | None = None) -> list[MetricValue]:
    """Of the values of one metric those that a table of a scenario asks for.

    Args:
        values: of that metric, at every scope.
        flow: a flow's name, or that of all its copies.
        scope: a scope, or its part behind the colon. With neither it is the total, else all.
    """
    mine = [*values]
    if flow is not None:
        exact = [value for value in mine if value.scope == f"flow:{flow}"]
        return exact or [value for value in mine if is_copy(value.scope, f"flow:{flow}")]
    if scope is not None:
        return [value for value in mine if scope in (value.scope, value.scope.partition(":")[2])]
    return [value for value in mine if value.scope == TOTAL] or mine


def is_copy(name: str, of: str) -> bool:
    """Whether a name is that of a copy (`mice.3`)."""
    return name.startswith(f"{of}.") and name[len(of) + 1 :].isdecimal()


def ratio(scope: str, part: float, whole: float, note: str, factor: float = 1.0) -> Found:
    """`factor * part / whole`, or nothing with a note where the whole is not above zero."""
    return Found(scope, factor * part / whole) if whole > 0 else Found(scope, None, note)


# What is told of a distribution. Percentiles are of the samples themselves, linearly interpolated between
# neighbours in rank (Hyndman and Fan's type 7).
STATISTICS = {
    "min": "least",
    "mean": "arithmetic mean",
    "p50": "median",
    "p95": "95th percentile",
    "p99": "99th percentile",
    "max": "greatest",
}

# The same in a title.
_IN_TITLES = STATISTICS | {"mean": "mean"}

# Of the far end of a distribution a tenth is little: few samples make it.
_FAR = {"p99": "10%", "max": "10%"}

Distribution = tuple[str, "NDArray[np.float64]"]


def describe(values: NDArray[np.float64]) -> dict[str, float]:
    """The `STATISTICS` of values [n] without their nan; empty if nothing is left."""
    known = np.sort(values[~np.isnan(values)])
    if not len(known):
        return {}
    ranks = {name: int(name[1:]) / 100 for name in ("p50", "p95", "p99")}
    percentiles = {name: _interpolated(known, rank * (len(known) - 1)) for name, rank in ranks.items()}
    return {"min": float(known[0]), "mean": float(known.mean()), **percentiles, "max": float(known[-1])}


def median(values: NDArray[np.float64]) -> float:
    """The median of values [n ≥ 1], none of them nan: `np.median`'s, in a tenth of its time for a few."""
    ordered, middle = np.sort(values), len(values) // 2
    return float(ordered[middle] if len(values) % 2 else (ordered[middle - 1] + ordered[middle]) / 2)


def _interpolated(known: NDArray[np.float64], place: float) -> float:
    below = int(place)
    above = min(below + 1, len(known) - 1)
    return float(known[below] + (known[above] - known[below]) * (place - below))


def distribution(
    stem: str,
    scopes: tuple[str, ...],
    definition: str,
    samples: Callable[[Record], Iterator[Distribution]],
    *,
    unit: Literal["µs", "1"] = "µs",
    better: Better = "lower",
    doubt: Callable[[Record], str | None] = lambda _: None,
    title: str = "",
    telling: Mapping[str, Telling] = MappingProxyType({}),
) -> list[Metric]:
    """The metrics of a distribution: in µs `STEM_min_us` … `STEM_max_us`, else `STEM_min` ….

    `samples` yields (scope, values [n]) of each scope; nan are left out, and no sample at all is undefined.
    `doubt` is the note beside values of a record, `title` what is distributed, `telling` by statistic.
    """

    def described(record: Record) -> list[tuple[str, dict[str, float]]]:
        return [(scope, describe(values)) for scope, values in samples(record)]

    def metric(name: str) -> Metric:
        def function(record: Record) -> Iterator[Found]:
            for scope, known in record.once(described):
                note = doubt(record) if known else "no samples in this window"
                yield Found(scope, known.get(name), note)

        suffix = "_us" if unit == "µs" else ""
        return Metric(
            f"{stem}_{name}{suffix}",
            unit,
            better,
            scopes,
            f"The {STATISTICS[name]} of {definition}",
            function,
            _FAR.get(name),
            f"{title[:1].upper()}{title[1:]}, {_IN_TITLES[name]}" if title else "",
            telling.get(name),
        )

    return [metric(name) for name in STATISTICS]
