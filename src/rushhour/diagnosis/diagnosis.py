"""The diagnosis as a whole: what was found, measured and read, and the answer in one sentence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rushhour.causes.ranking import follows
from rushhour.causes.thresholds import MAIN, UNWELL
from rushhour.diagnosis.bottleneck import causes
from rushhour.diagnosis.case import DIRECTIONS, outgoing
from rushhour.quantities.short import percent, rate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rushhour.causes.finding import Finding
    from rushhour.causes.held import Held
    from rushhour.diagnosis.case import Case
    from rushhour.diagnosis.table import Row

FORMAT = "rushhour-diagnosis/1"
FOUND, NOTHING = 1, 0
SOUND = "Nothing is wrong"


@dataclass(frozen=True)
class Bottleneck:
    """What limited transfers most; `limited` is a share of the time, `finding` a key (None: no fault)."""

    direction: str
    layer: str
    limited: float
    finding: str | None
    sentence: str


@dataclass(frozen=True)
class Diagnosis:
    """What `rushhour diagnose` gives; `document()` is `rushhour-diagnosis/1`.

    `failed` is what could not be carried out or read, with why; `folder` where all of it lies.
    """

    made: str
    case: Case
    table: Sequence[Row]
    findings: Sequence[Finding]
    failed: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None

    @property
    def bottleneck(self) -> Bottleneck | None:
        """What limited most; None where nothing could be measured."""
        return bottleneck(self.case, self.findings)

    @property
    def faults(self) -> list[Finding]:
        """The findings that ask for something to be done."""
        return [one for one in self.findings if one.severity != "note"]

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong, and one flow got what there is."""
        return not self.faults and self.answer.startswith(SOUND)

    @property
    def exit(self) -> int:
        """0: nothing found, 1: findings."""
        return FOUND if self.faults else NOTHING

    @property
    def answer(self) -> str:
        """The answer in one sentence."""
        limit = self.bottleneck
        if self.faults and (limit is None or limit.finding is None):
            return self.faults[0].title
        return limit.sentence if limit is not None else "Nothing could be measured."

    def document(self) -> dict[str, Any]:
        """The diagnosis as one JSON document."""
        from dataclasses import asdict  # noqa: PLC0415 - only here

        limit = self.bottleneck
        return {
            "format": FORMAT,
            "made": self.made,
            "a": {"place": self.case.a.place, "facts": self.case.a.document()},
            "b": {"place": self.case.b.place, "facts": self.case.b.document()},
            "table": [row.document() for row in self.table],
            "measured": {way: one.document() for way, one in self.case.measured.items()},
            "findings": [one.document() for one in self.findings],
            "bottleneck": None if limit is None else asdict(limit),
            "answer": self.answer,
            "failed": dict(self.failed),
            "folder": None if self.folder is None else str(self.folder),
        }


def bottleneck(case: Case, findings: Sequence[Finding]) -> Bottleneck | None:
    """The limit that costs most: of the gravest finding first, else of the first direction."""
    limits = [
        (way, cause) for way in DIRECTIONS if way in case.measured for cause in causes(case.measured[way])
    ]
    if not limits:
        return None
    for finding in findings:
        if finding.severity == "note":
            continue
        for way, cause in sorted(limits, key=lambda pair: pair[0] != _way(finding)):
            if cause.key == finding.key or follows(cause.key, finding.key):
                return Bottleneck(way, finding.layer, cause.limited, finding.key, finding.title)
        if finding.limited is not None:
            way = _way(finding)
            return Bottleneck(way, finding.layer, finding.limited, finding.key, finding.title)
    way, cause = max(limits, key=lambda pair: (pair[0] == DIRECTIONS[0], pair[1].limited))
    return Bottleneck(way, cause.cause.layer, cause.limited, None, _sound(case, way, cause))


def _way(finding: Finding) -> str:
    """The direction that a finding is about; of one at an end the one in which it sends."""
    return finding.where if len(finding.where) > 1 else outgoing(finding.where)


def _sound(case: Case, way: str, cause: Held) -> str:
    """What limits where nothing is wrong: something always does."""
    flows = [(one.direction, one.single) for one in case.measured.values() if one.single is not None]
    reached = [f"{rate(tcp.steady_bps or tcp.goodput_bps)} {direction}" for direction, tcp in flows]
    both = " and ".join(reached)
    waiting = next((one for one in case.connections if one.idle >= MAIN), None)
    if waiting is not None:
        program = (
            f"the program that writes {waiting.name} ({waiting.where}) gives only {rate(waiting.rate_bps)}"
        )
        return f"{SOUND} with the path, which gives {both}; {program}."
    if cause.key == "path-rate":
        return f"{SOUND}: the path itself is full, at {both}."
    if cause.key == "cpu-limited":
        return f"{SOUND}: one flow is as fast as a processor here, {both}."
    held = f"{way} was limited by {cause.key} for {percent(cause.limited)} of the time"
    most = case.measured[way].capacity_bps or 0.0
    single = case.measured[way].single
    if single is not None and single.steady_bps < UNWELL * most:
        return (
            f"One flow {way} got {rate(single.steady_bps)} of {rate(most)}; it {held.partition(' was ')[2]}."
        )
    return f"{SOUND} that would show: {both}; {held}."
