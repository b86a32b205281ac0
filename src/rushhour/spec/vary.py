"""Cells: a scenario with values put at keys.

Takes a `Scenario`, gives the scenarios of its cells; each is complete in itself and has no sweep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushhour.spec.keys import put
from rushhour.spec.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def document(scenario: Scenario) -> dict[str, Any]:
    """Give what the scenario's author wrote, units as canonical words and every flow named."""
    return scenario.model_dump(mode="json", by_alias=True, exclude_unset=True)


def with_values(scenario: Scenario, values: Mapping[str, Any]) -> Scenario:
    """Give the scenario of one cell: the values at their keys, nothing left to vary."""
    fixed = put(document(scenario), values)
    fixed.pop("sweep", None)
    return Scenario.model_validate(fixed)


def cells(scenario: Scenario) -> Iterator[tuple[dict[str, Any], Scenario]]:
    """Give every cell in the order of the sweep, as its factors and its scenario."""
    for values in scenario.sweep.combinations():
        yield values, with_values(scenario, values)
