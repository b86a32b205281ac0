"""The rows that the database answers with: plain frozen dataclasses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class KernelRow:
    """A kernel that ran: `runs` of it, the first of them at `first` (UTC, ISO 8601)."""

    id: int
    name: str
    release: str
    identity: Mapping[str, object]
    runs: int
    first: str | None


@dataclass(frozen=True, slots=True)
class ScenarioRow:
    """A scenario with stored runs, all its revisions together; `made` is the time of the last run."""

    scenario: str
    title: str
    cells: int
    runs: int
    kernels: int
    made: str


@dataclass(frozen=True, slots=True)
class QuantityRow:
    """A metric at one scope, and of how many runs there is a value."""

    metric: str
    scope: str
    unit: str
    runs: int


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run; `made` and `folder` are those of the newest set it is in."""

    id: int
    key: str
    scenario: str
    scenario_sha256: str
    title: str
    quick: bool
    cell: int
    factors: Mapping[str, object]
    label: str
    repetition: int
    seed: int
    kernel: str
    release: str
    kernel_id: int
    agent: str
    lab: str
    valid: bool
    invalid_reasons: Sequence[str]
    warnings: Sequence[str]
    virtual_s: float | None
    elapsed_s: float | None
    raw_sha256: str
    made: str
    folder: str


@dataclass(frozen=True, slots=True)
class SetRow:
    """A result set (`kind` `set`), or the runs of one scenario of a baseline (`baseline`).

    `digest` is what it is called in every database that it is stored in.
    """

    id: int
    digest: str
    kind: str
    scenario: str
    made: str
    imported: str
    folder: str
    quick: bool
    complete: bool
    failures: Sequence[object]
    skipped: Sequence[object]
    runs: int
    kernels: Sequence[str]
    tags: Sequence[str]


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """A comparison and its verdict; `counts` are cells by verdict, `digest` as that of a set."""

    id: int
    digest: str
    made: str
    folder: str
    variable: str
    verdict: str
    base: str
    candidate: str
    base_kernel_id: int | None
    candidate_kernel_id: int | None
    rule: Mapping[str, object]
    counts: Mapping[str, int]
    elapsed_s: float | None
    tags: Sequence[str]
    departing: int
    """How many of the cells that are worse behave otherwise only, and harm nobody (docs/verdict.md)."""


@dataclass(frozen=True, slots=True)
class BaselineRow:
    """A version of a baseline."""

    name: str
    version: int
    reason: str
    folder: str
    slim: bool
    kernel: str
    release: str
    imported: str


@dataclass(frozen=True, slots=True)
class MetricVerdict:
    """One metric of a judged cell: means of both sides, relative change with its interval."""

    metric: str
    scope: str
    unit: str
    better: str
    base: float | None
    candidate: float | None
    change: float | None
    low: float | None
    high: float | None
    verdict: str
    reason: str


@dataclass(frozen=True, slots=True)
class CellVerdict:
    """One cell of a comparison."""

    id: int
    comparison_id: int
    scenario: str
    title: str
    cell: int
    factors: Mapping[str, object]
    label: str
    guards: str
    verdict: str
    reason: str
    identical: bool
    seeds: Sequence[int]
    departs: bool
    """Whether it is `worse` for metrics alone that have no better side."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two runs of a cell, repetition and seed on two kernels; `identical` if all that is read of them is."""

    base: RunRow
    candidate: RunRow

    @property
    def identical(self) -> bool:
        """Whether every raw table has the same bytes, and the records tell the same beside them."""
        return self.base.raw_sha256 == self.candidate.raw_sha256


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import found and how much of it was new. `runs` and the others count what is in the folder."""

    sets: int
    runs: int
    comparisons: int
    baselines: int
    new: int
