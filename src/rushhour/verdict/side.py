"""A side of a comparison: its cells, and of each the runs by seed.

Takes result sets, gives a `Side`. Manifests are read at once, tables only of runs that are measured.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from rushhour.errors import RecordError, ScenarioError
from rushhour.plan.cells import expand, label_of
from rushhour.record.document import write
from rushhour.record.manifest import VIRTUAL
from rushhour.record.record import Record
from rushhour.record.seal import raw_digests
from rushhour.record.verdict_file import ComparedSide
from rushhour.spec.scenario import Scenario
from rushhour.spec.sweep import Sweep, known_sweep
from rushhour.verdict.digests import packed
from rushhour.verdict.shared import Shared
from rushhour.verdict.trial import Trial

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from rushhour.baseline import Baseline
    from rushhour.metrics.value import MetricValue
    from rushhour.plan.cells import Cell
    from rushhour.record.manifest import Conditions
    from rushhour.record.result_set import ResultSet
    from rushhour.record.set_file import Unrun
    from rushhour.running.batch import Outcome

PLAN, RESULT = "plan.json", "result.json"

Key = tuple[str, str]
"""A cell by the name of its scenario and its factors as JSON in one spelling."""


@dataclass
class SideCell:
    """One cell of one side; `resolved` is its scenario in canonical form, `skipped` why it did not run."""

    scenario: str
    index: int
    factors: Mapping[str, object]
    label: str
    resolved: Mapping[str, Any] = field(default_factory=dict, repr=False)
    trials: dict[int, Trial] = field(default_factory=dict)
    skipped: str | None = None

    @property
    def key(self) -> Key:
        """What pairs it with the cell of the other side."""
        return key_of(self.scenario, self.factors)


@dataclass
class Side:
    """One side: what it is called, where it comes from, and its cells in the order of their sweeps.

    `kind` is `records`, `baseline` or `kernel`; `records` the folder they are in; `scenarios` are in
    canonical form, by name, `quick` says which of them are quick looks, and `sets` with which `--set` words
    they were asked for. `given` are facts that are known
    before anything has run.
    """

    name: str
    kind: str
    cells: dict[Key, SideCell] = field(default_factory=dict)
    records: str | None = None
    scenarios: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    quick: dict[str, bool] = field(default_factory=dict)
    sets: dict[str, Sequence[str]] = field(default_factory=dict)
    given: Mapping[str, Any] = field(default_factory=dict)

    def trials(self) -> Iterator[Trial]:
        """Every run."""
        return (trial for cell in self.cells.values() for trial in cell.trials.values())

    def fact(self, name: str) -> Any:
        """What all runs share of a fact; of kernels that of the first run that has one."""
        if name in self.given:
            return self.given[name]
        # A run that failed knows its kernel by name only.
        trials = sorted(self.trials(), key=lambda trial: not trial.ran)
        return next((trial.facts[name] for trial in trials if trial.facts.get(name)), None)

    @property
    def virtual(self) -> bool:
        """Whether its labs keep virtual time, so that runs of one seed are equal to the byte."""
        return all(trial.facts.get("lab") in (None, *VIRTUAL) for trial in self.trials())

    def document(self, folder: Path | None = None) -> ComparedSide:
        """What a verdict that lies in `folder` says of it."""
        kernel = self.fact("kernel") or {}
        return write(
            ComparedSide,
            name=self.name,
            kind=self.kind,
            kernel=dict(kernel),
            agent_sha256=self.fact("agent"),
            lab=self.fact("lab"),
            rushhour=self.fact("rushhour"),
            records=placed(self.records, folder),
        )


def placed(path: Path | str | None, folder: Path | None) -> str | None:
    """A path as a verdict in `folder` has it: relative to it; as it is where no folder is known."""
    if path is None:
        return None
    return str(path) if folder is None else os.path.relpath(path, folder)


def key_of(scenario: str, factors: Mapping[str, object]) -> Key:
    """A cell's key; a value may be a number here and its text there, and a table in another order."""
    spelled = {name: _spelled(value) for name, value in factors.items()}
    return scenario, json.dumps(spelled, sort_keys=True, ensure_ascii=False)


def _spelled(value: object) -> object:
    if isinstance(value, Mapping):
        return {name: _spelled(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_spelled(inner) for inner in value]
    return value if isinstance(value, bool) else str(value)


def of_sets(sets: Iterable[ResultSet], name: str, kind: str = "records") -> Side:
    """The side that result sets make: their runs, what failed, what was skipped.

    Raises:
        RecordError: a record cannot be read, or the runs are of several kernels.
    """
    side = Side(name, kind)
    for results in sets:
        read_set(side, results)
    images = {str((trial.facts.get("kernel") or {}).get("name")) for trial in side.trials() if trial.ran}
    if len(images) > 1:
        raise RecordError(
            f"there are runs of {len(images)} kernels: {', '.join(sorted(images))}",
            where=name,
            hint="a side has one kernel; name the kernels themselves: rushhour compare "
            + " ".join(sorted(images)[:2]),
        )
    return side


def read_set(side: Side, results: ResultSet) -> None:
    """Add the runs of a result set to a side."""
    about = results.about
    name, resolved = about.scenario.name, about.scenario.resolved
    if resolved:
        side.scenarios[name], side.quick[name] = resolved, about.quick
        side.sets[name] = about.asked.sets
    sweep = known_sweep(resolved.sweep)
    shared = Shared()
    for record in results:
        cell = _cell(side, record, sweep, shared)
        trial = of_record(record, shared)
        cell.trials[trial.seed] = trial
    for entry in about.failures:
        _add_failure(side, name, entry, sweep, skipped=False)
    for entry in about.skipped:
        _add_failure(side, name, entry, sweep, skipped=True)


def of_record(record: Record, shared: Shared | None = None) -> Trial:
    """What a comparison needs of a record."""
    manifest, files = record.manifest, record.manifest.files
    facts = facts_of(manifest)
    return Trial(
        seed=manifest.seed or 0,
        repetition=manifest.repetition,
        folder=record.path,
        key=record.key,
        digests=packed(raw_digests(files)),
        plan=files.get(PLAN),
        valid=record.valid,
        reasons=manifest.invalid_reasons,
        facts=facts if shared is None else shared.one(facts),
        beside=_beside(record),
    )


def of_baseline(one: Baseline) -> Side:
    """The side that a baseline makes; of a slim one the values that it keeps.

    Raises:
        RecordError: it is damaged.
    """
    side = Side(f"{one.name}@{one.version}", "baseline", records=None if one.slim else str(one.path))
    facts = facts_of(one.about)
    for about in one.scenarios:
        name = about.name
        side.scenarios[name], side.quick[name], side.sets[name] = about.resolved, about.quick, about.sets
        side.cells |= {made.key: made for made in _expanded(name, side.scenarios[name])}
    for run in one.runs:
        made = SideCell(run.scenario, run.cell, run.factors, label_of(run.factors, Sweep()))
        cell = side.cells.setdefault(made.key, made)
        cell.trials[run.seed] = Trial(
            run.seed, run.repetition, None if one.slim else one.path / "runs" / run.folder, run.key,
            run.raw, None, run.valid, tuple(run.invalid_reasons), facts,
            known=partial(_kept, one, run.folder) if one.slim else None,
            kept_told=run.told if one.slim else None,
        )  # fmt: skip
    for about in one.scenarios:
        sweep = known_sweep(about.resolved.sweep)
        for entry in about.skipped:
            _add_failure(side, about.name, entry, sweep, skipped=True)
    side.cells = {key: cell for key, cell in side.cells.items() if cell.trials or cell.skipped}
    return side


def _kept(one: Baseline, folder: str) -> Sequence[MetricValue]:
    return one.values()[folder]


def _expanded(name: str, resolved: Mapping[str, object]) -> list[SideCell]:
    try:
        return [cell_of(name, cell) for cell in expand(Scenario.model_validate(resolved))]
    except (ValidationError, ScenarioError):  # of another version: its cells are known by their runs
        return []


def of_outcome(outcome: Outcome) -> Trial:
    """What a comparison needs of a run that was carried out here."""
    run = outcome.run
    if outcome.folder is not None:
        return of_record(Record.open(outcome.folder))
    error = outcome.error
    return Trial(
        run.seed, run.repetition, error=None if error is None else str(error.message),
        kind=type(error).__name__, valid=False, facts={"kernel": dict(run.kernel.identity)},
    )  # fmt: skip


def _beside(record: Record) -> str:
    """The digest of a record's files and context beside its tables: what is not read need not be parsed."""
    manifest = record.manifest
    about = [manifest.files.get(name) for name in (PLAN, RESULT)]
    text = json.dumps([*about, manifest.context], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def cell_of(scenario: str, cell: Cell) -> SideCell:
    """A cell that is to run."""
    return SideCell(scenario, cell.index, cell.factors, cell.label, cell.scenario.canonical())


def facts_of(made: Conditions) -> dict[str, object]:
    """What must be equal on both sides but for the variable."""
    return {
        "kernel": made.kernel,
        "agent": made.agent.sha256,
        "lab": made.lab,
        "tools": made.tools,
        "rushhour": made.rushhour,
        "host": made.host,
    }


def _cell(side: Side, record: Record, sweep: Sweep, shared: Shared) -> SideCell:
    about, entry = record.manifest.scenario, record.manifest.cell
    label = label_of(entry.factors, sweep)
    made = SideCell(about.name, entry.index, entry.factors, label)
    cell = side.cells.setdefault(made.key, made)
    cell.resolved = cell.resolved or shared.one(about.resolved)
    return cell


def _add_failure(side: Side, name: str, entry: Unrun, sweep: Sweep, *, skipped: bool) -> None:
    if "cell" not in entry:
        return
    factors = entry.cell.factors
    made = SideCell(name, entry.cell.index, factors, label_of(factors, sweep))
    cell = side.cells.setdefault(made.key, made)
    message, seed = entry.message or "", entry.seed or 0
    if skipped:
        cell.skipped = message
        return
    facts = {"kernel": {"name": entry.kernel}}
    cell.trials.setdefault(
        seed,
        Trial(seed, entry.repetition, error=message, kind=str(entry.kind), valid=False, facts=facts),
    )
