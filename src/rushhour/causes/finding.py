"""A finding: one cause where it was found, with its proof and what mends it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from rushhour.causes.table import CAUSES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.causes.cause import Layer, Severity

PLACES = ("a", "b", "a→b", "b→a")
"""Where the findings of a diagnosis are: at a host, or on the way from one to the other."""


@dataclass(frozen=True, slots=True)
class Proof:
    """One reading that speaks for a finding: where (one of `PLACES`), what, and its exact value."""

    end: str
    what: str
    value: str


@dataclass(frozen=True, slots=True)
class Command:
    """What to type at one host; `persistent` says how to keep it over a reboot."""

    end: str
    text: str
    persistent: str | None = None


@dataclass(frozen=True, slots=True)
class Remedy:
    """What would help.

    Attributes:
        advice: In words, an imperative; empty where the commands say all.
        commands: What a person types, in this order.
        overrides: The same as `--set KEY=VALUE` of the scenario; empty where the scenario cannot say it.
        expected_bps: The goodput that is then reached at least; None where theory gives none.
        expected_wait_s: The median wait at the finding's queue is then at most this; None: not spoken of.
        instead: Another way to it, as `overrides`; of it no number is promised, but that it is no worse.
        gain: What is then to be expected, in words; None where nobody can say.
    """

    advice: str = ""
    commands: tuple[Command, ...] = ()
    overrides: Mapping[str, Any] = field(default_factory=dict)
    expected_bps: float | None = None
    expected_wait_s: float | None = None
    instead: Mapping[str, Any] = field(default_factory=dict)
    gain: str | None = None

    @property
    def command(self) -> str:
        """What is typed on the host that is named in `advice`, in a line; empty where there is none."""
        return " && ".join(one.text for one in self.commands if one.end == self.commands[0].end)


@dataclass(frozen=True, slots=True)
class Finding:
    """One cause, in words a tired engineer understands.

    Attributes:
        key: The cause, a key of the table (`receive-buffer-too-small`).
        severity: How much it matters, see `Severity`.
        title: What is said of it, one sentence or a few.
        where: An end or a direction (one of `PLACES`); of a record the queue that it speaks of, or nothing.
        evidence: Readings from both ends.
        limited: The share of the time in which it limited, in [0, 1]; None where it was not measured.
        remedy: What would help; None where nothing is advised.
        layer: Where it sits, see `Layer`.
        source: The document that its rule follows, with its section.
        limit: What its remedy takes away (of `rushhour.explain.LIMITS`).
    """

    key: str
    severity: Severity
    title: str
    where: str
    evidence: tuple[Proof, ...] = ()
    limited: float | None = None
    remedy: Remedy | None = None
    layer: Layer = "path"
    source: str = ""
    limit: str = ""

    @property
    def cause(self) -> str:
        """The cause's name in an explanation (docs/causes.md lists them)."""
        return CAUSES[self.key].word or self.key

    @property
    def says(self) -> str:
        """What is said of it."""
        return self.title

    @property
    def share(self) -> float:
        """The share of the time in which it limited; 0 where it did not, or that was not measured."""
        return self.limited or 0.0

    @property
    def gain(self) -> str | None:
        """What mending it is expected to bring, in words; None where nobody can say."""
        return None if self.remedy is None else self.remedy.gain

    @property
    def fix(self) -> tuple[Command, ...]:
        """What mends it: commands, to be typed in this order."""
        return () if self.remedy is None else self.remedy.commands

    def document(self) -> dict[str, Any]:
        """The finding as it stands in a diagnosis document (JSON-able)."""
        return {
            "key": self.key,
            "severity": self.severity,
            "layer": self.layer,
            "title": self.title,
            "where": self.where,
            "evidence": [asdict(one) for one in self.evidence],
            "gain": self.gain,
            "limited": self.limited,
            "fix": [asdict(one) for one in self.fix],
            "source": self.source,
        }

    def explained(self) -> dict[str, Any]:
        """The finding as it stands in an explanation (JSON-able)."""
        remedy = self.remedy
        advised = ("advice", "command", "overrides", "expected_bps", "expected_wait_s", "instead")
        return {
            "key": self.key,
            "cause": self.cause,
            "share": self.share,
            "says": self.title,
            "remedy": None if remedy is None else {name: getattr(remedy, name) for name in advised},
            "limit": self.limit,
            "where": self.where,
        }


def finding(
    key: str,
    severity: Severity,
    title: str,
    where: str,
    *,
    evidence: tuple[Proof, ...] = (),
    gain: str | None = None,
    limited: float | None = None,
    fix: tuple[Command, ...] = (),
    layer: Layer | None = None,
    source: str = "",
) -> Finding:
    """A finding of a cause of the table; layer and source are the table's unless they are given."""
    cause = CAUSES[key]
    remedy = Remedy(commands=fix, gain=gain) if fix or gain is not None else None
    return Finding(
        key, severity, title, where, evidence, limited, remedy, layer or cause.layer, source or cause.source
    )
