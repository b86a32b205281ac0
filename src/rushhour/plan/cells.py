"""A sweep counted out: every combination of the factors as a scenario of its own, and the seeds of runs.

Takes a `Scenario`, gives `Cell`s; a cell's scenario has nothing left to vary.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rushhour import spec

if TYPE_CHECKING:
    from rushhour.spec.scenario import Scenario

SEED_BITS = 52  # integers that survive a reader that keeps all numbers as doubles


@dataclass(frozen=True)
class Cell:
    """One combination: its place in the sweep, its factors as `{key: value}`, its scenario."""

    index: int
    factors: dict[str, Any] = field(hash=False)
    scenario: Scenario

    @property
    def label(self) -> str:
        """The factors in one line: `cc=reno, topology.rtt=10ms`; empty where nothing varies."""
        return ", ".join(f"{key}={value}" for key, value in self.factors.items())


def expand(scenario: Scenario) -> list[Cell]:
    """Give all cells of a scenario, the last factor varying fastest; one cell where nothing varies.

    Raises:
        ScenarioError: a combination contradicts itself; the error names its values.
    """
    return [Cell(index, factors, cell) for index, (factors, cell) in enumerate(spec.cells(scenario))]


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
