"""One quantity judged: an estimate from the seeds of both sides, then a verdict with its reason.

Two steps, because between them the p values of all cells are corrected together:

    estimate   Compared → Judged, its verdict still open
    Judged.decided   with the adjusted p → the verdict
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING

from rushhour.record.document import write
from rushhour.record.verdict_file import JudgedMetric, Statistics
from rushhour.verdict import realtime, words
from rushhour.verdict.compared import Compared, defined
from rushhour.verdict.minimum import least
from rushhour.verdict.rule import Estimate, decide, excludes, paired

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushhour.verdict.rule import Rule
    from rushhour.verdict.vocabulary import Decision

# Of runs in which a quantity is there at all: more than half must have gained or lost it.
_HALF = 0.5


@dataclass(frozen=True)
class Judged:
    """A quantity, what was estimated of it, and the verdict once it is decided.

    `presence` says that the estimate is not of values but of whether there is one (1) or none (0), `paired`
    that values of one seed belong together. `needed` is how many repetitions would tell, in real time.
    `within` is what chaotic runs must exclude, not less than `least`; `coarse` says that they excluded just
    that.
    """

    what: Compared
    estimate: Estimate | None
    least: float
    presence: bool = False
    paired: bool = True
    needed: int | None = None
    within: float = 0.0
    coarse: bool = False
    adjusted: float = 1.0
    verdict: Decision = "inconclusive"
    reason: str = ""

    @property
    def p(self) -> float:
        """How likely chance makes such a difference; 1 where nothing could be estimated."""
        return 1.0 if self.estimate is None else self.estimate.p

    @property
    def equal(self) -> bool:
        """Whether both sides have the very same values."""
        return self.estimate is None or (self.estimate.difference == 0 and self.estimate.p == 1)

    @property
    def size(self) -> float:
        """The change in multiples of the least that matters."""
        if self.estimate is None or not self.estimate.difference:
            return 0.0
        return abs(self.estimate.difference) / self.least if self.least else math.inf

    def decided(self, adjusted: float, level: float, *, last: bool = True) -> Judged:
        """With the verdict that the adjusted p allows at this level.

        `last`: no more seeds follow, so that chaotic runs are asked for what they can tell.
        """
        if self.estimate is None:
            return replace(
                self, verdict="inconclusive" if self.what.unread else "same", reason=words.of_metric(self)
            )
        way = decide(self.estimate, self.least, adjusted, level)
        coarse = way is None and last and excludes(self.estimate, self.within)
        made = replace(self, adjusted=adjusted, coarse=coarse, verdict=self._verdict(0 if coarse else way))
        if made.verdict == "inconclusive" and not self.paired:
            sides = self.what.known("base"), self.what.known("candidate")
            # The test is one among many: what made its p greater makes the level less.
            share = self.p / adjusted if adjusted else 1.0
            made = replace(made, needed=realtime.needed(*sides, self.least, level * share))
        return replace(made, reason=words.of_metric(made))

    def _verdict(self, way: int | None) -> Decision:
        if way is None:
            return "inconclusive"
        if way == 0:
            return "same"
        if self.what.better == "none":
            return "worse"
        if self.presence:
            return "better" if way > 0 else "worse"
        return "better" if (way > 0) == (self.what.better == "higher") else "worse"

    def document(self) -> JudgedMetric:
        """As it stands in `verdict.json`."""
        found, what = self.estimate, self.what
        known = found is not None and not self.presence
        return write(
            JudgedMetric,
            metric=what.metric,
            scope=what.scope,
            unit=what.unit,
            better=what.better,
            base=_statistics(what.known("base")),
            candidate=_statistics(what.known("candidate")),
            change=found.relative(found.difference) if found and known else None,
            interval=_interval(found, relative=True) if found and known else None,
            difference=found.difference if found and known else None,
            difference_interval=_interval(found, relative=False) if found and known else None,
            minimum=str(what.minimum),
            least=self.least,
            within=self.within if self.coarse else None,
            p=None if found is None else found.p,
            p_adjusted=None if found is None else self.adjusted,
            needed=self.needed,
            verdict=self.verdict,
            reason=self.reason,
        )


def estimate(what: Compared, rule: Rule, *, virtual: bool) -> Judged:
    """Estimate the difference of a quantity; by pairs of one seed in virtual labs, else by all values."""
    if what.unread:
        return Judged(what, None, 0.0, paired=virtual)
    there = list(defined(what))
    changed = sum(base != candidate for base, candidate in there)
    if there and changed > _HALF * len(there):
        before, after = ([float(pair[side]) for pair in there] for side in (0, 1))
        return Judged(what, paired(before, after, rule.confidence), _HALF, presence=True)
    if virtual:
        pairs = what.pairs()
        before, after = ([pair[side] for pair in pairs] for side in (0, 1))
        found = paired(before, after, rule.confidence) if pairs else None
    else:
        before, after = what.known("base"), what.known("candidate")
        found = realtime.unpaired(before, after, rule.confidence) if before and after else None
    matters, within = (
        0.0 if found is None else least(amount, found.base, what.unit)
        for amount in (what.minimum, what.within or what.minimum)
    )
    return Judged(what, found, matters, paired=virtual, within=max(matters, within))


def _statistics(values: Sequence[float]) -> Statistics:
    return write(
        Statistics,
        n=len(values),
        mean=fmean(values) if values else None,
        min=min(values, default=None),
        max=max(values, default=None),
        values_=list(values),
    )


def _interval(found: Estimate, *, relative: bool) -> list[float] | None:
    if not (math.isfinite(found.low) and math.isfinite(found.high)):
        return None
    low, high = (
        (found.relative(found.low), found.relative(found.high)) if relative else (found.low, found.high)
    )
    return None if low is None or high is None else [low, high]
