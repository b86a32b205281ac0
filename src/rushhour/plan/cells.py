"""A sweep counted out: every combination of the factors as a scenario of its own, and the seeds of runs.

Takes a `Scenario`, gives `Cell`s; a cell's scenario has nothing left to vary.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rushhour import spec
from rushhour.errors import Fault, ScenarioError
from rushhour.quantities.factors import matches
from rushhour.spec.sweep import SKIP
from rushhour.spec.toml import inline, plain_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rushhour.spec.scenario import Scenario
    from rushhour.spec.sweep import Sweep

NAMED = 3  # combinations that a fault names
SEED_BITS = 52  # integers that survive a reader that keeps all numbers as doubles


@dataclass(frozen=True)
class Cell:
    """One combination: its place in the sweep, its factors as `{key: value}`, its scenario, its name."""

    index: int
    factors: dict[str, object] = field(hash=False)
    scenario: Scenario
    label: str
    """The factors in one line: `cc=reno, topology.rtt=10ms`; empty where nothing varies.

    Values are as `--set` takes them: `ecn=true, topology.police={ rate = "2mbit" }`. A label speaks for the
    factors that vary with it.
    """


def expand(scenario: Scenario) -> list[Cell]:
    """Give all cells of a scenario, the last factor varying fastest; one cell where nothing varies.

    Raises:
        ScenarioError: combinations contradict themselves; one fault for each contradiction names them.
    """
    made: list[Cell] = []
    wrong: dict[tuple[str, str, str | None], list[Mapping[str, Any]]] = {}
    varying = spec.Varying(scenario)
    for values in scenario.sweep.combinations():
        try:
            made.append(Cell(len(made), values, varying.at(values), label_of(values, scenario.sweep)))
        except ScenarioError as error:
            for fault in error.faults:
                wrong.setdefault((fault.key, fault.message, fault.hint), []).append(values)
    if wrong:
        raise ScenarioError([_fault(*what, values, scenario) for what, values in wrong.items()])
    return made


def _fault(
    key: str, message: str, hint: str | None, values: Sequence[Mapping[str, object]], scenario: Scenario
) -> Fault:
    """What contradicts itself in which combinations, and how to leave them out."""
    shown = "; ".join(_label(cell) for cell in values[:NAMED])
    more = f" and {len(values) - NAMED} more" if len(values) > NAMED else ""
    many = f"{len(values)} of {scenario.sweep.size} combinations" if len(values) > 1 else "the combination"
    skip = f"{SKIP} = {inline([_common(values, scenario)])}" if values[0] else ""
    hints = [hint, f"or leave out what cannot be, in [sweep]: {skip}" if skip else None]
    return Fault(
        f"{many} {shown}{more}".strip(), None, key, message, "; ".join(part for part in hints if part) or None
    )


def _common(values: Sequence[Mapping[str, object]], scenario: Scenario) -> dict[str, object]:
    """The fewest values that name these combinations and no others; of the first alone if there are none."""
    shared = {key: level for key, level in values[0].items() if all(cell[key] == level for cell in values)}
    named = sum(matches(shared, cell) for cell in scenario.sweep.combinations())
    return shared if shared and named == len(values) else dict(values[0])


def label_of(factors: Mapping[str, object], sweep: Sweep) -> str:
    """The name of a cell of this sweep (`Cell.label`)."""
    return _label({key: value for key, value in factors.items() if key not in sweep.unsaid})


def _label(values: Mapping[str, object]) -> str:
    return ", ".join(plain_words(values))


def derive_seed(base: int, repetition: int) -> int:
    """Give the seed of a repetition: the scenario's own for the first, then a stable hash of both.

    All cells of a sweep share their seeds on purpose (common random numbers): repetition k of every cell
    meets the same losses and the same jitter by packet number, so cells are compared like with like, and a
    cell's runs do not change when a factor gets another value.
    """
    if repetition == 0:
        return base
    digest = hashlib.sha256(f"repetition/{base}/{repetition}".encode()).digest()
    return int.from_bytes(digest[:8]) >> (64 - SEED_BITS)
