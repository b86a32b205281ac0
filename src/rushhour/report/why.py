"""What limited each flow, as a report says it: a bar of its time, sentences, what would help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushhour.explain import explain
from rushhour.report.said import once
from rushhour.report.words import quantity

if TYPE_CHECKING:
    from rushhour.explain import Explanation, Finding
    from rushhour.record import Record

SHORT = {
    "path": "path full",
    "receiver": "receiver's window",
    "reader": "reading application",
    "sndbuf": "send buffer",
    "application": "writing application",
    "pacing": "pacing rate",
    "slow_start": "slow start",
    "timeouts": "timeouts",
    "losses": "losses",
    "marks": "marks",
    "window": "algorithm",
}
"""Every limit in a word or two."""
MAX_FLOWS = 8
"""Flows of a run that are explained; of more, the first."""
MAX_FINDINGS = 2
LEAST = 0.005
"""Shares below this are not shown."""


@dataclass(frozen=True)
class Said:
    """One finding: the sentence, the advice, the command, the same as `--set`, what to expect then."""

    says: str
    advice: str
    command: str
    override: str
    expected: str


@dataclass(frozen=True)
class Why:
    """One flow: `parts` of its time as (limit, share), the greatest first, and what is said of them."""

    flow: str
    parts: tuple[tuple[str, float], ...]
    said: tuple[Said, ...]

    @property
    def words(self) -> str:
        """The parts in words: `path full 96 % · slow start 4 %`."""
        return " · ".join(f"{SHORT[limit]} {100 * share:.0f} %" for limit, share in self.parts)


def why(record: Record) -> tuple[Why, ...]:
    """What limited the TCP flows of a run, at most `MAX_FLOWS` of them."""
    return once([_why(one) for one in explain(record)[:MAX_FLOWS]])


def _why(found: Explanation) -> Why:
    parts = tuple((limit, share) for limit, share in found.shares.items() if share >= LEAST)
    return Why(found.flow, parts, tuple(_said(one) for one in found.findings[:MAX_FINDINGS]))


def _said(finding: Finding) -> Said:
    remedy = finding.remedy
    if remedy is None:
        return Said(finding.says, "", "", "", "")
    override = " ".join(f'--set {key}="{value}"' for key, value in remedy.overrides.items())
    expected = "" if remedy.expected_bps is None else quantity(remedy.expected_bps, "bit/s")
    return Said(finding.says, remedy.advice, remedy.command, override, expected)
