"""What chance decides beforehand: when flows arrive, how large they are, when sources are on.

Takes laws of a scenario and a seed, gives whole nanoseconds and bytes. Every flow draws its times and its
sizes from streams of their own, seeded by the run's seed and the flow's name: another law of size leaves
the times as they were, another flow changes nothing. Only `Random.random()` is used, whose sequence Python
promises to keep, and each number is drawn by inverting its law's distribution function.
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_left
from itertools import count, pairwise
from random import Random  # noqa: TID251 - its seed is the run's
from statistics import NormalDist
from typing import TYPE_CHECKING

from rushhour.spec.arrivals import WEBSEARCH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rushhour.spec.arrivals import Arrivals, SizeLaw, TimeLaw

NS = 10**9
Draw = "Callable[[float], float]"  # the inverse of a distribution function: a share in (0, 1) to a value
_HALVINGS = 200


def stream(seed: int, what: str, flow: str) -> Iterator[float]:
    """Endless numbers, uniform in the open interval (0, 1)."""
    digest = hashlib.sha256(f"{what}/{seed}/{flow}".encode()).digest()
    draw = Random(int.from_bytes(digest[:8])).random  # noqa: S311 - an experiment, no secret
    while True:
        yield draw() or 2.0**-54


# Sizes --------------------------------------------------------------------------------------------------


def size_law(law: SizeLaw) -> Callable[[float], float]:
    """The inverse distribution function of sizes in bytes, cut at the law's `max`."""
    most = math.inf if law.max is None else float(law.max.bytes)
    inverse = _uncut(law, most)
    return lambda u: min(inverse(u), most)


def mean_size(law: SizeLaw) -> float:
    """The mean of a law's sizes in bytes, `max` included."""
    if law.distribution in ("table", "websearch"):
        points = [(0.0, float(_points(law)[0][0])), *((share, size) for size, share in _points(law))]
        return sum(
            (share - before) * (size + smaller) / 2 for (before, smaller), (share, size) in pairwise(points)
        )
    return float(law.mean.bytes) if law.mean else math.nan


def sizes(law: SizeLaw, seed: int, flow: str) -> Iterator[int]:
    """Endless sizes of a flow's arrivals in whole bytes, at least one."""
    inverse = size_law(law)
    return (max(1, round(inverse(u))) for u in stream(seed, "size", flow))


def _uncut(law: SizeLaw, most: float) -> Callable[[float], float]:
    """The inverse distribution function before the cut; scaled so that the mean after it is the law's."""
    mean = mean_size(law)
    if law.distribution == "fixed":
        return lambda _: mean
    if law.distribution in ("table", "websearch"):
        return _table(law)
    if law.distribution == "exponential":
        scale = _scale(lambda s: s * -math.expm1(-most / s), mean)
        return lambda u: -scale * math.log(u)
    if law.distribution == "pareto":
        shape = law.shape or math.nan
        least = _scale(lambda x: _pareto_mean(x, shape, most), mean)
        return lambda u: least * u ** (-1 / shape)
    sigma, normal = law.sigma or math.nan, NormalDist()
    median = _scale(lambda m: _lognormal_mean(m, sigma, most), mean)
    return lambda u: median * math.exp(sigma * normal.inv_cdf(u))


def _pareto_mean(least: float, shape: float, most: float) -> float:
    """E[min(X, most)] of a Pareto law, P(X > x) = (least / x)^shape."""
    if least >= most:
        return most
    tail: float = (least / most) ** (shape - 1)
    return least * (shape - tail) / (shape - 1)


def _lognormal_mean(median: float, sigma: float, most: float) -> float:
    """E[min(X, most)] of a lognormal law, ln X normal with mean ln(median) and deviation sigma."""
    if math.isinf(most):
        return median * math.exp(sigma**2 / 2)
    cut = math.log(most / median) / sigma
    below = NormalDist().cdf
    return median * math.exp(sigma**2 / 2) * below(cut - sigma) + most * (1 - below(cut))


def _scale(mean_of: Callable[[float], float], mean: float) -> float:
    """The scale at which a law has this mean: `mean_of` rises with it and is at most a multiple of it."""
    low, high = 0.0, mean
    while mean_of(high) < mean:
        high *= 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if mean_of(middle) < mean else (low, middle)
    return high


def _points(law: SizeLaw) -> list[tuple[float, float]]:
    """Sizes and the share of flows up to each."""
    return list(WEBSEARCH) if law.table is None else [(size.bytes, share) for size, share in law.table]


def _table(law: SizeLaw) -> Callable[[float], float]:
    """Straight lines between the points of a measured law; up to its first share all have the first size."""
    points = _points(law)
    shares = [share for _, share in points]

    def inverse(u: float) -> float:
        place = bisect_left(shares, u)
        if place == 0:
            return points[0][0]
        (small, below), (large, above) = points[place - 1], points[place]
        return small + (large - small) * (u - below) / (above - below)

    return inverse


# Times --------------------------------------------------------------------------------------------------


def periods(
    on: TimeLaw, off: TimeLaw, span: tuple[int, int], seed: int, flow: str
) -> Iterator[tuple[int, int]]:
    """When a source is on, in ns, ascending: on first, then off, in turn, cut at the end of the span."""
    draw = stream(seed, "on-off", flow)
    at, stop = span
    while at < stop:
        length, pause = _time(on, draw), _time(off, draw)
        yield at, min(at + length, stop)
        at += length + pause


def arrivals(law: Arrivals, per_s: float, span: tuple[int, int], seed: int, flow: str) -> Iterator[int]:
    """When flows arrive within a span, in ns, ascending; `per_s` on average."""
    begin, stop = span
    if law.process == "constant":
        times: Iterator[int] = (begin + round(k * NS / per_s) for k in count())
    elif law.on is None or law.off is None:
        times = _poisson(per_s, begin, stop, stream(seed, "arrival", flow))
    else:
        busy = per_s * (law.on.mean.ns + law.off.mean.ns) / law.on.mean.ns
        draw = stream(seed, "arrival", flow)
        on = periods(law.on, law.off, span, seed, flow)
        times = (at for first, last in on for at in _poisson(busy, first, last, draw))
    for at in times:
        if at >= stop:
            return
        yield at


def _poisson(per_s: float, begin: int, stop: int, draw: Iterator[float]) -> Iterator[int]:
    """Independent arrivals: exponential gaps, the first of them before the first arrival."""
    at = begin - math.log(next(draw)) * NS / per_s
    while at < stop:
        yield int(at)
        at -= math.log(next(draw)) * NS / per_s


def _time(law: TimeLaw, draw: Iterator[float]) -> int:
    """One period in ns, at least one."""
    if law.distribution == "fixed":
        return law.mean.ns
    return max(1, round(-law.mean.ns * math.log(next(draw))))
