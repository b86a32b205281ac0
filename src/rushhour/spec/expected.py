"""Expectations that are texts, in a document and beside a scenario: read, and checked as tables are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushhour.errors import Fault, ScenarioError
from rushhour.quantities.units import UnitError
from rushhour.spec.check.experiment import check_expect
from rushhour.spec.check.problem import Problem
from rushhour.spec.expectation import table_of
from rushhour.spec.scenario import Expect

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rushhour.spec.scenario import Scenario
    from rushhour.spec.vocabulary import Vocabulary

WHERE = "--expect"
_SHOWN = 60


def expecting(scenario: Scenario, texts: Sequence[str], words: Vocabulary | None = None) -> Scenario:
    """The scenario with these expectations and no others.

    Args:
        scenario: Any scenario.
        texts: `METRIC [of SCOPE] OPERATOR VALUE`.
        words: What is measured; without it names are taken as they are.

    Raises:
        ScenarioError: with what is wrong in each text.
    """
    faults: list[Fault] = []
    made = []
    for text in texts:
        try:
            made.append(Expect.model_validate(table_of(text, words)))
        except ValueError as error:
            faults.append(Fault(WHERE, None, _shown(text), str(error)))
    whole = scenario.model_copy(update={"expect": tuple(made)})
    for index, text in enumerate([] if faults else texts):
        wrong = check_expect(whole, index, made[index], words)
        faults += [Fault(WHERE, None, _shown(text), problem.message, problem.hint) for problem in wrong]
    if faults:
        raise ScenarioError(faults)
    return whole


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def read_expectations(
    document: Mapping[str, Any], words: Vocabulary | None = None
) -> tuple[dict[str, Any], list[Problem]]:
    """Give the document with tables for the expectations that are texts, and what is wrong with them."""
    entries = document.get("expect")
    if not isinstance(entries, list | tuple) or not any(isinstance(entry, str) for entry in entries):
        return dict(document), []
    read: list[Any] = []
    found = []
    for index, entry in enumerate(entries):
        try:
            read.append(table_of(entry, words) if isinstance(entry, str) else entry)
        except UnitError as error:
            found.append(Problem(("expect", index), str(error)))
    return dict(document) | {"expect": read}, found
