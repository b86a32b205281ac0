"""Why a flow was as fast as it was: what limited it for which share of its time, in words, and what helps.

Takes a record, gives an `Explanation` of each TCP flow. `timeline` takes the time apart, `evidence` gathers
the numbers, `causes` holds the rules; they know nothing of where the numbers come from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rushhour.explain.causes import RULES
from rushhour.explain.evidence import Evidence, evidence
from rushhour.explain.finding import Finding, Remedy
from rushhour.explain.timeline import LIMITS, Timeline

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.record import Record

__all__ = ["LIMITS", "Evidence", "Explanation", "Finding", "Remedy", "Timeline", "explain", "findings"]

WORTH_SAYING = 0.1
"""A limit below this share of the time is not spoken of."""


@dataclass(frozen=True)
class Explanation:
    """One flow: the share of its time of each limit, and what is found, the greatest share first."""

    flow: str
    goodput_bps: float
    possible_bps: float | None
    shares: Mapping[str, float]
    findings: tuple[Finding, ...]
    timeline: Timeline | None

    @property
    def limit(self) -> str:
        """The limit that held longest."""
        return max(self.shares, key=self.shares.__getitem__, default="")


def explain(record: Record) -> list[Explanation]:
    """Explain every TCP flow of a record, in the order of the plan; those without readings are left out."""
    return record.once(_explained)


def _explained(record: Record) -> list[Explanation]:
    known = [found for flow in record.flows("tcp") if (found := evidence(record, flow)) is not None]
    return [
        Explanation(e.name, e.goodput_bps, e.possible_bps, e.shares, findings(e), e.timeline) for e in known
    ]


def _worthwhile(found: Finding, known: Evidence) -> Finding:
    """The finding without a remedy that promises no more than there is."""
    expected = None if found.remedy is None else found.remedy.expected_bps
    return found if expected is None or expected > known.goodput_bps else replace(found, remedy=None)


def findings(known: Evidence) -> tuple[Finding, ...]:
    """What the rules find, one for each limit that is worth it, the greatest share of the time first."""
    made: dict[str, Finding] = {}
    for limit, share in known.shares.items():
        if share < WORTH_SAYING and made:
            continue
        found = next((found for rule in RULES[limit] if (found := rule(known)) is not None), None)
        if found is not None:
            made.setdefault(found.cause, _worthwhile(found, known))
    return tuple(sorted(made.values(), key=lambda found: -found.share))
