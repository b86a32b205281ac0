"""What the controller knows of its workers, of runs that are wanted, and of tasks that are under way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rushhour.fleet.places import Places

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Future
    from pathlib import Path

    from rushhour.lab.base import Job

NEW, READY, ASIDE = "new", "ready", "aside"


@dataclass(eq=False)
class Item:
    """A run that is wanted.

    Attributes:
        job: It.
        key: Its hash.
        destination: Where its record goes.
        told: It as a message has it.
        files: The SHA-256 of the files that it needs.
        place: Is given the record's folder, or the error.
        judge: Is given what landed, instead: of a copy that is made to compare.
        avoid: Workers that must not make it.
        fails: Workers at which it failed, with what they said.
        losses: Workers that went away while they made it.
        alone: Whether it is sent by itself: a worker was lost with it.
        looked_at: Whether it was drawn for an audit.
    """

    job: Job
    key: str
    destination: Path
    told: Mapping[str, Any]
    files: frozenset[str]
    place: Future[Path]
    judge: Callable[[Landed | None], None] | None = None
    avoid: set[str] = field(default_factory=set)
    fails: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    losses: int = 0
    alone: bool = False
    looked_at: bool = False
    done: bool = False

    @property
    def image(self) -> str:
        """The SHA-256 of its kernel's image."""
        return str(self.told["image"])


@dataclass(eq=False)
class Gave:
    """What a machine gave of a run: a hash of its results, and its metrics as they are remembered."""

    digest: str
    values: bytes


@dataclass(eq=False)
class Landed(Gave):
    """A record that came: whose, from whom, the folder that it waits in, and the key of its metrics."""

    item: Item
    member: Member
    folder: Path
    known_as: str


@dataclass(eq=False)
class Task:
    """Runs that a worker was given together; `future` is Dask's."""

    member: Member
    items: list[Item]
    begun: float
    future: Any = None


@dataclass(eq=False)
class Member:
    """A worker.

    Attributes:
        address: Its address, as the scheduler has it.
        slots: How many runs it makes at once.
        name: As messages call it.
        measures: Whether what it measures is what would be measured here: with the same code and libraries.
        files: What it has, by SHA-256.
        proven: Images of kernels that it has carried out a run with.
        greeted: When it was asked what it is.
        asked: When it was last looked whether it is going to say so.
        doubt: Runs that failed at it and that another worker has to try first.
        audited: Whether another worker gave the same bytes as it.
        auditing: Whether another worker is asked right now.
        held: Records that wait for that.
        delivered: Places of its records that were given out.
    """

    address: str
    slots: int
    name: str = ""
    state: str = NEW
    busy: bool = False
    measures: bool = False
    files: set[str] = field(default_factory=set)
    proven: set[str] = field(default_factory=set)
    greeted: float = 0.0
    asked: float = 0.0
    doubt: set[Item] = field(default_factory=set)
    going: set[Task] = field(default_factory=set)
    audited: bool = False
    auditing: bool = False
    held: list[Landed] = field(default_factory=list)
    delivered: Places = field(default_factory=Places)

    @property
    def takes(self) -> bool:
        """Whether it can be given runs."""
        return self.state == READY and not self.busy

    def may_make(self, item: Item) -> bool:
        """Whether it can be given this run: one in doubt only gets those that failed elsewhere, too."""
        return self.address not in item.avoid and (not self.doubt or bool(item.fails))

    def __str__(self) -> str:
        """Its name and address."""
        return f"{self.name} ({self.address})" if self.name else self.address
