"""Cells: a scenario with values put at keys.

Takes a `Scenario`, gives the scenarios of its cells; each is complete in itself and has no sweep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushhour.errors import Fault, ScenarioError
from rushhour.spec.examine import examine
from rushhour.spec.keys import UnknownKeyError, put
from rushhour.spec.quick import as_told, by_rule, shorter
from rushhour.spec.scenario import Scenario
from rushhour.spec.settle import settle
from rushhour.spec.toml import plain_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def document(scenario: Scenario) -> dict[str, Any]:
    """Give what the scenario's author wrote, units as canonical words and every flow named."""
    return scenario.model_dump(mode="json", by_alias=True, exclude_unset=True)


# A sweep varies, figures compare cells and quick looks have fewer; the cell itself has none of them.
_OF_ALL_CELLS = ("sweep", "figure", "quick")


class Varying:
    """What cells of a scenario have in common, written down once: there may be ten thousand of them."""

    def __init__(self, scenario: Scenario) -> None:
        whole = document(scenario)
        self._common = {key: value for key, value in whole.items() if key not in _OF_ALL_CELLS}

    def at(self, values: Mapping[str, object]) -> Scenario:
        """Give the scenario of one cell: the values at their keys, nothing left to vary.

        Raises:
            ScenarioError: a key leads nowhere, a value is malformed, or the values contradict each other.
        """
        where = ", ".join(plain_words(values))
        try:
            fixed = put(self._common, values)
        except UnknownKeyError as error:
            raise ScenarioError([Fault(f"cell {where}", None, "", str(error), error.hint)]) from error
        cell, found = examine(settle(fixed, values))
        if cell is None:
            keys = (".".join(str(part) for part in problem.path) for problem in found)
            told = zip(keys, found, strict=True)
            raise ScenarioError([Fault(f"cell {where}", None, key, p.message, p.hint) for key, p in told])
        return cell


def with_values(scenario: Scenario, values: Mapping[str, object]) -> Scenario:
    """Give the scenario of one cell; see `Varying.at`."""
    return Varying(scenario).at(values)


def cells(scenario: Scenario) -> Iterator[tuple[dict[str, Any], Scenario]]:
    """Give every cell in the order of the sweep, as its factors and its scenario.

    Raises:
        ScenarioError: at the first combination that contradicts itself.
    """
    varying = Varying(scenario)
    for values in scenario.sweep.combinations():
        yield values, varying.at(values)


def quick_look(scenario: Scenario) -> Scenario:
    """Give the scenario of a quick look: as its `[quick]` says, else by rule, with one run of each cell.

    By rule a factor keeps its first, its middle and its last value, and an experiment in which no flow comes
    or goes, and which no program ends, lasts ten seconds at most.
    """
    whole = document(scenario)
    if scenario.quick:
        fewer = as_told(whole, scenario.quick)
        return Scenario.model_validate(fewer)
    fewer = by_rule(whole)
    short = shorter(fewer)
    looked, _ = examine(short) if short else (None, [])
    return looked or Scenario.model_validate(fewer)
