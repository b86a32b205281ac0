"""What is compared in a cell: metric values of both sides by seed, with the least difference that matters.

Takes two `SideCell`s, gives `Compared` values, before any of them is judged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Literal

from rushhour.metrics.catalog import METRICS
from rushhour.metrics.integrity import CORRUPTED
from rushhour.metrics.value import NO_READING, OTHERWISE, MetricValue, at
from rushhour.quantities.factors import matches
from rushhour.quantities.measures import Tolerance
from rushhour.quantities.units import UnitError
from rushhour.summary.expectations import judge as expected
from rushhour.verdict.minimum import share

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rushhour.metrics.value import Better
    from rushhour.verdict.rule import Rule
    from rushhour.verdict.side import SideCell
    from rushhour.verdict.trial import Trial

Values = dict[int, float | None]

_ALWAYS = (CORRUPTED,)


@dataclass(frozen=True)
class Question:
    """One thing that decides: a metric, of which flow or scope, which side is better, what matters of it."""

    metric: str
    flow: str | None = None
    scope: str | None = None
    minimum: Tolerance | None = None
    better: Better | None = None
    within: Tolerance | None = None

    def of(self, values: Iterable[MetricValue]) -> list[MetricValue]:
        """Of the values of its metric those asked for; copies of one flow are one thing: their mean."""
        found, name = at(values, self.flow, self.scope), f"flow:{self.flow}"
        are_copies = self.flow is not None and any(value.scope != name for value in found)
        return [_mean(found, name)] if are_copies else found


@dataclass(frozen=True)
class Compared:
    """One quantity on both sides, by seed; None where a run has no value of it.

    `unread` says that one kernel does not tell what the quantity is made of: it cannot be compared. `within`
    is what chaotic runs must exclude; None: the minimum.
    """

    metric: str
    scope: str
    unit: str
    better: Better
    minimum: Tolerance
    base: Values
    candidate: Values
    note: str | None = None
    unread: bool = False
    within: Tolerance | None = None

    def pairs(self) -> list[tuple[float, float]]:
        """The values of seeds where both sides have one, in the order of the seeds."""
        found = ((value, self.candidate.get(seed)) for seed, value in self.base.items())
        return [(x, y) for x, y in found if x is not None and y is not None]

    def known(self, side: Literal["base", "candidate"]) -> list[float]:
        """The defined values of a side."""
        return [value for value in getattr(self, side).values() if value is not None]


@dataclass(frozen=True)
class Expected:
    """One expectation of the scenario at one scope: in which seeds each side keeps it."""

    text: str
    base: dict[int, bool]
    candidate: dict[int, bool]
    found: str = ""

    @property
    def mended(self) -> bool:
        """Whether the base breaks it in some run, and the candidate in none."""
        broken = bool(self.base) and not all(self.base.values())
        return broken and bool(self.candidate) and all(self.candidate.values())

    @property
    def broken(self) -> bool:
        """Whether the base keeps it always, and the candidate breaks it more often than not."""
        kept = bool(self.base) and all(self.base.values())
        return kept and 2 * sum(not ok for ok in self.candidate.values()) > len(self.candidate)


def questions(cell: SideCell) -> list[Question]:
    """What decides in this cell: its `[[judge]]` tables, else every metric that has a better side.

    Bytes that are not what was sent decide whatever a scenario asks.
    """
    tables = cell.resolved.get("judge")
    judges = tables if isinstance(tables, list | tuple) else []
    mine = [judge for judge in judges if isinstance(judge, dict) and _is_here(judge, cell.factors)]
    if not judges:
        return [Question(name) for name, metric in METRICS.items() if metric.better != "none"]
    asked = [
        Question(
            str(judge.get("metric")),
            judge.get("flow"),
            judge.get("scope"),
            _tolerance(judge, "minimum"),
            judge.get("better"),
            _tolerance(judge, "within"),
        )
        for judge in mine
    ]
    return [*asked, *(Question(name) for name in _ALWAYS)]


def compared(
    asked: Sequence[Question], base: Mapping[int, Trial], candidate: Mapping[int, Trial], rule: Rule
) -> list[Compared]:
    """The quantities of a cell over usable runs, in the order of the questions."""
    names = list(dict.fromkeys(question.metric for question in asked))
    sides = [
        {seed: _by_metric(trial.values(names)) for seed, trial in trials.items() if trial.usable}
        for trials in (base, candidate)
    ]
    made: dict[tuple[str, str], Compared] = {}
    for question in asked:
        found = [
            {seed: question.of(values.get(question.metric, ())) for seed, values in side.items()}
            for side in sides
        ]
        scopes = dict.fromkeys(value.scope for side in found for values in side.values() for value in values)
        for scope in scopes:
            # A metric that is judged twice is judged by what was said first.
            made.setdefault((question.metric, scope), _compared(question, scope, found, rule))
    return [_read(entry, base, candidate) for entry in made.values()]


def _by_metric(values: Iterable[MetricValue]) -> Mapping[str, Sequence[MetricValue]]:
    """Values by their metric: a cell has a hundred questions, and a run as many values."""
    found: dict[str, list[MetricValue]] = {}
    for value in values:
        found.setdefault(value.metric, []).append(value)
    return found


def expectations(cell: SideCell, base: Mapping[int, Trial], candidate: Mapping[int, Trial]) -> list[Expected]:
    """The expectations of the scenario, in the usable runs of both sides, as far as both can tell."""
    tables = cell.resolved.get("expect")
    expects = [dict(entry) for entry in tables or () if isinstance(entry, dict)]
    made: dict[str, Expected] = {}
    rough: dict[str, set[str]] = {"base": set(), "candidate": set()}
    for side, trials in (("base", base), ("candidate", candidate)):
        for seed, trial in trials.items():
            for expect in expects if trial.usable else ():
                values = trial.values([str(expect.get("metric"))])
                for verdict in expected([expect], values, cell.factors):
                    text = f"{verdict.metric} of {verdict.scope} {verdict.wanted}"
                    entry = made.get(text) or Expected(text, {}, {})
                    getattr(entry, side)[seed] = verdict.ok
                    rough[side] |= {text} if verdict.rough else set()
                    broken = verdict.message if side == "candidate" and not verdict.ok else ""
                    made[text] = Expected(text, entry.base, entry.candidate, entry.found or broken)
    return [entry for text, entry in made.items() if text not in rough["base"] ^ rough["candidate"]]


def _compared(
    question: Question, scope: str, found: Sequence[Mapping[int, Sequence[MetricValue]]], rule: Rule
) -> Compared:
    metric = METRICS[question.metric]
    base, candidate = (
        {seed: next((value for value in at if value.scope == scope), None) for seed, at in side.items()}
        for side in found
    )
    notes = [value.note for value in (*base.values(), *candidate.values()) if value and value.value is None]
    return Compared(
        metric.name,
        scope,
        metric.unit,
        question.better or metric.better,
        question.minimum or _own(metric.minimum, rule),
        {seed: None if value is None else value.value for seed, value in base.items()},
        {seed: None if value is None else value.value for seed, value in candidate.items()},
        next((note for note in notes if note), None),
        unread=_by_other_means(base.values(), candidate.values()),
        within=question.within,
    )


def _by_other_means(*sides: Iterable[MetricValue | None]) -> bool:
    """Whether one kernel alone tells the quantity otherwise: by samples, say, where the other has events."""
    notes = ({value.note for value in side if value is not None} for side in sides)
    return len({bool(found & OTHERWISE) for found in notes}) > 1


def _read(entry: Compared, base: Mapping[int, Trial], candidate: Mapping[int, Trial]) -> Compared:
    """The quantity, told to be unread where the side without a value has the shorter `struct tcp_info`."""
    if entry.unread:
        return entry
    lost = [before and not after for before, after in defined(entry) if before != after]
    if not lost or len(set(lost)) > 1:
        return entry
    lacks, has = (candidate, base) if lost[0] else (base, candidate)
    lacking = next(iter(lacks.values()))
    notes = {value.note for value in lacking.values([entry.metric]) if value.value is None}
    lengths = [next(iter(side.values())).info_length for side in (lacks, has)]
    unread = NO_READING in notes and 0 < lengths[0] < lengths[1]
    return replace(entry, unread=unread)


def _own(minimum: str | None, rule: Rule) -> Tolerance:
    return share(rule.minimum) if minimum is None else Tolerance.parse(minimum)


def _tolerance(judge: Mapping[str, object], key: str) -> Tolerance | None:
    try:
        return None if judge.get(key) is None else Tolerance.parse(judge[key])
    except UnitError:  # a record of another version: what is usual there
        return None


def _is_here(judge: Mapping[str, object], factors: Mapping[str, object]) -> bool:
    where = judge.get("where")
    return matches(where, factors) if isinstance(where, dict) else True


def _mean(copies: Sequence[MetricValue], scope: str) -> MetricValue:
    known = [value.value for value in copies if value.value is not None]
    mean = fmean(known) if known else None
    return MetricValue(copies[0].metric, scope, mean, copies[0].unit, copies[0].note)


def defined(entry: Compared) -> Iterator[tuple[bool, bool]]:
    """For each seed of both sides: whether the base has a value, and the candidate."""
    for seed, value in entry.base.items():
        if seed in entry.candidate:
            yield value is not None, entry.candidate[seed] is not None
