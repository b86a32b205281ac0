"""Checks of loads: where they are, and that their keys belong to their kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.spec.check.problem import REAL_TIME_ONLY, Path, Problem
from rushhour.spec.graph import nodes
from rushhour.spec.keys import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.spec.loads import Load
    from rushhour.spec.scenario import Scenario

_ONLY = {"share": "cpu", "size": "memory", "limit": "memory"}


def check_loads(scenario: Scenario) -> Iterator[Problem]:
    """Check every load."""
    if scenario.load and scenario.virtual:
        yield Problem(
            ("load",), "computing takes no virtual time, in which the scenario may run", REAL_TIME_ONLY
        )
    names: set[str] = set()
    known = nodes(scenario)
    for index, load in enumerate(scenario.load):
        here = ("load", index)
        if load.label in names:
            yield Problem(
                (*here, "name"), f'"{load.label}" is already the name of a load', "give each one of its own"
            )
        names.add(load.label)
        if load.node not in known:
            yield Problem((*here, "node"), f'no node is named "{load.node}"', nearest(load.node, known))
        yield from _check_keys(load, here)
        if scenario.span.ns > 0 and load.start.ns >= scenario.span.ns:
            yield Problem(
                (*here, "start"), "begins after the end of the experiment", f"it lasts {scenario.span}"
            )


def _check_keys(load: Load, here: Path) -> Iterator[Problem]:
    for key, kind in _ONLY.items():
        if getattr(load, key) is not None and load.kind != kind:
            yield Problem((*here, key), f"means nothing to a load of {load.kind}", f"it is {kind}'s")
    if load.kind == "memory" and load.size is None:
        yield Problem(here, "memory of what size?", 'write for example size = "512MB"')
    if load.limit is not None and load.size is not None and load.limit.bytes >= load.size.bytes:
        yield Problem(
            (*here, "limit"), "holds all of it: nothing is swapped", "a limit is smaller than the size"
        )
    if load.limit is not None and load.generator == "stress-ng":
        yield Problem((*here, "limit"), "is kept by the agent's own load only", "leave generator out")
