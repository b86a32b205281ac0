"""Curves: what is drawn of a series, thinned without hiding anything.

A long curve is reduced by M4 (Jugel et al., "M4: a visualization-oriented time series data aggregation",
VLDB 2014): of every interval the first, the least, the greatest and the last sample are kept. No spike
disappears, and at a width of up to that many pixels the picture is the one that all samples would give.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rushhour.series.series import Shape


@dataclass(frozen=True)
class Curve:
    """Samples of one quantity as they are drawn.

    Attributes:
        label: What it is, in words for a legend.
        flow: Position of its flow in the run's list; decides the colour. None: it belongs to no flow.
        t_s: Seconds from the start of the experiment, ascending.
        values: One number for each instant; nan where there is none.
        shape: How samples are joined.
        faint: Drawn thin and dotted (a companion of another curve, as ssthresh is of snd_cwnd).
        samples: How many samples the series had before anything was left out.
    """

    label: str
    flow: int | None
    t_s: NDArray[np.float64]
    values: NDArray[np.float64]
    shape: Shape = "line"
    faint: bool = False
    samples: int = 0


def thinned(curve: Curve, limit: int) -> Curve:
    """The curve with repetitions left out and, if it is still longer than `limit`, reduced by M4."""
    total = len(curve.t_s)
    kept = _without_repeats(curve)
    if len(kept.t_s) > limit:
        kept = _pick(kept, _m4(kept.t_s, kept.values, max(1, limit // 4)))
    return replace(kept, samples=total)


def counted(curve: Curve, limit: int) -> Curve:
    """The curve of events with those of each of `limit` equal times as one, at the first of them.

    None is lost: the sum of the values stays.
    """
    total = len(curve.t_s)
    if total <= limit:
        return replace(curve, samples=total)
    first, span = curve.t_s[0], float(curve.t_s[-1] - curve.t_s[0]) or 1.0
    bucket = np.minimum(((curve.t_s - first) * (limit / span)).astype(np.int64), limit - 1)
    _, places = np.unique(bucket, return_index=True)
    sums = np.add.reduceat(curve.values, places)
    return replace(curve, t_s=curve.t_s[places], values=sums, samples=total)


def _pick(curve: Curve, index: NDArray[np.intp]) -> Curve:
    return replace(curve, t_s=curve.t_s[index], values=curve.values[index])


def _without_repeats(curve: Curve) -> Curve:
    """Drop samples that change nothing in the picture: those equal to both neighbours."""
    values = curve.values
    if curve.shape == "points" or len(values) < 3:
        return curve
    same = (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
    needed = np.ones(len(values), dtype=bool)
    needed[1:-1] = ~(same[:-1] & same[1:])
    return _pick(curve, np.flatnonzero(needed))


def _m4(t_s: NDArray[np.float64], values: NDArray[np.float64], buckets: int) -> NDArray[np.intp]:
    """Indices of the first, least, greatest and last of each of `buckets` equal times; starts of gaps."""
    span = float(t_s[-1] - t_s[0]) or 1.0
    bucket = np.minimum(((t_s - t_s[0]) * (buckets / span)).astype(np.int64), buckets - 1)
    missing = np.isnan(values)
    gaps = np.flatnonzero(missing & ~np.concatenate(([False], missing[:-1])))
    finite = np.flatnonzero(~missing)
    bucket = bucket[finite]
    order = np.lexsort((values[finite], bucket))
    edges = np.flatnonzero(np.diff(bucket)) + 1
    first = np.concatenate(([0], edges))
    last = np.concatenate((edges, [len(bucket)])) - 1
    if len(finite) == 0:
        return gaps
    kept = np.concatenate((first, last, order[first], order[last]))
    return np.unique(np.concatenate((finite[kept], gaps)))
