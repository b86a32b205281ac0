"""What every format is made of: cases that passed, failed, broke, or were not judged."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Status = Literal["pass", "fail", "error", "skip"]


@dataclass(frozen=True, slots=True)
class Number:
    """A measured value and, where there is one, the base's."""

    metric: str
    scope: str
    value: float
    unit: str
    base: float | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One cell of one scenario.

    `status` is `error` where there is no trustworthy result, `skip` where nothing was or could be decided;
    `reason` is a sentence that says why it did not pass (empty where it passed and there is nothing to say).
    `details` are lines that say more of it, `command` repeats it. `seconds` is of the host's time, None where
    unknown.
    """

    scenario: str
    label: str
    status: Status
    reason: str
    numbers: Sequence[Number] = ()
    seconds: float | None = None
    command: str = ""
    guards: str = ""
    details: Sequence[str] = ()

    @property
    def name(self) -> str:
        """Scenario and cell: `suite/slow-start cc=cubic`."""
        return f"{self.scenario} {self.label}".strip()

    @property
    def words(self) -> tuple[str, ...]:
        """The name in parts of letters, digits, `_`, `.` and `-`: what is safe in a path of any format."""
        return tuple(plain(part) for part in (*self.scenario.split("/"), self.label) if part)


@dataclass(frozen=True)
class Report:
    """Cases that belong together: a comparison, or the runs of scenarios.

    `kernel` is the identity of the kernel that was judged; `made` is an ISO 8601 time in UTC, empty where the
    source tells none; `headline` says the outcome in a few words.
    """

    name: str
    headline: str
    cases: Sequence[Case]
    kernel: Mapping[str, object] = field(default_factory=dict)
    made: str = ""
    seconds: float = 0.0
    properties: Mapping[str, str] = field(default_factory=dict)
    summary: str = ""

    def count(self, status: Status) -> int:
        """How many cases have this status."""
        return sum(case.status == status for case in self.cases)


def plain(text: str) -> str:
    """The text with all but letters, digits, `_`, `.`, `=` and `-` made `-`; never empty."""
    return re.sub(r"[^A-Za-z0-9_.=-]+", "-", text).strip("-") or "_"


def one_line(text: str) -> str:
    """The text on one line, without what no terminal and no XML may hold."""
    return " ".join(printable(text).split())


def printable(text: str) -> str:
    """The text without the control characters and half pairs that XML 1.0 forbids."""
    return re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
