"""What a comparison found: `verdict.json`, typed (docs/verdict.md)."""

from __future__ import annotations

from collections.abc import Mapping

from rushhour.record.document import EMPTY, Document
from rushhour.record.manifest import Kernel

FORMAT = "rushhour-verdict/1"
AGAIN = "compare again, or take it from a copy"
"""What to do about a verdict that is missing or damaged."""


class ComparedSide(Document):
    """The base or the candidate: a kernel, or records."""

    name: str | None = None
    kind: str | None = None
    kernel: Kernel = Kernel()
    agent_sha256: str | None = None
    lab: str | None = None
    rushhour: str | None = None
    records: str | None = None


class RuleFile(Document):
    """By what the comparison decided."""

    minimum: float = 0
    confidence: float = 0
    seeds: int | None = None
    max_seeds: int | None = None


class Statistics(Document):
    """A metric over the `n` runs of one side."""

    n: int = 0
    mean: float | None = None
    min: float | None = None
    max: float | None = None
    values_: tuple[float, ...] = ()


class JudgedMetric(Document):
    """A metric of a cell, judged; intervals are a low and a high end."""

    metric: str
    scope: str = ""
    unit: str = ""
    better: str = ""
    base: Statistics = Statistics()
    candidate: Statistics = Statistics()
    change: float | None = None
    interval: tuple[float, ...] = ()
    difference: float | None = None
    difference_interval: tuple[float, ...] = ()
    minimum: str = ""
    least: float = 0
    within: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    needed: int | None = None
    verdict: str
    reason: str = ""


class ComparedRun(Document):
    """A run of a side; `error` holds the last words of one that failed."""

    seed: int | None = None
    folder: str | None = None
    key: str | None = None
    valid: bool | None = None
    invalid_reasons: tuple[str, ...] = ()
    error: str | None = None


class ComparedRuns(Document):
    """The runs of both sides."""

    base: tuple[ComparedRun, ...] = ()
    candidate: tuple[ComparedRun, ...] = ()


class JudgedExpectation(Document):
    """An expectation of the scenario, and whether each side kept it; None: it did not run."""

    text: str
    base: bool | None = None
    candidate: bool | None = None

    @property
    def broken(self) -> bool:
        """Whether the base kept it and the candidate did not."""
        return self.base is True and self.candidate is False

    @property
    def mended(self) -> bool:
        """Whether the candidate keeps it and the base did not."""
        return self.base is False and self.candidate is True


class EarlierDifference(Document):
    """A difference that came first, and is less than a decision; `event` is its number in its stream."""

    kind: str = ""
    t_ns: int = 0
    table: str = ""
    event: int = 0
    differs: tuple[str, ...] = ()
    sentence: str = ""


class DivergenceFile(EarlierDifference):
    """Where two runs part; `before` and `after` are the rows around it, by side."""

    seed: int | None = None
    flow: str | None = None
    end: str | None = None
    before: Mapping[str, tuple[Mapping[str, object], ...]] = EMPTY
    after: Mapping[str, tuple[Mapping[str, object], ...]] = EMPTY
    earlier: tuple[EarlierDifference, ...] = ()
    notes: tuple[str, ...] = ()


class KnownChange(Document):
    """A change of the kernel that explains cells."""

    commit: str = ""
    subject: str = ""
    since: str = ""
    why: str = ""
    proof: str = ""
    also: tuple[str, ...] = ()
    cells: int = 0


class KnownChanges(Document):
    """The changes that were seen, and how many cells that changed none of them explains."""

    changes: tuple[KnownChange, ...] = ()
    explained: int | None = None
    unexplained: int | None = None


class ComparedCell(Document):
    """One cell: its runs, what was judged of it, and the verdict.

    `calls` are functions that differ between both kernels: the cell calls one of them before both part.
    `sets` are the `--set` words that its runs were asked with.
    """

    scenario: str
    title: str = ""
    cell: int = 0
    factors: Mapping[str, object] = EMPTY
    label: str = ""
    quick: bool = False
    sets: tuple[str, ...] = ()
    guards: str = ""
    verdict: str
    reason: str = ""
    identical: bool = False
    seeds: tuple[int, ...] = ()
    runs: ComparedRuns = ComparedRuns()
    metrics: tuple[JudgedMetric, ...] = ()
    expectations: tuple[JudgedExpectation, ...] = ()
    warnings: tuple[str, ...] = ()
    divergence: DivergenceFile | None = None
    calls: tuple[str, ...] = ()
    known: tuple[KnownChange, ...] = ()

    @property
    def broken(self) -> list[str]:
        """The expectations that the base kept and the candidate did not."""
        return [one.text for one in self.expectations if one.broken]

    @property
    def mended(self) -> list[str]:
        """The expectations that the base broke and the candidate keeps."""
        return [one.text for one in self.expectations if one.mended]


class MissingCell(Document):
    """A cell that was not compared, and why."""

    scenario: str
    label: str = ""
    reason: str = ""


class ChangedKey(Document):
    """A key of the scenario that differs between runs of one kernel."""

    scenario: str = ""
    key: str
    base: object = None
    candidate: object = None


class VerdictFile(Document):
    """All that a comparison found.

    `variable` is what differs: a word, or a list of them. `commit` is the one commit in which two kernels of
    a git tree differ, where that is known.
    """

    format: str = ""
    rushhour: str = ""
    made: str = ""
    verdict: str
    exit: int = 0
    variable: object = None
    commit: str = ""
    base: ComparedSide
    candidate: ComparedSide
    rule: RuleFile = RuleFile()
    counts: Mapping[str, int] = EMPTY
    elapsed_s: float = 0
    stopped: bool = False
    planned: int = 0
    changed: tuple[ChangedKey, ...] = ()
    notes: tuple[str, ...] = ()
    missing: tuple[MissingCell, ...] = ()
    cells: tuple[ComparedCell, ...]
    known: KnownChanges = KnownChanges()
    next: tuple[str, ...] = ()

    @property
    def sides(self) -> tuple[ComparedSide, ComparedSide]:
        """The base and the candidate."""
        return self.base, self.candidate
