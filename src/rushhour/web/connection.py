"""Connections: each is released in time, and no client can hold all of them.

A request has to be here, head and body, some seconds after its connection was made or its first byte came;
an answer that nobody takes is given up. Where the server or one address has all the connections it may have,
the oldest one that has not asked for anything yet makes room: whoever asks at once is heard, however many sit
there and say nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

    from rushhour.web.settings import Bounds

ASK_S = 10
"""How long a request may take until it is here."""
TAKE_S = 60
"""How long an answer may wait for its reader to take any of it."""
_LINGER_S = 1  # until who was turned away is forgotten
_SAID = b"the server has all the connections it can hold\n"
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain; charset=utf-8\r\nretry-after: 5\r\n"
    b"connection: close\r\ncontent-length: %d\r\n\r\n%s" % (len(_SAID), _SAID)
)


def connections(bounds: Bounds, ask_s: float = ASK_S, take_s: float = TAKE_S) -> type[H11Protocol]:
    """The class of a server's connections, within these bounds.

    Args:
        bounds: How many there may be, and how many of one address.
        ask_s: How long a request may take until it is here.
        take_s: How long an answer may wait for its reader.
    """
    open_ones: dict[Connection, None] = {}  # in the order in which they were made
    away: set[Connection] = set()  # turned away, and not gone yet

    class Bounded(Connection):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self.open, self.away, self.bounds = open_ones, away, bounds
            self.ask_s, self.take_s = ask_s, take_s

    return Bounded


class Connection(H11Protocol):
    """One connection; make its class with `connections`."""

    open: dict[Connection, None]
    away: set[Connection]
    bounds: Bounds
    ask_s: float
    take_s: float
    _timer: asyncio.TimerHandle | None = None
    _reader: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        """Take a connection, or turn it away."""
        super().connection_made(transport)
        if not self._room():
            self._turn_away()
            return
        self.open[self] = None
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove the connection from the list."""
        self.open.pop(self, None)
        self.away.discard(self)
        self._asked()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read; the time of a request begins with its first byte and ends with its last."""
        if self in self.away:
            return
        super().data_received(data)
        if self.asking:
            self._wait()
        else:
            self._asked()

    def pause_writing(self) -> None:
        """Note that the answer waits for its reader."""
        super().pause_writing()
        if self._reader is None:
            self._reader = self.loop.call_later(self.take_s, self.transport.abort)

    def resume_writing(self) -> None:
        """Note that the reader takes it again."""
        if self._reader is not None:
            self._reader.cancel()
            self._reader = None
        super().resume_writing()

    @property
    def asking(self) -> bool:
        """Whether no whole request of it is here, and none is being answered."""
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)

    def _wait(self) -> None:
        if self._timer is None and not self.transport.is_closing():
            self._timer = self.loop.call_later(self.ask_s, self._late)

    def _asked(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        if self.asking:
            self.transport.abort()

    def _turn_away(self) -> None:
        """Say that there is no room; what comes meanwhile is read, else the sentence was lost with it."""
        if len(self.away) >= self.bounds.connections:
            self.transport.abort()
            return
        self.away.add(self)
        self.transport.write(_FULL)
        self.transport.write_eof()
        self.loop.call_later(_LINGER_S, self.transport.abort)

    def _room(self) -> bool:
        """Whether there is room for one more, after the oldest that says nothing was shown out."""
        own = [one for one in self.open if one.of == self.of]
        if len(own) >= self.bounds.client:
            return _show_out(own)
        return len(self.open) < self.bounds.connections or _show_out(self.open)

    @property
    def of(self) -> str | None:
        """The address of its client."""
        return self.client[0] if self.client else None


def _show_out(among: Any) -> bool:
    oldest = next((one for one in among if one.asking), None)
    if oldest is None:
        return False
    oldest.open.pop(oldest, None)
    oldest.transport.abort()
    return True
