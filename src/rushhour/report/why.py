"""What limited each flow, as a report says it: a bar of its time, sentences, what would help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rushhour.explain import explain
from rushhour.quantities.short import rate, time
from rushhour.report.said import once
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.explain import Explanation, Finding, Remedy
    from rushhour.record.record import Record
    from rushhour.report.model import RunView

SHORT = {
    "handshake": "handshake",
    "path": "path full",
    "receiver": "receiver's window",
    "reader": "reading application",
    "sndbuf": "send buffer",
    "application": "writing application",
    "pacing": "pacing rate",
    "acks": "ACKs waiting",
    "slow_start": "slow start",
    "timeouts": "timeouts",
    "losses": "losses",
    "marks": "marks",
    "window": "algorithm",
    "outages": "dead way",
}
"""Every limit in a word or two."""
MAX_FLOWS = 8
"""Flows of a run that are explained; of more, the first."""
MAX_FINDINGS = 3
LEAST = 0.005
"""Shares below this are not shown."""


@dataclass(frozen=True)
class Said:
    """One finding: the sentence, the advice, the command, the same as `--set`, what to expect then.

    `instead` is another way to it, as `--set`.
    """

    says: str
    advice: str
    command: str
    override: str
    expected: str
    instead: str = ""

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands to copy, one a line."""
        other = f"or {self.instead}" if self.override and self.instead else self.instead
        return tuple(line for line in (self.command, self.override, other) if line)


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


def unexplained(run: RunView) -> str:
    """What is to say where a run has more TCP flows than are explained; empty where it has not."""
    flows = sum(flow.kind in kinds.TCP_STREAMS for flow in run.flows)
    if len(run.why) < MAX_FLOWS or flows <= MAX_FLOWS:
        return ""
    return f"These are the first {MAX_FLOWS} of {flows} TCP flows."


def _why(found: Explanation) -> Why:
    parts = tuple((limit, share) for limit, share in found.shares.items() if share >= LEAST)
    return Why(found.flow, parts, tuple(_said(one) for one in found.findings[:MAX_FINDINGS]))


def _expected(remedy: Remedy) -> str:
    """What is promised, as bounds."""
    promises = []
    if remedy.expected_bps is not None:
        promises.append(f"at least {rate(remedy.expected_bps)}")
    if remedy.expected_wait_s is not None:
        promises.append(f"a wait of at most {time(remedy.expected_wait_s)} there")
    return ", ".join(promises)


def _said(finding: Finding) -> Said:
    remedy = finding.remedy
    if remedy is None:
        return Said(finding.says, "", "", "", "")
    expected = _expected(remedy)
    override, instead = _set(remedy.overrides), _set(remedy.instead)
    return Said(finding.says, remedy.advice, remedy.command, override, expected, instead)


def _set(overrides: Mapping[str, Any]) -> str:
    return " ".join(f'--set {key}="{value}"' for key, value in overrides.items())
