"""What doctor finds: a check of each part of a machine, and of each lab whether it is ready."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

FORMAT = "rushhour-doctor/1"


class State(StrEnum):
    """How a part of the machine is."""

    OK = "ok"
    WARN = "warn"
    """Runs go on, with less: slower, less confined, some of them not."""
    BAD = "bad"
    """Something cannot be done at all."""
    UNKNOWN = "unknown"
    """It could not be found out; `says` has the reason."""


@dataclass(frozen=True)
class Check:
    """One part of the machine: its state, a sentence, what mends it (commands), and the facts behind it."""

    name: str
    state: State
    says: str
    mend: tuple[str, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)

    def document(self) -> dict[str, object]:
        """As JSON has it."""
        return {
            "name": self.name,
            "state": str(self.state),
            "says": self.says,
            "mend": list(self.mend),
            "facts": self.facts,
        }


@dataclass(frozen=True)
class Report:
    """Everything that was found; `title` is who was asked: program, system, user."""

    title: str
    version: str
    checks: tuple[Check, ...]
    labs: tuple[Check, ...]

    def ready(self, lab: str) -> bool:
        """Whether runs in this lab can be carried out here."""
        return any(one.name == lab and one.state in {State.OK, State.WARN} for one in self.labs)

    def document(self) -> dict[str, object]:
        """As JSON has it; described in docs/doctor.md."""
        return {
            "format": FORMAT,
            "rushhour": self.version,
            "title": self.title,
            "checks": [one.document() for one in self.checks],
            "labs": [one.document() | {"ready": self.ready(one.name)} for one in self.labs],
        }
