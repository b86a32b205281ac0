"""What a lab is: something that turns a plan into a record, on a kernel under test."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from rushhour.errors import LabError
from rushhour.record.manifest import REAL_TIME, VIRTUAL

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rushhour.errors import RushHourError
    from rushhour.record.context_file import ContextFile
    from rushhour.record.plan_file import PlanFile


LABS = (*VIRTUAL, *REAL_TIME)


class CancelledError(LabError):
    """The run was stopped because its lab was asked to stop; not a fault."""


class Tested(Protocol):
    """A kernel under test: built here for a virtual lab, or the one that a machine runs."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def release(self) -> str:
        """What it calls itself."""
        ...

    @property
    def identity(self) -> dict[str, Any]:
        """What a record keeps of the kernel; no path, no date."""
        ...


@dataclass(frozen=True)
class Job:
    """One run to be carried out.

    `plan` and `context` are what `plan.lower` gives. `labels` are the entries of the manifest that say what
    the run is for (scenario, cell, repetition): they name it and do not determine it. `moment` is empty in
    virtual labs; in real time it tells this execution from every other one of the same plan. `places` say of
    some of the plan's tools by which word this lab finds them: a path is no part of a plan.
    """

    plan: PlanFile
    context: ContextFile
    kernel: Tested
    labels: Mapping[str, Any]
    moment: str = ""
    places: Mapping[str, str] = field(default_factory=dict, compare=False)

    @cached_property
    def plan_text(self) -> str:
        """The plan in one spelling: what its hash is of, and what the agent reads."""
        return canonical(self.plan)


class Lab(Protocol):
    """A place where runs happen. May be used by several threads at once."""

    name: str

    def key(self, job: Job) -> str:
        """The hash of all that determines the run; equal keys give equal raw tables."""
        ...

    def run(self, job: Job, destination: Path, cpu: int | None = None) -> Path:
        """Carry out a run on one host CPU; its sealed record is at `destination` when this returns.

        Raises:
            LabError: the run could not be carried out; nothing is left behind.
        """
        ...

    def cancel(self) -> None:
        """End every run that goes on, and refuse new ones; `run` raises `CancelledError`."""
        ...


class RealTimeLab(Lab, Protocol):
    """A lab on machines as they are: one run at a time, each cell once before any comes again."""

    def tested(self) -> Tested:
        """The kernel under test: what runs there. Reading it changes nothing.

        Raises:
            LabError: the machine cannot be reached, or must not be used.
        """
        ...

    def refusal(self, job: Job) -> RushHourError | None:
        """Why this run cannot be carried out there, found before anything runs; None if it can.

        An `UnsupportedError` makes it a skipped run: something is missing there, and the error says what
        provides it.
        """
        ...

    def warm_up(self, job: Job) -> None:
        """A short run that is thrown away, before a block of runs: caches, frequencies, neighbours."""
        ...


def canonical(value: Any) -> str:
    """JSON in one spelling: sorted keys, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def sha256(*parts: str) -> str:
    """The SHA-256 of texts, each set off from the next."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
