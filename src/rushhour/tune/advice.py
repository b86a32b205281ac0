"""What is advised: one setting at one end, the cause that it mends, its reason and its source."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rushhour.causes.table import CAUSES
from rushhour.lab.host import settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.causes.evidence import Named
    from rushhour.diagnosis.facts import Facts


@dataclass(frozen=True, slots=True)
class Advice:
    """One line of the plan.

    `change` is what the agent would do, None where it is to be done by hand (`wanted` says what); `cannot` is
    why it cannot be done there; `cause` the key of what it mends (`rushhour.causes.table`), empty for a line
    of a profile, which has its own reason.
    """

    end: str
    change: Mapping[str, Any] | None
    setting: str
    now: str
    wanted: str
    reason: str
    source: str
    cannot: str | None = None
    cause: str = ""

    def document(self) -> dict[str, object]:
        """As JSON values."""
        return {
            "end": self.end,
            "cause": self.cause or None,
            "setting": self.setting,
            "now": self.now,
            "recommended": self.wanted,
            "reason": self.reason,
            "source": self.source,
            "cannot": self.cannot,
            "change": dict(self.change) if self.change is not None else None,
        }


@dataclass(frozen=True, slots=True)
class End:
    """One end of a path: its facts, and what leaves it and reaches it."""

    name: str
    facts: Facts
    out_bps: float | None
    in_bps: float | None
    rtt_ns: float
    path_mtu: int | None = None
    by_chance: Named | None = None
    """What the rules say of packets sent from here that chance took, where that held a flow back."""
    memory: int | None = None
    """What TCP's buffers may take here, in bytes."""
    peer_mtu: int | None = field(default=None)

    @property
    def dev(self) -> str:
        """The device on the way to the other end."""
        return str(self.facts.link.dev or "")

    @property
    def fastest_bps(self) -> float:
        """The faster direction's rate."""
        return max(self.out_bps or 0.0, self.in_bps or 0.0)

    def set_sysctl(self, cause: str, name: str, value: object, reason: str = "") -> Advice:
        """Advise a sysctl, by default for the reason that its cause is what it is."""
        change = {"kind": "sysctl", "name": name, "value": value}
        now = settings.text(self.facts.file.sysctl.get(name))
        return self.advise(cause, name, change, now=now, wanted=settings.text(value), reason=reason)

    def advise(
        self,
        cause: str,
        setting: str,
        change: Mapping[str, Any] | None,
        *,
        now: str,
        wanted: str,
        reason: str = "",
    ) -> Advice:
        """Advise what mends a cause of the table; the source is the table's."""
        row = CAUSES[cause]
        return Advice(self.name, change, setting, now, wanted, reason or row.means, row.source, cause=cause)

    def bdp(self, rate_bps: float) -> float:
        """What a direction of this rate holds, in bytes (RFC 6349, 3.3.1)."""
        return rate_bps * self.rtt_ns / 8e9
