"""What a lab is: something that turns a plan into a record, on a kernel under test."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from rushhour.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rushhour.lab.kernel import Kernel


VIRTUAL = ("uml",)
"""Labs whose time is virtual: two runs of one key are equal to the byte."""


class CancelledError(LabError):
    """The run was stopped because its lab was asked to stop; not a fault."""


@dataclass(frozen=True)
class Job:
    """One run to be carried out.

    `plan` and `context` are what `plan.lower` gives. `labels` are the entries of the manifest that say what
    the run is for (scenario, cell, repetition): they name it and do not determine it.
    """

    plan: Mapping[str, Any]
    context: Mapping[str, Any]
    kernel: Kernel
    labels: Mapping[str, Any]


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


def canonical(value: Any) -> str:
    """JSON in one spelling: sorted keys, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def sha256(*parts: str) -> str:
    """The SHA-256 of texts, each set off from the next."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
