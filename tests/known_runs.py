"""Virtual runs that tests look into: one that is known is not made again.

A run in virtual time is a function of the kernel, the agent, the programs and the plan, whose hash is
`UmlLab.key`. So its record is kept in the user's cache, apart from those of `rushhour run`. It is verified at
each use, and its manifest is written anew. A test of the running itself, or of whether two runs are equal,
makes its runs; `RUSHHOUR_FRESH=1` makes all of them again.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from rushhour.errors import LabError
from rushhour.files import rooms
from rushhour.files.cache import folder
from rushhour.lab.manifest import relabel
from rushhour.record import kept
from rushhour.record.record import Record

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.lab.agent import Agent
    from rushhour.lab.base import Job, Lab

AGENTS = 2
"""Of so many agents, the ones used last, records are kept."""


def record_of(lab: Lab, job: Job, place: Path, cpu: int | None = None, *, fresh: bool = False) -> Record:
    """The record of a run at `place`, a folder that is not there; `fresh`: made now in any case."""
    known = _agent(lab) / lab.key(job)
    if not fresh and not os.environ.get("RUSHHOUR_FRESH") and kept.is_whole(known, known.name):
        with suppress(LabError):  # another session may be removing it
            return Record.open(relabel(known, place, job))
    record = Record.open(lab.run(job, place, cpu))
    _keep(record, known)
    return record


def _keep(record: Record, known: Path) -> None:
    """Put it where it is looked for; a disk that is full is no fault of a test."""
    with suppress(OSError), rooms.room(known.parent) as room:
        new = room / "record"
        new.mkdir()
        kept.share(record.path, new, with_manifest=True)
        with suppress(FileNotFoundError):  # another worker may be doing the same
            rooms.take_place(new, known)


def _agent(lab: Lab) -> Path:
    """The folder of the runs of this agent, now used last; those of the oldest agents are removed."""
    agent: Agent = lab.agent  # type: ignore[attr-defined]  # of the labs in virtual time
    every = folder("test-runs", agent.sha256[:16])
    if not every.is_dir():
        with suppress(LabError, OSError):
            every.mkdir(exist_ok=True)
            for old in sorted(every.parent.iterdir(), key=lambda one: one.stat().st_mtime)[:-AGENTS]:
                rooms.remove(old)
    with suppress(OSError):
        os.utime(every)
    return every
