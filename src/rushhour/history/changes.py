"""Where a series changes: exactly, where runs are exact; and where its level shifts.

An exact change is between two points whose values differ for a seed that both have. Points without one
between them are one measurement, however many they are; points without a common seed are two, of which only
a shift can tell that something changed. A shift is a change of level of the means that are
left (`rushhour.history.levels`). The penalty of a change is 3 ln n, the bound of the modified BIC (Zhang,
Siegmund 2007), or more: what Student's t at the level `ALPHA`, divided by the n - 1 places where a change
could be (Bonferroni), asks of a step between two points of estimated noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from rushhour.history.levels import changes_of_level
from rushhour.summary.distributions import student_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushhour.history.series import Point

ALPHA = 0.01
# A difference of so much of the level is no shift, however exact it is.
LEAST = 1e-3
# From so few points without repetitions no noise can be told.
_FEW = 8
# The median absolute deviation of a normal distribution in standard deviations, and how many of n deviations
# it is worth (its efficiency).
_MAD, _WORTH = 0.6745, 0.37

# So many standard deviations off its neighbours, a single run is an outlier until the next one confirms it.
_FAR = 4.0


@dataclass(frozen=True, slots=True)
class Change:
    """A change just before the point `at`.

    `exact` if values of equal seeds differ there in a lab whose runs are exact, `shift` if the level changes.
    `before` and `after` are the means up to the next shift on either side of a shift, or else of the two
    points; `relative` is their difference over `before`. `agent` if another agent ran, too: then it may be
    that.
    """

    at: int
    exact: bool
    shift: bool
    before: float | None
    after: float | None
    agent: bool

    @property
    def relative(self) -> float | None:
        """(after - before) / |before|; None where that is undefined."""
        if self.before is None or self.after is None or self.before == 0:
            return None
        return (self.after - self.before) / abs(self.before)

    def document(self, points: Sequence[Point]) -> dict[str, object]:
        """The change as JSON, with the kernels on both sides."""
        sides = {"from": points[self.at - 1], "to": points[self.at]}
        return {
            "at": self.at,
            **{
                side: {"kernel": point.kernel, "release": point.release, "made": point.made}
                for side, point in sides.items()
            },
            "exact": self.exact,
            "shift": self.shift,
            "before": self.before,
            "after": self.after,
            "relative": self.relative,
            "agent": self.agent,
        }


def changes(points: Sequence[Point], *, exact: bool) -> list[Change]:
    """The changes of a series in order; `exact` if its lab gives equal values for equal runs."""
    differ = {at: _differ(points[at - 1], points[at]) if exact else None for at in range(1, len(points))}
    starts = [0, *(at for at, one in differ.items() if one is not False)] if points else []
    paired = exact and None not in differ.values()
    shifts = [starts[place] for place in _shifts([points[start] for start in starts], exact=paired)]
    edges = [0, *shifts, len(points)]
    found = []
    for at in sorted({*shifts, *(at for at, one in differ.items() if one)}):
        if at in shifts:
            place = edges.index(at)
            before, after = _level(points[edges[place - 1] : at]), _level(points[at : edges[place + 1]])
        else:
            before, after = points[at - 1].mean, points[at].mean
        agent = points[at - 1].agent != points[at].agent
        found.append(Change(at, bool(differ[at]), at in shifts, before, after, agent))
    return found


def _differ(one: Point, two: Point) -> bool | None:
    """Whether a run of both with the same seed has another value; None: no seed is in both."""
    common = one.values.keys() & two.values.keys()
    if not common:
        return None
    return any(one.values[seed] != two.values[seed] for seed in common)


def _level(points: Sequence[Point]) -> float | None:
    means = [point.mean for point in points if point.mean is not None]
    return fmean(means) if means else None


def _shifts(points: Sequence[Point], *, exact: bool) -> list[int]:
    """The points before which the level of the means changes."""
    known = [place for place, point in enumerate(points) if point.mean is not None]
    values = np.array([points[place].mean for place in known], np.float64)
    # One point is believed where it is exact, or the mean of several runs.
    alone = exact or min((len(points[place].known) for place in known), default=0) > 1
    least = 1 if alone else 2
    if len(values) < 2 * least or np.ptp(values) == 0:
        return []
    noise, freedom = _noise([points[place] for place in known], values, exact=exact)
    if noise == 0:
        return []
    if not alone:
        values = _calmed(values, noise)
    starts = changes_of_level(values / noise, _penalty(len(values), freedom), least)
    return [known[start] for start in starts]


def _calmed(values: Any, noise: float) -> Any:
    """Single runs without those far off both neighbours: one that nothing confirms is no level."""
    three = np.lib.stride_tricks.sliding_window_view(values, 3)
    middle = np.median(np.vstack([three[:1], three, three[-1:]]), axis=1)
    return np.where(np.abs(values - middle) > _FAR * noise, middle, values)


def _penalty(count: int, freedom: float) -> float:
    # A step between two points of noise 1 lowers the cost by half its square, which is t squared.
    student = student_quantile(freedom, 1 - ALPHA / 2 / (count - 1))
    return max(3 * math.log(count), student**2)


def _noise(points: Sequence[Point], values: Any, *, exact: bool) -> tuple[float, float]:
    """The standard deviation of a point's mean that is due to chance, and its degrees of freedom; 0: unknown.

    From repetitions where there are any: of exact runs by the differences between neighbours seed by seed,
    which the scatter over seeds is not in. Else from the differences between neighbours, robustly.
    """
    variances = _paired(points) if exact else _spread(points)
    least = LEAST * float(np.median(np.abs(values)))
    freedom = float(sum(count - 1 for _, count in variances))
    if freedom:
        pooled = math.fsum(variance * (count - 1) for variance, count in variances) / freedom
        return max(math.sqrt(pooled), least), freedom
    if len(values) < _FEW:
        return 0.0, 0.0
    deviations = np.abs(np.diff(values))
    noise = float(np.median(deviations)) / _MAD / math.sqrt(2)
    return max(noise, least), _WORTH * len(deviations)


def _spread(points: Sequence[Point]) -> list[tuple[float, int]]:
    """The variance of each point's mean by its repetitions, and how many these are."""
    repeated = (point.known for point in points if len(point.known) > 1)
    return [(float(np.var(known, ddof=1)) / len(known), len(known)) for known in repeated]


def _paired(points: Sequence[Point]) -> list[tuple[float, int]]:
    """The variance of a point's mean by the differences from the point before, and how many these are."""
    found = []
    for one, two in pairwise(points):
        both = [
            second - first
            for seed in sorted(one.values.keys() & two.values.keys())
            if (first := one.values[seed]) is not None and (second := two.values[seed]) is not None
        ]
        if len(both) > 1:
            # The difference of two means has twice the variance of each.
            found.append((float(np.var(both, ddof=1)) / len(both) / 2, len(both)))
    return found
