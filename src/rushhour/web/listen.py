"""A socket for the server, bound before slow imports, so that errors are reported at once."""

from __future__ import annotations

import errno
import socket
from typing import TYPE_CHECKING

from rushhour.errors import UsageError

if TYPE_CHECKING:
    from rushhour.web.settings import Settings


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens at this address.

    Raises:
        UsageError: it is taken, not allowed, or no address of this machine.
    """
    where = f"{host}:{port}"
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        server = socket.socket(family, kind, protocol)
    except OSError as error:
        raise UsageError(f"{host!r} is no address: {error.strerror}", where="--host") from error
    try:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(address)
        server.listen(128)
    except OSError as error:
        server.close()
        raise UsageError(
            f"cannot listen there: {error.strerror}", where=where, hint=_hint(error, port)
        ) from error
    return server


def _hint(error: OSError, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"another program, perhaps another `rushhour serve`, has this port: try --port {port % 65535 + 1}"
        )
    if error.errno == errno.EACCES:
        return "ports below 1024 are the administrator's: try --port 8080"
    return "name an address of this machine, 127.0.0.1 for instance"


def url(server: socket.socket, settings: Settings) -> str:
    """Where a browser finds the server."""
    host = "127.0.0.1" if settings.loopback and ":" not in settings.host else settings.host
    host = socket.gethostname() if host in ("0.0.0.0", "::") else host  # noqa: S104 - it is compared
    return f"http://{f'[{host}]' if ':' in host else host}:{server.getsockname()[1]}/"
