"""Why a flow was as fast as it was: what limited it for which share of its time, in words, and what helps.

Takes a record, gives an `Explanation` of each TCP flow. `evidence` gathers the numbers, the rules of every
flow name the causes (`rushhour.causes.rules`), `settable` says what the scenario can set against them, and
`ranking` orders them by what that gains.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushhour.causes.finding import Finding, Remedy
from rushhour.explain.evidence import RecordedFlow, evidence
from rushhour.explain.multipath import connections
from rushhour.explain.outages import LIMITS
from rushhour.explain.ranking import findings
from rushhour.series.timeline import Timeline
from rushhour.series.waits import Wait
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.record.record import Record

__all__ = [
    "LIMITS",
    "Explanation",
    "Finding",
    "RecordedFlow",
    "Remedy",
    "Timeline",
    "Wait",
    "explain",
    "findings",
]


@dataclass(frozen=True)
class Explanation:
    """One flow: the share of its time of each limit (`LIMITS`), and what is found, in order of gain.

    `timeline` knows no outages: there they are timeouts, losses and the like. `waits` has the round trip by
    queue: where its data and its ACKs waited.
    """

    flow: str
    goodput_bps: float
    possible_bps: float | None
    shares: Mapping[str, float]
    findings: tuple[Finding, ...]
    timeline: Timeline | None
    waits: tuple[Wait, ...] = ()

    @property
    def limit(self) -> str:
        """The limit that held longest."""
        return max(self.shares, key=self.shares.__getitem__, default="")


def explain(record: Record) -> list[Explanation]:
    """Explain every TCP flow of a record, in the order of the plan; then MPTCP connections by subflow.

    Those without readings are left out, and those that were found and too brief for anything to limit them.
    """
    return record.once(_explained)


def _explained(record: Record) -> list[Explanation]:
    flows = (flow for flow in record.flows(*kinds.TCP_STREAMS) if not flow.is_brief)
    known = [found for flow in flows if (found := evidence(record, flow)) is not None]
    single = [
        Explanation(
            e.name,
            e.goodput_bps,
            e.possible_bps,
            e.shares,
            findings(e),
            e.timeline,
            e.waits,
        )
        for e in known
    ]
    several = [
        Explanation(name, bps, possible, shares, (found,), None)
        for name, bps, possible, shares, found in connections(record)
    ]
    return single + several
