"""A barrier: parties on several machines wait for each other, and hear at once if one of them fails.

One party listens, the others come to it. Who has come sends a line (meeting, name, what it has to say) and
waits. When all are there, each gets the words of all and goes on; when one says that it failed, breaks its
connection, or does not come in time, each gets that instead. Nothing is left over: a meeting ends with its
listener.
"""

from __future__ import annotations

import json
import selectors
import socket
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rushhour.errors import RushHourError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST = 65_536
"""Bytes of a message at most."""
_RETRY_S = 0.2


class BarrierError(RushHourError):
    """The parties did not meet: one failed, closed its connection, or did not come."""

    exit_code = 1


@dataclass(frozen=True)
class Meeting:
    """Who is to meet, where, and how long to wait.

    `parties` are all names, `me` one of them; `host` and `port` are where the listener is; `listens` says
    that this is it. `seconds` is how long to wait for the others. `port` 0 takes a free one.
    """

    name: str
    parties: Sequence[str]
    me: str
    host: str
    port: int
    listens: bool
    seconds: float
    says: str = ""
    failed: bool = False

    def __post_init__(self) -> None:
        if self.me not in self.parties:
            known = ", ".join(self.parties)
            raise UsageError(f"{self.me!r} is not one of the parties", hint=f"they are: {known}")
        if len(set(self.parties)) != len(self.parties):
            raise UsageError("a party is named twice", hint="each machine needs a name of its own")
        if not 0 <= self.port <= 65_535:
            raise UsageError(f"{self.port} is not a port")

    def line(self) -> bytes:
        """What this party sends."""
        about = {"meeting": self.name, "party": self.me, "says": self.says, "failed": self.failed}
        return json.dumps(about).encode() + b"\n"


@dataclass
class _Guest:
    socket: socket.socket
    party: str = ""
    data: bytes = b""


@dataclass
class _Table:
    """What the listener knows: who sits where, and what each said."""

    meeting: Meeting
    said: dict[str, str] = field(default_factory=dict)
    guests: list[_Guest] = field(default_factory=list)
    failure: str = ""

    @property
    def missing(self) -> list[str]:
        return [party for party in self.meeting.parties if party not in self.said]

    def take(self, party: str, says: str, *, failed: bool) -> None:
        self.said[party] = says
        if failed and not self.failure:
            self.failure = f"{party} failed" + (f": {says}" if says else "")


def meet(meeting: Meeting, listening: socket.socket | None = None) -> dict[str, str]:
    """Wait for all parties and return what each said.

    Args:
        meeting: who, where, how long.
        listening: the listener's socket if it is open already.

    Raises:
        BarrierError: a party failed, broke off or did not come.
        UsageError: the address cannot be used.
    """
    if not meeting.listens:
        return _come(meeting)
    with listening or _listen(meeting) as server:
        table = _Table(meeting)
        table.take(meeting.me, meeting.says, failed=meeting.failed)
        try:
            _host(server, table, time.monotonic() + meeting.seconds)
            return _end(table)
        finally:
            for guest in table.guests:
                guest.socket.close()


def _listen(meeting: Meeting) -> socket.socket:
    try:
        return socket.create_server((meeting.host, meeting.port))
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"cannot listen at {meeting.host}:{meeting.port}: {error}",
            hint="choose an address of this machine and a free port",
        ) from error


def _host(server: socket.socket, table: _Table, until: float) -> None:
    """Seat guests until all are there, one failed, or time is over."""
    with selectors.DefaultSelector() as watch:
        watch.register(server, selectors.EVENT_READ)
        while table.missing and not table.failure:
            left = until - time.monotonic()
            if left <= 0:
                table.failure = f"{', '.join(table.missing)} did not come in {table.meeting.seconds:g} s"
                return
            for key, _ in watch.select(min(left, 1.0)):
                if key.fileobj is server:
                    guest = _Guest(server.accept()[0])
                    guest.socket.settimeout(0)
                    table.guests.append(guest)
                    watch.register(guest.socket, selectors.EVENT_READ, guest)
                elif not _hear(key.data, table):
                    watch.unregister(key.data.socket)


def _hear(guest: _Guest, table: _Table) -> bool:
    """Read from a guest; False once there is nothing more to hear from it."""
    try:
        data = guest.socket.recv(LONGEST)
    except OSError:
        data = b""
    if not data:
        # A stranger who says nothing and goes (a port scan) is no party that failed.
        if guest.party and not table.failure:
            table.failure = f"{guest.party} broke off"
        return False
    guest.data += data
    if guest.party or (b"\n" not in guest.data and len(guest.data) <= LONGEST):
        return True
    fault = _seat(guest, table)
    if fault:
        _send(guest, {"refused": fault})
        guest.socket.close()
        table.guests.remove(guest)
    return not fault


def _seat(guest: _Guest, table: _Table) -> str:
    """Take a guest's first line; why it is refused, or nothing."""
    try:
        about = json.loads(guest.data.partition(b"\n")[0])
        meeting, party, says = about["meeting"], about["party"], str(about["says"])
        failed = bool(about["failed"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return "that was no party of a barrier"
    if meeting != table.meeting.name:
        return f"this is the barrier {table.meeting.name!r}, not {meeting!r}"
    if party not in table.meeting.parties:
        return f"{party!r} is not awaited here; awaited: {', '.join(table.meeting.parties)}"
    if party in table.said:
        return f"{party!r} is here already"
    guest.party = party
    table.take(party, says, failed=failed)
    return ""


def _end(table: _Table) -> dict[str, str]:
    """Tell everybody how it ended."""
    outcome: dict[str, object] = {"failure": table.failure} if table.failure else {"said": table.said}
    for guest in table.guests:
        if guest.party:
            _send(guest, outcome)
    if table.failure:
        raise BarrierError(table.failure, where=f"barrier {table.meeting.name}")
    return table.said


def _send(guest: _Guest, message: dict[str, object]) -> None:
    try:
        guest.socket.settimeout(5)
        guest.socket.sendall(json.dumps(message).encode() + b"\n")
    except OSError:
        return  # it has gone; the others are told all the same


def _come(meeting: Meeting) -> dict[str, str]:
    until = time.monotonic() + meeting.seconds
    where = f"barrier {meeting.name} at {meeting.host}:{meeting.port}"
    while True:
        left = until - time.monotonic()
        if left <= 0:
            raise BarrierError(
                f"{meeting.host} did not open the barrier in {meeting.seconds:g} s",
                where=where,
                hint="is the listening party running, and its port reachable from here?",
            )
        try:
            with socket.create_connection((meeting.host, meeting.port), timeout=left) as line:
                return _answer(line, meeting, until, where)
        except (ConnectionRefusedError, TimeoutError):
            time.sleep(min(_RETRY_S, max(left, 0)))  # not open yet
        except (OSError, OverflowError) as error:
            raise BarrierError(f"cannot be reached: {error}", where=where) from error


def _answer(line: socket.socket, meeting: Meeting, until: float, where: str) -> dict[str, str]:
    line.sendall(meeting.line())
    data = b""
    while b"\n" not in data:
        # The listener's own limit may be a little behind ours: it knows who is missing.
        line.settimeout(max(until - time.monotonic(), 0) + 5)
        try:
            more = line.recv(LONGEST)
        except TimeoutError:
            more = b""
        if not more:
            raise BarrierError("the listening party closed the connection", where=where)
        data += more
    outcome = json.loads(data.partition(b"\n")[0])
    fault = outcome.get("refused") or outcome.get("failure")
    if fault:
        raise BarrierError(str(fault), where=where)
    return {str(name): str(says) for name, says in outcome["said"].items()}
