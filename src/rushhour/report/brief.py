"""What a report of a large set needs of each run: each record is opened once, and nothing else of it kept.

A hundred thousand of them are in memory at once, so each shares with others whatever is equal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from sys import intern
from typing import TYPE_CHECKING, Any, TypeVar

from rushhour.record.record import Record
from rushhour.report.model import kernel_name, view
from rushhour.summary import index
from rushhour.summary.expectations import faults, judge

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence
    from pathlib import Path

    from rushhour.metrics.value import MetricValue
    from rushhour.record.result_set import ResultSet
    from rushhour.report.model import RunView
    from rushhour.summary.expectations import Verdict

T = TypeVar("T")
Expects = tuple["Mapping[str, Any]", ...]


@dataclass(slots=True)
class Brief:
    """One run. `place` is its place in the order of a report: cell, kernel, repetition."""

    path: Path
    place: tuple[int, str, int]
    cell: tuple[int, str]
    factors: Mapping[str, object]
    seed: int
    valid: bool
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]
    faults: tuple[Verdict, ...]
    expects: Expects

    def judged(self, values: Sequence[MetricValue]) -> list[Verdict]:
        """As `rushhour.summary.expectations.check` judges its record."""
        return [*self.faults, *(judge(self.expects, values, self.factors) if self.expects else ())]


class Briefs:
    """The runs of a set, read when they are first asked for; `results.once(Briefs)` has them for all."""

    def __init__(self, results: ResultSet) -> None:
        self._results = results
        self._found: list[Brief] = []
        self._verified = False
        self._shared: dict[Hashable, Any] = {}
        self.first: dict[tuple[int, str], RunView] = {}
        """What the runs of a cell have in common, from the first of them."""

    def get(self, *, verify: bool) -> Sequence[Brief]:
        """All of them in the order of their folders; with `verify` every file of each was looked through.

        Raises:
            RecordError: a record cannot be read, or was changed.
        """
        if not self._found or (verify and not self._verified):
            opened = Record.verified if verify else Record.open
            self._found = [self._brief(opened(folder)) for folder in self._results.folders()]
            self._verified = verify
        return self._found

    def _brief(self, record: Record) -> Brief:
        manifest = record.manifest
        cell = (manifest.cell.index, intern(manifest.kernel.name))
        if cell not in self.first:
            common = view(record, (), factors={}, points=0, explained=False)
            self.first[cell] = replace(common, verdicts=(), command="")
        expects = manifest.scenario.resolved.expect
        return Brief(
            path=record.path,
            place=(cell[0], intern(kernel_name(manifest.kernel)), manifest.repetition),
            cell=cell,
            factors=self._one(repr(record.factors), record.factors),
            seed=manifest.seed or 0,
            valid=manifest.valid,
            reasons=manifest.invalid_reasons,
            warnings=tuple(map(intern, manifest.warnings)),
            faults=tuple(faults(record)),
            expects=self._one(repr(expects), expects) if expects else (),
        )

    def _one(self, which: Hashable, value: T) -> T:
        """The first value that was the same."""
        found: T = self._shared.setdefault(which, value)
        return found


def named(results: ResultSet) -> Mapping[str, Brief]:
    """The runs of a large set by the names of their folders; nothing of a set whose records are soon read."""
    if len(results) <= index.WHOLE:
        return {}
    return {one.path.name: one for one in results.once(Briefs).get(verify=False)}
