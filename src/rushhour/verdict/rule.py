"""The rule: when a difference between repetitions of two sides is a change, and when it is chance.

Takes values [n] of one quantity on both sides, gives an `Estimate`; with the least difference that matters
and the level of the test, a decision. docs/verdict.md has the formulas and their sources.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from rushhour.record.document import write
from rushhour.record.verdict_file import RuleFile
from rushhour.summary.distributions import student_quantile, student_two_sided
from rushhour.verdict.vocabulary import ORDER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from rushhour.verdict.vocabulary import Decision

SEEDS, MAX_SEEDS = 5, 40

# Arithmetic on values that are equal but for their last bits.
_NOISE = 1e-12


@dataclass(frozen=True, slots=True)
class Rule:
    """How a verdict is reached: see docs/verdict.md.

    Attributes:
        minimum: Least relative change that matters, where neither scenario nor metric says another.
        confidence: Of intervals; one minus it bounds the share of false alarms among all that was judged.
        seeds: Repetitions that a cell which differs gets first.
        max_seeds: Repetitions that it gets at most.
    """

    minimum: float = 0.05
    confidence: float = 0.95
    seeds: int = SEEDS
    max_seeds: int = MAX_SEEDS

    def looks(self) -> list[int]:
        """After how many repetitions a cell is judged: `seeds`, twice as many, …, `max_seeds`."""
        found = [self.seeds]
        while found[-1] < self.max_seeds:
            found.append(min(2 * found[-1], self.max_seeds))
        return found

    @property
    def level(self) -> float:
        """Level of one look: all looks together keep to 1 - `confidence` (Bonferroni)."""
        return (1 - self.confidence) / len(self.looks())

    def document(self) -> RuleFile:
        """As it stands in `verdict.json`."""
        return write(
            RuleFile,
            minimum=self.minimum,
            confidence=self.confidence,
            seeds=self.seeds,
            max_seeds=self.max_seeds,
        )


@dataclass(frozen=True, slots=True)
class Estimate:
    """What repetitions say of a difference, candidate minus base, in the unit of the values.

    `base` is the centre of the base's values, `low` … `high` the confidence interval of the difference
    (infinite where so few values bound nothing), `p` how likely chance alone makes such a difference.
    """

    n: int
    base: float
    difference: float
    low: float
    high: float
    p: float

    def relative(self, value: float) -> float | None:
        """A difference as a share of the base; None where the base is zero or the value is not finite."""
        return value / abs(self.base) if self.base and math.isfinite(value) else None


def paired(base: ArrayLike, candidate: ArrayLike, confidence: float) -> Estimate:
    """The mean difference of pairs [n] that share their seed, by Student's t.

    If both sides were one kernel, each value of a pair could be the other's: differences are symmetric about
    zero, and t holds, or is cautious for long tails (Benjamini, "Is the t test really conservative when the
    parent distribution is long-tailed?", JASA 78, 1983). t does not hold for a quantity with two values: by
    chance one side may show only one of them and the other side only the other. n pairs do so with a
    probability of at most 2·4⁻ⁿ, so no p is less than that.

    One pair says nothing of the spread, and yet bounds the mean: a normal value seldom lies that near to zero
    unless its mean does, whatever the spread (`_alone`).
    """
    x, y = np.asarray(base, np.float64), np.asarray(candidate, np.float64)
    differences = y - x
    n, centre = len(x), float(x.mean())
    mean = float(differences.mean())
    scale = float(np.abs(np.concatenate([x, y])).max())
    if np.abs(differences).max() <= _NOISE * scale:
        return Estimate(n, centre, 0.0, 0.0, 0.0, 1.0)
    if n < 2:
        half = _alone(confidence) * abs(mean)
        return Estimate(n, centre, mean, mean - half, mean + half, 1.0)
    error = float(differences.std(ddof=1)) / math.sqrt(n)
    if error <= _NOISE * scale:
        half, p = 0.0, 0.0
    else:
        half = error * student_quantile(n - 1, (1 + confidence) / 2)
        p = student_two_sided(n - 1, mean / error)
    return Estimate(n, centre, mean, mean - half, mean + half, min(1.0, max(p, 2 * 4.0**-n)))


def decide(estimate: Estimate, least: float, adjusted: float, level: float) -> Literal[-1, 0, 1] | None:
    """Which way a quantity changed: 1 up, -1 down, 0 by less than `least`; None if that is not to be told.

    Args:
        estimate: What was measured.
        least: Least difference that matters, in the unit of the values.
        adjusted: The estimate's p, corrected for all that is judged beside it.
        level: Greatest adjusted p of a change.
    """
    slack = _NOISE * max(abs(estimate.base), abs(estimate.difference))
    if abs(estimate.difference) > least + slack and adjusted <= level:
        return 1 if estimate.difference > 0 else -1
    return 0 if excludes(estimate, least) else None


def excludes(estimate: Estimate, bound: float) -> bool:
    """Whether the interval leaves no room for a difference of more than `bound`, up or down."""
    slack = _NOISE * max(abs(estimate.base), abs(estimate.difference))
    return estimate.low >= -bound - slack and estimate.high <= bound + slack


def adjust(p: Sequence[float], family: int = 0) -> list[float]:
    """Correct p values for being many: Benjamini and Hochberg, JRSS B 57, 1995.

    `family` is how many comparisons there are if that is more than are given (the others count as p = 1).
    Where there is no change at all, the chance of any false alarm stays below the level; where there are
    some, the share of false ones among those told does.
    """
    count = max(len(p), family)
    order = np.argsort(p)
    ranked = np.asarray(p, np.float64)[order] * count / np.arange(1, len(p) + 1)
    least = np.minimum.accumulate(ranked[::-1])[::-1] if len(p) else ranked
    result = np.empty(len(p))
    result[order] = np.minimum(least, 1.0)
    return [float(value) for value in result]


def worst(verdicts: Sequence[Decision]) -> Decision:
    """The worst of several verdicts; `same` of none."""
    return min(verdicts, key=ORDER.index, default="same")


def _alone(confidence: float) -> float:
    """How many times its distance from zero a single normal value may lie from its mean, at most.

    9.68 at 95 %: Edelman, "A confidence interval for the center of an unknown unimodal distribution based
    on a sample of size one", The American Statistician 44, 1990. With x = m + s·z the interval x ± t·|x|
    misses m only if |x/m| < 1/(t ∓ 1), and that is likeliest for s = |m|: 2·φ(1)/t, φ the density of z.
    """
    return 2 * math.exp(-0.5) / math.sqrt(2 * math.pi) / (1 - confidence)
