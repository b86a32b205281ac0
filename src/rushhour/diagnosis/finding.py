"""A finding: one thing that is wrong between two endpoints, its evidence and the command that mends it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

Severity = Literal["critical", "warning", "note"]
"""`critical` limits transfers now, `warning` costs something or will under load, `note` is worth knowing."""

Layer = Literal["application", "socket", "tcp", "ip", "queue", "device", "path", "host"]
"""Where a cause sits, from the program down to the machine."""

SEVERITIES: tuple[Severity, ...] = get_args(Severity)
LAYERS: tuple[Layer, ...] = get_args(Layer)
PLACES = ("a", "b", "a→b", "b→a")


@dataclass(frozen=True, slots=True)
class Evidence:
    """One reading that speaks for a finding: where (one of `PLACES`), what, and its exact value."""

    end: str
    what: str
    value: str


@dataclass(frozen=True, slots=True)
class Command:
    """What to type at one end (`a` or `b`); `persistent` says how to keep it over a reboot."""

    end: str
    text: str
    persistent: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One cause, in words a tired engineer understands.

    Attributes:
        key: its name, the same wherever it is found (`receive-buffer-too-small`).
        severity: how much it matters, see `Severity`.
        layer: where it sits, see `Layer`.
        title: one sentence.
        where: an end or a direction: one of `PLACES`.
        evidence: readings from both ends.
        gain: what mending it is expected to bring, in words; None where nobody can say.
        limited: the share of the time in which it limited, in [0, 1]; None where it was not measured.
        fix: commands, to be typed in this order.
        source: the document that the rule follows (kernel documentation, RFC, man page), with its section.
    """

    key: str
    severity: Severity
    layer: Layer
    title: str
    where: str
    evidence: tuple[Evidence, ...] = ()
    gain: str | None = None
    limited: float | None = None
    fix: tuple[Command, ...] = ()
    source: str = ""

    def document(self) -> dict[str, Any]:
        """The finding as it stands in a diagnosis document (JSON-able)."""
        return asdict(self)


def in_order(findings: list[Finding]) -> list[Finding]:
    """The gravest first; of one severity what limited longest, then in the order in which they came."""
    return sorted(findings, key=lambda found: (SEVERITIES.index(found.severity), -(found.limited or 0.0)))
