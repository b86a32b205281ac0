"""What decides a scenario when two sides are compared: the metrics, the least differences, and what for.

guards = "{cc} would leave slow start too late (hystart_update, RFC 9406)"

[[judge]]
metric = "goodput_bps"
flow = "long"
minimum = "2%"
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from rushhour.quantities.measures import Tolerance
from rushhour.spec.model import Model

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


class Judge(Model):
    """A metric that decides whether a candidate is the same, better or worse in this scenario."""

    metric: str = Field(
        min_length=1, max_length=200, description="name of a metric: utilization, goodput_bps, …"
    )
    flow: str | None = Field(None, description="of this flow only; the name of copies means their mean")
    scope: str | None = Field(
        None,
        description="of this scope of the metric only: a queue, a direction, total; default total, else "
        "every scope",
    )
    where: dict[str, Any] = Field(
        default_factory=dict,
        description="in these cells only: a value, or a list of values, for each factor named",
    )
    better: Literal["higher", "lower", "none"] | None = Field(
        None,
        description='which side is better in this scenario: "higher", "lower", or "none": what was asked for '
        "is right, and any departure from the base is worse; default the metric's own",
    )
    minimum: Tolerance | None = Field(
        None,
        description='least difference that matters: "2%" of the base\'s value, or an amount: "1ms", '
        '"2 segments"; default the metric\'s own',
    )
    within: Tolerance | None = Field(
        None,
        description="where runs are chaotic: what they must exclude after all seeds for the metric to be the "
        "same; nothing that minimum finds is lost; default minimum",
    )


def placeholders(text: str) -> list[str]:
    """The factors that a text names in braces, `{cc}`, in order."""
    return _PLACEHOLDER.findall(text)


def filled(text: str, values: Mapping[str, object]) -> str:
    """Give the text with these factors' values for their placeholders; others stay."""
    return _PLACEHOLDER.sub(lambda found: str(values.get(found[1], found[0])), text)
