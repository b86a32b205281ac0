"""Cells: a scenario with values put at keys.

Takes a `Scenario`, gives the scenarios of its cells; each is complete in itself and has no sweep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushhour.errors import Fault, ScenarioError
from rushhour.spec.examine import examine
from rushhour.spec.keys import UnknownKeyError, put
from rushhour.spec.settle import settle

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rushhour.spec.scenario import Scenario


def document(scenario: Scenario) -> dict[str, Any]:
    """Give what the scenario's author wrote, units as canonical words and every flow named."""
    return scenario.model_dump(mode="json", by_alias=True, exclude_unset=True)


def with_values(scenario: Scenario, values: Mapping[str, Any]) -> Scenario:
    """Give the scenario of one cell: the values at their keys, nothing left to vary.

    Raises:
        ScenarioError: a key leads nowhere, a value is malformed, or the values contradict each other.
    """
    where = ", ".join(f"{key}={value}" for key, value in values.items())
    try:
        fixed = put(document(scenario), values)
    except UnknownKeyError as error:
        raise ScenarioError([Fault(f"cell {where}", None, "", str(error), error.hint)]) from error
    fixed.pop("sweep", None)
    # Figures compare cells; the cell itself has none.
    fixed.pop("figure", None)
    fixed = settle(fixed, values)
    cell, found = examine(fixed)
    if cell is None:
        keys = (".".join(str(part) for part in problem.path) for problem in found)
        faults = [
            Fault(f"cell {where}", None, key, p.message, p.hint) for key, p in zip(keys, found, strict=True)
        ]
        raise ScenarioError(faults)
    return cell


def cells(scenario: Scenario) -> Iterator[tuple[dict[str, Any], Scenario]]:
    """Give every cell in the order of the sweep, as its factors and its scenario."""
    for values in scenario.sweep.combinations():
        yield values, with_values(scenario, values)
