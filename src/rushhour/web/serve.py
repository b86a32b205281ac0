"""The application on a socket: ended gracefully, nothing left behind."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

import uvicorn

from rushhour.web.app import create
from rushhour.web.connection import connections

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator, Sequence

    from rushhour.web.section import Section
    from rushhour.web.settings import Settings

GRACE_S = 3
"""How long an answer under way may take when the server is asked to end."""


def serve(settings: Settings, server: socket.socket, ready: Callable[[], None]) -> None:
    """Serve until SIGINT, SIGTERM or SIGHUP; `ready` is called once requests are answered."""
    app = create(settings)
    config = uvicorn.Config(
        app,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=GRACE_S,
        http=connections(settings.bounds),
        ws="none",
        proxy_headers=False,
    )
    runner = _Server(config)
    runner.ready = ready
    runner.sections = app.sections
    runner.run(sockets=[server])


class _Server(uvicorn.Server):
    ready: Callable[[], None]
    sections: Sequence[Section]

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn's, and of a terminal that ends: an exception amid the event loop otherwise."""
        with super().capture_signals():
            before = signal.getsignal(signal.SIGHUP)
            if before is not signal.SIG_IGN:
                signal.signal(signal.SIGHUP, self.handle_exit)
            try:
                yield
            finally:
                signal.signal(signal.SIGHUP, before)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for section in self.sections:
            if section.stop is not None:
                section.stop()
        await super().shutdown(sockets)
