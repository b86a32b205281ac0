"""What can go wrong, as one tree.

    RushHourError
    ├── UsageError        an argument of a command or of the API makes no sense
    ├── ExtraError        a Python package is needed that is not installed with the others
    ├── ScenarioError     a scenario file or a `--set`; holds every fault found in it
    ├── PlanError         a valid scenario that cannot be lowered to a plan
    ├── KernelError       a kernel under test: not found, not built, lacks something
    │   └── BuildError    its source is no laboratory kernel: it does not compile, or lacks what is needed
    ├── LabError          a run that could not be carried out
    │   ├── FleetError    the machines that carry runs out cannot go on, so the whole command ends
    │   ├── HostError     a real machine could not be reached, refused, or went away
    │   ├── GuestError    the kernel under test panicked, crashed, stood still or never finished
    │   └── AgentError    the agent inside the lab reported a failure
    │       └── UnsupportedError   the kernel under test has no such algorithm, qdisc or setting
    ├── RecordError       a record or result set that cannot be read, or must not be trusted
    ├── StoreError        the results database cannot be opened, read or written
    └── ReportError       a report or an export that could not be written

Each error says what was tried and what came back (the message), where (`where`), and what to do next
(`hint`). The errors of other libraries are translated at the boundary where they occur, cause kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rushhour.plain import harmless, indented, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence


DOCTOR = "`rushhour doctor` says what this machine can do"
"""What is said of every error that is the machine's fault."""


class RushHourError(Exception):
    """An error that a person can act on: what happened, where, and what to do next."""

    exit_code: ClassVar[int] = 2

    def __init__(
        self, message: str, *, where: str | None = None, hint: str | None = None, machine: bool = False
    ) -> None:
        """An error; `machine` says that this machine is at fault, so the hint points to `rushhour doctor`."""
        # Messages have strangers' file names and programs' output, and are written to terminals.
        message = harmless(message)
        super().__init__(message)
        self.message = message
        self.machine = machine
        self.where = None if where is None else one_line(where)
        hint = harmless(hint)
        self.hint = "\n  ".join(filter(None, [hint, DOCTOR])) if machine else hint

    def __str__(self) -> str:
        """Render as text of one to four lines, without colour."""
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text}\n  {self.hint}" if self.hint else text


class UsageError(RushHourError):
    """An argument of a command or of the API makes no sense."""


class ExtraError(RushHourError):
    """A Python package is needed that is not installed with the others (`rushhour.extras`)."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong in a scenario: the place, what was found, what is allowed.

    `line` counts from 1 and is the nearest line that encloses the key; it is None where there is no file
    (a value given with `--set`, a scenario made in Python).
    """

    file: str
    line: int | None
    key: str
    message: str
    hint: str | None = None

    def __str__(self) -> str:
        """Render as `file:line: key: message`, the hint indented on a line of its own."""
        file = one_line(self.file)
        place = f"{file}:{self.line}" if self.line else file
        key = f"{self.key}: " if self.key else ""
        hint = f"\n  {self.hint}" if self.hint else ""
        return f"{place}: {key}{indented(self.message)}{hint}"


class ScenarioError(RushHourError):
    """A scenario that cannot be used; `faults` names everything found wrong, in the order of the file."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = list(faults)
        count = len(self.faults)
        super().__init__("\n".join(str(fault) for fault in self.faults))
        self.summary = "1 fault" if count == 1 else f"{count} faults"


class PlanError(RushHourError):
    """A valid scenario that cannot be lowered to a plan."""


class KernelError(RushHourError):
    """A kernel under test that is not there, was not built, or lacks what the scenario needs."""


class BuildError(KernelError):
    """A source that does not become a laboratory kernel: it does not compile, or lacks what is needed."""


class LabError(RushHourError):
    """A run that could not be carried out."""


class GuestError(LabError):
    """The kernel under test ended its run otherwise than in order, by its own doing."""

    hangs = False
    """Whether it had to be ended, after a time that other runs do not need."""


class FleetError(LabError):
    """The machines that carry runs out cannot be reached, or none of them is left: nothing can go on."""


class HostError(LabError):
    """A real machine that could not be reached, refused what it was asked, or went away.

    `where` is its place; `kind` is the word of the refusal where the machine's agent gave one.
    """

    def __init__(
        self,
        message: str,
        *,
        where: str | None = None,
        hint: str | None = None,
        machine: bool = False,
        kind: str | None = None,
    ) -> None:
        super().__init__(message, where=where, hint=hint, machine=machine)
        self.kind = kind


class AgentError(LabError):
    """The agent inside the lab reported a failure."""


class UnsupportedError(AgentError):
    """The kernel under test lacks what a cell asks for: the cell is skipped, the others run."""


class RecordError(RushHourError):
    """A record or result set that cannot be read, or that must not be trusted."""


class StoreError(RushHourError):
    """The results database cannot be opened, read or written."""


class ReportError(RushHourError):
    """A report or an export that could not be written."""
