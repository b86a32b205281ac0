"""Carries out the cells by which a kernel is trained: an image that counts in, its counters out."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.lab import agent as agents
from rushhour.lab import uml
from rushhour.lab.base import canonical
from rushhour.lab.confine import Guest, Limits, Sandbox
from rushhour.lab.ending import result_of
from rushhour.plan import derive_seed, expand, lower
from rushhour.record import counts
from rushhour.spec import parse_scenario

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rushhour.plan import Lowered

# Generous, as where a kernel is started for the first time.
_LIMITS = Limits(timeout_s=300, stall_s=60)


def require() -> None:
    """Say early what would keep a cell from being run.

    Raises:
        LabError: this is no machine for virtual kernels, or there is no agent.
    """
    uml.require()
    agents.find()


def plans(scenarios: Sequence[tuple[str, str]]) -> Iterator[tuple[str, Lowered]]:
    """The plans of all cells of scenarios, each with its name."""
    for name, text in scenarios:
        for cell in expand(parse_scenario(text, name)):
            seed = derive_seed(cell.scenario.seed, 0)
            yield f"{name} {cell.label}".strip(), lower(cell.scenario, seed)


def carry_out(image: Path, name: str, cell: Lowered) -> dict[str, bytes]:
    """The counters that an image leaves of a cell, by object.

    Raises:
        LabError: it cannot be run here, or fails.
        RecordError: it left no counters.
    """
    agent = agents.find()
    with (
        tempfile.TemporaryDirectory(prefix="rushhour-training-") as folder,
        Sandbox(Path(folder), image.resolve(), agent.root) as sandbox,
    ):
        (sandbox.out / "plan.json").write_text(canonical(cell.plan) + "\n", encoding="utf-8")
        memory, sockets = uml.memory(cell.plan, cell.context), uml.hash_entries(cell.plan)
        words = uml.command(image, memory, cell.plan.seed, sockets=sockets)
        ending = Guest(agent.binary, sandbox, words, limits=_LIMITS).wait()
        result_of(ending, sandbox, name)
        return counts.left(sandbox.out)
