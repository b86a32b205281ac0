"""A scenario with another judge than its own, checked as one that stands in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from rushhour.errors import Fault, ScenarioError
from rushhour.spec.check.judging import check_judging
from rushhour.spec.judge import Judge

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.spec.scenario import Scenario
    from rushhour.spec.vocabulary import Vocabulary

WHERE = "the metric asked for"


def judged_by(scenario: Scenario, judge: Mapping[str, object], words: Vocabulary | None = None) -> Scenario:
    """The scenario judged by one metric and nothing else, no expectations either.

    Args:
        scenario: Any scenario.
        judge: The keys of a `[[judge]]` table.
        words: What is measured; without it the metric is not checked.

    Raises:
        ScenarioError: the metric or flow is unknown, or the least difference is invalid.
    """
    try:
        one = Judge.model_validate(dict(judge))
    except ValidationError as error:
        faults = [
            Fault(WHERE, None, ".".join(map(str, found["loc"])), _said(found["msg"]))
            for found in error.errors()
        ]
        raise ScenarioError(faults) from error
    made = scenario.model_copy(update={"judge": (one,), "expect": ()})
    wrong = list(check_judging(made, words))
    if wrong:
        raise ScenarioError(
            [Fault(WHERE, None, str(problem.path[-1]), problem.message, problem.hint) for problem in wrong]
        )
    return made


def _said(message: str) -> str:
    return message.removeprefix("Value error, ")
