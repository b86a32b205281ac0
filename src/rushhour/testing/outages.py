"""Outages: times in which nothing arrives, as patterns of a preset's common link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushhour.errors import UsageError
from rushhour.quantities.units import Duration, UnitError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_EXAMPLE = 'write outage="2s..7s": from when, until when'


def patterns(outage: str | Sequence[str], topology: Mapping[str, Any]) -> list[dict[str, Any]]:
    """`[[pattern]]` tables in which every packet is lost between the instants, in both directions.

    Raises:
        UsageError: an outage makes no sense, or they are not in order.
    """
    steps: dict[str, list[list[str]]] = {"forward": [], "reverse": []}
    last = -1
    for text in [outage] if isinstance(outage, str) else outage:
        begin, end = _span(text)
        if begin.ns <= last:
            raise UsageError(f"outage {text!r} does not begin after the one before it", hint=_EXAMPLE)
        last = end.ns
        for direction, usual in (("forward", topology.get("loss", "0%")), ("reverse", "0%")):
            steps[direction] += [[str(begin), "100%"], [str(end), usual]]
    return [
        {"name": f"outage-{direction}", "key": "loss", "direction": direction, "steps": found}
        for direction, found in steps.items()
    ]


def _span(text: str) -> tuple[Duration, Duration]:
    begin, dots, end = str(text).partition("..")
    try:
        found = Duration.parse(begin), Duration.parse(end)
    except UnitError as error:
        raise UsageError(f"outage {text!r}: {error if dots else 'has no end'}", hint=_EXAMPLE) from error
    if found[1] <= found[0]:
        raise UsageError(f"outage {text!r} ends before it begins", hint=_EXAMPLE)
    return found
