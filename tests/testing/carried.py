"""Functions for tests of what is carried into a guest; this module is not installed, and not a test."""

from __future__ import annotations

import json
import socket
import sys
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Point:
    """A value of a class of this module."""

    x: int


class AwkwardError(Exception):
    """Cannot be put together again from its words."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"{first} and {second}")


def doubled(point: Point, *, times: int = 2) -> Point:
    return Point(point.x * times)


async def later(span_s: float) -> str:
    import asyncio  # noqa: PLC0415 - as functions do

    await asyncio.sleep(span_s)
    return "later"


def serve(port: int) -> int:
    with socket.create_server(("", port)) as listening:
        connection, _ = listening.accept()
        count = 0
        with connection:
            while piece := connection.recv(65536):
                count += len(piece)
    print("got", count)
    return count


def send(host: str, port: int, count: int) -> float:
    with socket.create_connection((host, port)) as connection:
        connection.sendall(b"x" * count)
    return time.time()


def say() -> None:
    print("one")
    time.sleep(1.5)
    print("two", file=sys.stderr)
    time.sleep(1)
    print("three", end="")


def wrong(how: str) -> object:
    print("just before")
    if how == "awkward":
        raise AwkwardError(1, 2)
    if how == "lambda":
        return lambda: 1
    if how == "exit":
        sys.exit(7)
    if how == "lazy":
        import colours_of_nowhere  # type: ignore[import-not-found] # noqa: F401, PLC0415
    return json.loads("{")


def large() -> bytes:
    return bytes(range(256)) * 4000


def python() -> tuple[tuple[int, ...], str]:
    return tuple(sys.version_info[:3]), __file__
