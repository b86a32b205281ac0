"""What a result set says of itself: `set.json`, typed (docs/record-format.md)."""

from __future__ import annotations

from collections.abc import Mapping

from rushhour.record.document import EMPTY, Document
from rushhour.record.manifest import Cell, Kernel, Scenario


class Asked(Document):
    """The command that made the set: its scenario and `--set`s, and what was said besides; None: nothing."""

    scenario: str | None = None
    file_sha256: str | None = None
    kernels: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    repeat: int | None = None
    seed: int | None = None
    quick: bool = False
    lab: str | None = None


class Unrun(Document):
    """A run that failed or was skipped: which, and why."""

    cell: Cell = Cell()
    kernel: object = None
    repetition: int = 0
    seed: int | None = None
    kind: str | None = None
    message: str | None = None
    where: str | None = None
    hint: str | None = None


class SetFile(Document):
    """All that a result set says of itself; empty of runs that are no set."""

    format: str = ""
    scenario: Scenario = Scenario()
    kernels: tuple[Kernel, ...] = ()
    cells: tuple[Cell, ...] = ()
    repeat: int | None = None
    seed: int | None = None
    quick: bool = False
    asked: Asked = Asked()
    failures: tuple[Unrun, ...] = ()
    skipped: tuple[Unrun, ...] = ()
    published: tuple[Mapping[str, object], ...] = ()
    study: Mapping[str, object] = EMPTY
    lab: str | None = None
    complete: bool = True
