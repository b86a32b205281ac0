"""Lanes: the two sides of a comparison as they get their runs.

A side whose kernel is built here can have as many runs as it takes; of recorded runs there are as many as
there are, unless their very kernel and agent are at hand.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from rushhour.errors import UsageError
from rushhour.lab import kernel as kernels
from rushhour.lab.manifest import host
from rushhour.plan import Cell, derive_seed
from rushhour.quantities.words import plural
from rushhour.record.folders import write_sets
from rushhour.record.manifest import VIRTUAL
from rushhour.record.result_set import ResultSet
from rushhour.running.batch import Batch, Run
from rushhour.spec import Scenario
from rushhour.verdict.side import Side, cell_of, of_outcome
from rushhour.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rushhour.lab.base import Lab
    from rushhour.lab.kernel import Kernel
    from rushhour.running.batch import Outcome
    from rushhour.verdict.side import Key
    from rushhour.verdict.trial import Trial

# Runs of a cell in the numbers of a set's runs: later seeds then stand with the earlier ones of their cell.
STRIDE = 100
"""Most runs of a cell."""


@dataclass
class Lane:
    """One side, and the batches in which further runs of it are kept; none where it cannot run."""

    side: Side
    batches: dict[str, Batch] = field(default_factory=dict)
    asked: set[tuple[Key, int]] = field(default_factory=set)

    @property
    def runs(self) -> bool:
        """Whether it can have more runs."""
        return bool(self.batches)

    def wanted(self, key: Key, cell: Cell, repetition: int) -> Iterator[tuple[Batch, Run]]:
        """The run of a repetition, unless it is there, was asked for, or cannot be."""
        batch, seed = self.batches.get(key[0]), seed_of(cell, repetition)
        known = self.side.cells[key].trials
        if batch is None or seed in known or (key, repetition) in self.asked:
            return
        self.asked.add((key, repetition))
        number = cell.index * STRIDE + repetition
        yield batch, Run(number, cell, batch.kernels[0], repetition, seed)

    def add(self, key: Key, outcome: Outcome) -> None:
        """Take an outcome in."""
        cell = self.side.cells[key]
        if outcome.skipped:
            assert outcome.error is not None
            cell.skipped = outcome.error.message
        else:
            cell.trials[outcome.run.seed] = of_outcome(outcome)

    def again(self, key: Key, cell: Cell, trial: Trial) -> tuple[Batch, Run] | None:
        """A run that this lane made, to be made again in its place; None of records that were given."""
        batch = self.batches.get(key[0])
        if batch is None or trial.folder is None or batch.folder not in trial.folder.parents:
            return None
        number = cell.index * STRIDE + trial.repetition
        return batch, Run(number, cell, batch.kernels[0], trial.repetition, trial.seed)

    def close(self, folder: Path, *, complete: bool) -> None:
        """Say in each set, and beside them, what there is."""
        used = [batch for batch in self.batches.values() if batch.failures or batch.folder.is_dir()]
        for batch in used:
            batch.write_about(complete=complete and not batch.failures)
        if used:
            write_sets([ResultSet(batch.folder) for batch in used], folder)


def of_kernel(one: Kernel, batches: Sequence[Batch], folder: Path, given: dict[str, object]) -> Lane:
    """The lane of a kernel that runs these batches, its records in `folder`."""
    side = Side(one.name, "kernel", given={**given, "kernel": dict(one.identity)}, records=str(folder))
    made = {}
    for batch in batches:
        side.scenarios[batch.name] = batch.scenario.canonical()
        side.quick[batch.name] = batch.quick
        made[batch.name] = moved(batch, one, folder)
        for cell in batch.cells:
            new = cell_of(batch.name, cell)
            side.cells[new.key] = new
    return Lane(side, made)


def only(side: Side, names: Sequence[str]) -> None:
    """Leave a recorded side the cells of these scenarios (all, if none is named), by name or its last part.

    Raises:
        UsageError: a named scenario has no cells there.
    """
    there = {key[0] for key in side.cells}
    chosen = {name: {one for one in there if _is_called(one, name)} for name in names}
    lost = [name for name, found in chosen.items() if not found]
    if lost:
        hint = f"it has: {', '.join(sorted(there))}"
        raise UsageError(f"{side.name} has no runs of {', '.join(lost)}", hint=hint)
    if names:
        kept = {one for found in chosen.values() for one in found}
        side.cells = {key: cell for key, cell in side.cells.items() if key[0] in kept}


def _is_called(scenario: str, word: str) -> bool:
    """Whether a word on the command line means this scenario: its name, its file, or its study."""
    word = word.removesuffix(".toml")
    return word in (scenario, scenario.partition("/")[0]) or Path(word).name == scenario.rpartition("/")[2]


def of_records(side: Side, folder: Path, given: dict[str, object]) -> Lane:
    """The lane of recorded runs; where their kernel and agent are here, it can have more."""
    one = built(side) if side.fact("agent") == given["agent"] and side.fact("lab") in VIRTUAL else None
    if one is None:
        return Lane(side)
    batches = batches_of(side, one)
    return Lane(side, {batch.name: moved(batch, one, folder) for batch in batches})


def built(side: Side) -> Kernel | None:
    """The kernel whose very image made a side's runs, if it is in the store."""
    image = (side.fact("kernel") or {}).get("image_sha256")
    return next((one for one in kernels.installed() if one.identity.get("image_sha256") == image), None)


def batches_of(side: Side, one: Kernel) -> list[Batch]:
    """What was recorded, to be run again: its scenarios as they were then, on this kernel.

    Raises:
        UsageError: they are of a version that cannot be read.
    """
    cells: dict[str, list[Cell]] = {}
    wholes: dict[str, Scenario] = {}
    try:
        for cell in side.cells.values():
            made = Cell(cell.index, dict(cell.factors), Scenario.model_validate(cell.resolved), cell.label)
            cells.setdefault(cell.scenario, []).append(made)
        for name, mine in cells.items():
            whole = side.scenarios.get(name)
            wholes[name] = mine[0].scenario if whole is None else Scenario.model_validate(whole)
    except ValidationError as error:
        raise UsageError(
            f"the scenarios of {side.name} are of another version: "
            f"{plural(error.error_count(), 'unknown key')}",
            hint="run both sides with this rushhour",
        ) from error
    return [
        Batch(
            name, wholes[name], mine, [one], wholes[name].repeat, wholes[name].seed,
            side.quick.get(name, False), Path(name), asked={"sets": [*words]} if words else {},
        )
        for name, mine in cells.items()
        for words in [side.sets.get(name, ())]
    ]  # fmt: skip


def moved(batch: Batch, one: Kernel, folder: Path) -> Batch:
    """The same runs on this kernel, kept in this folder, under the last part of the scenario's name."""
    place = folder / batch.name.rpartition("/")[2]
    return replace(batch, kernels=[one], folder=place, failures=[], skipped=[])


def seed_of(cell: Cell, repetition: int) -> int:
    """The seed of a repetition; cells of a scenario share theirs."""
    return derive_seed(cell.scenario.seed, repetition)


def facts(lab: Lab) -> dict[str, Any]:
    """What is known of runs to come in a lab."""
    agent = getattr(lab, "agent", None)
    return {
        "agent": None if agent is None else agent.sha256,
        "lab": lab.name,
        "rushhour": __version__,
        "host": dict(host()),
    }
