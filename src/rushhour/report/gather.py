"""From a result set to what is drawn: one run after the other, so that memory stays flat."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from sys import intern
from typing import TYPE_CHECKING, Protocol

from rushhour.record.record import Record
from rushhour.report.brief import Brief, Briefs
from rushhour.report.lean import Lean
from rushhour.report.model import kernel_name, said, view
from rushhour.spec.sweep import known_sweep
from rushhour.summary import index
from rushhour.summary.measured import metrics_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from rushhour.metrics.value import MetricValue
    from rushhour.record.manifest import Manifest
    from rushhour.record.result_set import ResultSet
    from rushhour.record.set_file import Unrun
    from rushhour.report.model import RunView


class Taker(Protocol):
    """Takes something of runs while they are read."""

    def wants(self, factors: Mapping[str, object]) -> bool:
        """Whether it takes something of the run of these factors, of which it is told in order."""
        ...

    def take(self, record: Record, metrics: Sequence[MetricValue], run: int) -> None:
        """Take it; `run` is its position."""
        ...


POINTS = 1_200_000
"""Samples drawn in one report, all runs together; runs get equal shares, and so do the curves of a run."""
MAX_POINTS = 400_000
"""Samples drawn of one run."""
_GOLDEN = (5**0.5 - 1) / 2
NAMED = 6
"""Cells that are named beside a reason why they did not run."""
MAX_DRAWN = 400
"""Runs whose curves a report holds; of more, evenly chosen ones."""


HELD = 400
"""Runs up to which each is opened once: its manifest is held until its turn, some 60 kB."""


@dataclass(frozen=True)
class About:
    """What the runs of a set have in common, read from the first: words for the head of a report.

    `changed` are the words of `--set`; `skipped` and `failed` are pairs of a cell in words and the reason why
    it has no run.
    """

    title: str
    question: str
    description: str
    source: str
    runs: int
    manifest: Manifest
    quick: bool = False
    changed: tuple[str, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    failed: tuple[tuple[str, str], ...] = ()


def about(results: ResultSet) -> About:
    """The head of the report."""
    first = next(iter(results)).manifest
    scenario, resolved = first.scenario, first.scenario.resolved
    source = resolved.source
    origin = "; ".join(said(part) for part in (source.document, source.section, source.figures) if part)
    unsaid = known_sweep(results.about.scenario.resolved.sweep).unsaid
    title = scenario.title or resolved.title or scenario.name or results.path.name
    return About(
        title,
        resolved.question,
        resolved.description,
        origin,
        len(results),
        first,
        results.about.quick,
        results.about.asked.sets,
        reasons(results.about.skipped, unsaid),
        reasons(results.about.failures, unsaid),
    )


def reasons(found: Sequence[Unrun], unsaid: frozenset[str]) -> tuple[tuple[str, str], ...]:
    """What did not run and why, as `set.json` keeps it: cells in words, and a reason; each reason once."""
    short = _short({name: None for entry in found for name in entry.cell.factors if name not in unsaid})
    cells: dict[str, dict[str, None]] = {}
    for entry in found:
        factors = entry.cell.factors
        label = " · ".join(f"{name} {said(factors[key])}" for key, name in short.items() if key in factors)
        reason = "no reason was recorded" if entry.message is None else entry.message
        cells.setdefault(reason, {})[label or "the only cell"] = None
    return tuple((_listed(list(labels)), reason) for reason, labels in cells.items())


def _listed(labels: list[str]) -> str:
    more = f" and {len(labels) - NAMED} more" if len(labels) > NAMED else ""
    return "; ".join(labels[:NAMED]) + more


def views(
    results: ResultSet,
    *,
    curves: bool = True,
    explained: bool = False,
    total_points: int = POINTS,
    also: Taker | None = None,
    verify: bool = True,
) -> Iterator[RunView]:
    """The runs of a set, each with its metrics, factors and curves.

    A run's factors are its cell's, by short names, without those that a label speaks for, and `kernel` and
    `repetition` where these differ within the set. Without `curves` no series is read. Why a flow was as
    fast as it was stands beside its curves; with `explained` also where there are none. `also` takes what it
    wants of a record while it is open. Every file of every record is looked through first, unless whoever
    asks has just done so: `verify`. Of a large set most records are opened once, then.
    """
    known = results.once(indexed)
    large = len(results) > index.WHOLE
    briefs = results.once(Briefs) if large else None
    found: Sequence[Brief | _Found] = briefs.get(verify=verify) if briefs else _few(results, verify=verify)
    several = len({one.place[1] for one in found}) > 1, len({one.place[2] for one in found}) > 1
    order = sorted(range(len(found)), key=lambda place: found[place].place)
    drawn = set(_chosen(order, large=large)) if curves else set()
    share = min(MAX_POINTS, total_points // max(1, len(drawn)))
    unsaid = known_sweep(results.about.scenario.resolved.sweep).unsaid
    short = _short({name: None for one in found for name in one.factors if name not in unsaid})
    lean = None if briefs is None else Lean(results, briefs)
    for position, place in enumerate(order):
        one = found[place]
        results.tell(f"reading run {position + 1} of {len(order)}")
        factors = _factors(one, short, kernels=several[0], repetitions=several[1])
        record = None if isinstance(one, Brief) else one.opened()
        metrics = known.get(one.path.name) or metrics_of(record or Record.open(one.path))
        if also is not None and also.wants(one.factors):
            record = record or Record.open(one.path)
            also.take(record, metrics, position)
        points = share if place in drawn else 0
        if lean is not None and isinstance(one, Brief) and not points:
            yield lean.view(one, metrics, factors)
        else:
            beside = explained or points > 0
            record = record or Record.open(one.path)
            yield view(record, metrics, factors=factors, points=points, explained=beside)


def _few(results: ResultSet, *, verify: bool) -> list[_Found]:
    keep = len(results) <= HELD
    records = results if verify else map(Record.open, results.folders())
    return [_Found.of(record, keep=keep) for record in records]


def _factors(
    run: Brief | _Found, short: Mapping[str, str], *, kernels: bool, repetitions: bool
) -> dict[str, object]:
    """The factors of a run by what a report calls them; `kernels`, `repetitions`: these differ in the set."""
    factors = {name: run.factors[key] for key, name in short.items() if key in run.factors}
    if kernels:
        factors["kernel"] = run.place[1]
    if repetitions:
        factors["repetition"] = str(run.place[2])
    return factors


def _chosen(order: Sequence[int], *, large: bool) -> Sequence[int]:
    """The runs whose curves are drawn, evenly chosen."""
    if not large:
        return order[:: -(-len(order) // MAX_DRAWN)]
    # Steps of one length would meet the same levels of the inner factors again and again.
    return [order[int(place * _GOLDEN % 1 * len(order))] for place in range(MAX_DRAWN)]


@dataclass(slots=True)
class _Found:
    """What the order of a report needs of a run; of few the record, of which its manifest was read."""

    path: Path
    place: tuple[int, str, int]
    factors: Mapping[str, object]
    kept: Record | None = None

    @classmethod
    def of(cls, record: Record, *, keep: bool) -> _Found:
        manifest = record.manifest
        place = (manifest.cell.index, intern(kernel_name(manifest.kernel)), manifest.repetition)
        return cls(record.path, place, record.factors, record if keep else None)

    def opened(self) -> Record:
        """The record, which this keeps no longer: once read it is large."""
        record, self.kept = self.kept, None
        return Record.open(self.path) if record is None else record


def _short(names: Iterable[str]) -> dict[str, str]:
    """Factors by the last part of their name (`topology.rtt` is `rtt`), where that says which."""
    names = list(names)
    lasts = Counter(name.rpartition(".")[2] for name in names)
    taken = {"kernel", "repetition"}
    return {
        name: last if lasts[last := name.rpartition(".")[2]] == 1 and last not in taken else name
        for name in names
    }


def indexed(results: ResultSet) -> Mapping[str, Sequence[MetricValue]]:
    """The metrics of each run's folder as the index of the set has them; empty if it has no index."""
    return index.values(results) if index.is_written(results) else {}
