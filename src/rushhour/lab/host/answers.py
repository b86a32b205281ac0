"""What an agent answers over a session, typed (docs/serve-protocol.md): a class says what an answer holds.

Answers are documents (`rushhour.record.document`): the JSON object as it came, with what is known of it as
attributes. An answer of another shape is an agent's fault, and said to be that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from rushhour.errors import HostError, RecordError
from rushhour.record.document import EMPTY, Count, Document, read

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from rushhour.lab.host.settings import Asked

A = TypeVar("A", bound=Document)


def typed(kind: type[A], answer: Mapping[str, Any], where: str = "the agent") -> A:
    """An answer as what it is.

    Raises:
        HostError: it has another shape.
    """
    try:
        return read(kind, answer, where)
    except RecordError as error:
        raise HostError(
            f"the agent's answer cannot be read: {error.message}",
            where=error.where,
            hint="a fault of ours: please report it",
            kind="garbled",
        ) from error


class Refusal(Document):
    """Why something was not done; `where` is the device or the file that it is about."""

    message: str
    where: str | None = None
    hint: str | None = None
    kind: str | None = None


class Release(Document):
    """The kernel that runs at a host."""

    release: str = ""
    version: str = ""
    machine: str = ""


class Hello(Document):
    """Who answers; capabilities are written without `CAP_`."""

    format: str = ""
    version: str = ""
    hostname: str = ""
    boot_id: str = ""
    uid: int = 0
    pid: int = 0
    kernel: Release = Release()
    capabilities: tuple[str, ...] = ()
    cpus: Count = Count(1)
    warnings: tuple[str, ...] = ()


class Files(Document):
    """Texts of files below /proc and /sys by path, and why others could not be read."""

    files: Mapping[str, str] = EMPTY
    unreadable: Mapping[str, str] = EMPTY


def files(session: Asked, paths: Sequence[str]) -> Mapping[str, str]:
    """The texts of these files at an agent, of those that can be read.

    Raises:
        HostError: the connection is gone.
    """
    return typed(Files, session.call("files", paths=list(paths))).files


class Socket(Document):
    """A TCP connection with the other end; `info` is its `struct tcp_info`, in hexadecimal."""

    state: str = ""
    cc: str = ""
    local: int = 0
    port: int = 0
    unread: Count = Count(0)
    unsent: Count = Count(0)
    info: str = ""


class TcpSockets(Document):
    """The TCP sockets of a host."""

    with_peer: tuple[Socket, ...] = ()


class Sockets(Document):
    """Of `sockets`."""

    tcp: TcpSockets = TcpSockets()


class Table(Document):
    """A raw table that the agent holds."""

    name: str
    bytes: Count = Count(0)


class Tables(Document):
    """The raw tables of a run."""

    tables: tuple[Table, ...]


class Change(Document):
    """A change of a setting as it was asked for; its value stands under keys of its kind."""

    kind: str
    dev: str | None = None
    name: str | None = None
    if_there: bool = False


class Made(Document):
    """A change that was made, with the values before and after as they were read."""

    change: Change
    before: object = None
    after: object = None


class Skipped(Document):
    """A change that was not made, and why."""

    change: Change
    why: str = ""


class Undone(Document):
    """A change that was to be put back, and what became of that."""

    change: Change
    outcome: str
    detail: str | None = None


class Looked(Document):
    """A change as it would be made, or the error that would come."""

    change: Change
    key: str = ""
    before: object = None
    after: object = None
    same: bool = False
    error: Refusal | None = None


class Journal(Document):
    """What somebody changed at a machine; `since` counts seconds of the system's clock."""

    who: str
    since: float
    kept: bool = False
    in_use: bool = False
    changes: tuple[Made, ...] = ()


class Check(Document):
    """Of `check`: one row for each change, in their order."""

    rows: tuple[Looked, ...]


class Apply(Document):
    """Of `apply`; `put_back` is what an earlier session had left changed."""

    applied: tuple[Made, ...]
    skipped: tuple[Skipped, ...] = ()
    put_back: tuple[Undone, ...] = ()


class Undo(Document):
    """Of `restore` and `revert`."""

    undone: tuple[Undone, ...]


class Left(Document):
    """Of `left`."""

    journals: tuple[Journal, ...]
