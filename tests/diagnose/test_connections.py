"""Connections that programs have: the reader, the writer or the buffer that each waits for."""

from __future__ import annotations

import socket
import time
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING

import numpy as np
import pytest
from beds.path import path

from rushhour.diagnosis.case import Case
from rushhour.diagnosis.connections import moving
from rushhour.diagnosis.facts import Facts
from rushhour.diagnosis.live import Asked, carry_out
from rushhour.diagnosis.rules.connections import connections
from rushhour.lab.host.answers import Socket, typed
from rushhour.record import decode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from beds.path import Path as Bed

PORT = 7001


def entry(local: int, port: int, unread: int = 0, **fields: int) -> Socket:
    info = np.zeros(1, decode.layout(decode.TCP_INFO, 248))
    for name, value in fields.items():
        info[name] = value
    text = info.tobytes().hex()
    told = {"state": "established", "cc": "cubic", "local": local, "port": port, "unread": unread,
            "unsent": 0, "info": text}  # fmt: skip
    return typed(Socket, told)


def found(unread: int = 0, **spent: int) -> list[str]:
    """Keys of what is found of a connection a:5000 → b:80 that moved 1 MB in a second."""
    before = {"a": [entry(5000, 80, bytes_acked=10)], "b": [entry(80, 5000)]}
    after = {"a": [entry(5000, 80, bytes_acked=1_000_010, **spent)], "b": [entry(80, 5000, unread)]}
    [one] = moving(before, after, 1.0)
    assert (one.where, one.rate_bps, one.name) == ("a→b", 8e6, "port 5000 → 80")
    case = Case(Facts("alice", {}), Facts("bob", {}), connections=[one])
    return [finding.key for finding in connections(case)]


def test_each_limit_has_its_finding() -> None:
    busy = {"busy_time": 1_000_000}
    assert found(unread=200_000, rwnd_limited=800_000, **busy) == ["connection-slow-reader"]
    assert found(rwnd_limited=800_000, **busy) == ["connection-receive-buffer"]
    assert found(sndbuf_limited=800_000, **busy) == ["connection-send-buffer"]
    assert found(busy_time=100_000) == ["connection-slow-writer"]
    assert found(**busy) == []


def test_a_shell_and_a_new_connection_are_left_out() -> None:
    idle = {"a": [entry(5000, 22, bytes_acked=10)], "b": []}
    typed = {"a": [entry(5000, 22, bytes_acked=900), entry(5001, 80, bytes_acked=10**9)], "b": []}
    assert moving(idle, typed, 1.0) == []


@contextmanager
def transfer(p: Bed, *, read_bytes: int, every_s: float) -> Iterator[None]:
    """A program at a that writes all it can, one at b that reads so many bytes so often."""
    over = Event()

    def listening() -> socket.socket:
        return socket.create_server((p.address_b, PORT))

    def read(server: socket.socket) -> None:
        taken, _ = server.accept()
        with taken:
            while not over.wait(every_s) and taken.recv(read_bytes):
                pass

    def write(connected: socket.socket) -> None:
        with connected:
            connected.settimeout(0.2)
            while not over.is_set():
                try:
                    connected.send(bytes(65536))
                except OSError:
                    continue

    server = p.nodes["b"].inside(listening)
    reader = Thread(target=read, args=(server,))
    reader.start()
    writer = Thread(
        target=write, args=(p.nodes["a"].inside(lambda: socket.create_connection((p.address_b, PORT))),)
    )
    writer.start()
    try:
        time.sleep(0.5)
        yield
    finally:
        over.set()
        writer.join()
        reader.join()
        server.close()


@pytest.mark.host
@pytest.mark.alone
def test_the_program_that_reads_too_slowly_is_named_by_its_port(tmp_path: Path) -> None:
    with path(rate="50mbit", rtt="10ms") as p, transfer(p, read_bytes=30_000, every_s=0.02):
        made = carry_out(Asked(p.a, p.b, quick=True, out=tmp_path / "out"))
    keys = {finding.key: finding for finding in made.findings}
    assert "connection-slow-reader" in keys, list(keys)
    finding = keys["connection-slow-reader"]
    assert finding.where == "b"
    assert str(PORT) in finding.title
    assert finding.limited is not None
    assert finding.limited > 0.3
    assert str(PORT) in finding.fix[0].text
