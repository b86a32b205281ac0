"""Attacks on the server, on a socket: who sits there and says nothing keeps nobody out."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pytest
import uvicorn
from starlette.requests import Request  # noqa: TC002 - starlette looks at the signature
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from rushhour.web.app import create
from rushhour.web.connection import connections
from rushhour.web.section import Section
from rushhour.web.settings import Bounds, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

LET_IN = threading.Event()
READ = threading.Semaphore(0)  # of requests for what is slow


async def echo(request: Request) -> Response:
    return JSONResponse({"size": len(await request.body())})


async def slow(_request: Request) -> Response:
    READ.release()
    await asyncio.to_thread(LET_IN.wait)
    return PlainTextResponse("at last")


async def long(_request: Request) -> Response:
    return PlainTextResponse("x" * (64 << 20))


SECTIONS = [
    Section(
        "S",
        "/echo",
        [Route("/echo", echo, methods=["POST", "GET"]), Route("/slow", slow), Route("/long", long)],
    )
]


@contextmanager
def serving(*limits: str, ask_s: float = 3600, take_s: float = 3600) -> Iterator[tuple[str, int]]:
    """A server in a thread, with these limits; where it listens."""
    bounds = Bounds.parse(limits)
    app = create(Settings(bounds=bounds), SECTIONS)
    config = uvicorn.Config(
        app,
        http=connections(bounds, ask_s, take_s),
        log_level="warning",
        ws="none",
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield listener.getsockname()
        finally:
            LET_IN.set()
            server.should_exit = True
            thread.join()
            LET_IN.clear()


def request(path: str, more: str = "") -> bytes:
    return f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n{more}\r\n".encode()


def ask(place: tuple[str, int], path: str = "/health") -> bytes:
    """The whole answer to an honest visitor."""
    with socket.create_connection(place, timeout=60) as visitor:
        visitor.sendall(request(path))
        return whole(visitor)


def whole(visitor: socket.socket) -> bytes:
    """All that comes until the server ends the connection."""
    parts = []
    while part := visitor.recv(65536):
        parts.append(part)
    return b"".join(parts)


def heard(place: tuple[str, int]) -> bool:
    """Whether a visitor is answered."""
    try:
        return ask(place).startswith(b"HTTP/1.1 200")
    except ConnectionError:
        return False


def closed(attacker: socket.socket) -> bool:
    """Wait until the server ends a connection."""
    attacker.settimeout(60)
    try:
        return attacker.recv(65536) == b""
    except ConnectionError:
        return True


HALVES = [
    b"",
    b"GET",
    request("/health")[:-2],
    b"POST /echo HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 9\r\n\r\n1",
]


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("limit", ["connections=20", "client=20"])
def test_half_open_connections_lock_nobody_out(half: bytes, limit: str) -> None:
    # Nothing times out here: it is the room that has to be made.
    with serving(limit) as place, ExitStack() as stack:
        for _ in range(60):
            attacker = stack.enter_context(socket.create_connection(place, timeout=60))
            attacker.sendall(half)
        for _ in range(5):
            assert ask(place).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("half", HALVES)
def test_what_is_not_asked_in_time_is_ended(half: bytes) -> None:
    with serving(ask_s=0.2) as place, socket.create_connection(place, timeout=60) as attacker:
        attacker.sendall(half)
        assert closed(attacker)


def test_a_byte_now_and_then_gives_no_more_time() -> None:
    def drip(attacker: socket.socket) -> None:
        while True:  # until the server's end of it is gone
            attacker.sendall(b"x")
            time.sleep(0.02)

    with (
        serving(ask_s=0.3) as place,
        socket.create_connection(place, timeout=60) as attacker,
        pytest.raises(ConnectionError),
    ):
        drip(attacker)


def test_the_second_request_of_a_connection_has_its_time_too() -> None:
    with serving(ask_s=0.3) as place, socket.create_connection(place, timeout=60) as attacker:
        attacker.sendall(b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        said = b""
        while not said.endswith(b"ok\n"):
            said += attacker.recv(65536)
        attacker.sendall(b"GET /hea")
        assert closed(attacker)


def test_who_is_answered_is_not_shown_out() -> None:
    with serving("connections=3") as place, ExitStack() as stack:
        waiting = [stack.enter_context(socket.create_connection(place, timeout=60)) for _ in range(3)]
        for one in waiting:
            one.sendall(request("/slow"))
            READ.acquire()
        said = ask(place)
        assert said.startswith(b"HTTP/1.1 503")
        assert b"all the connections" in said
        LET_IN.set()
        for one in waiting:
            assert b"at last" in whole(one)
        assert ask(place).startswith(b"HTTP/1.1 200")


def test_an_answer_that_nobody_takes_is_given_up() -> None:
    with (
        serving("connections=1", take_s=0.2) as place,
        socket.create_connection(place, timeout=60) as attacker,
    ):
        attacker.sendall(request("/long"))
        while not heard(place):
            pass  # the only connection is the attacker's until it is given up


def test_who_leaves_in_the_middle_is_no_fault_of_ours(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), serving() as place:
        with socket.create_connection(place, timeout=60) as attacker:
            attacker.sendall(HALVES[3])
            assert ask(place).startswith(b"HTTP/1.1 200")
        assert ask(place).startswith(b"HTTP/1.1 200")
    assert not [record for record in caplog.records if record.exc_info]


def test_a_server_that_ends_says_so_to_who_still_waits(caplog: pytest.LogCaptureFixture) -> None:
    with ExitStack() as stack, serving() as place:
        visitor = stack.enter_context(socket.create_connection(place, timeout=60))
        visitor.sendall(request("/slow"))
        READ.acquire()
    assert not [record for record in caplog.records if record.exc_info]
