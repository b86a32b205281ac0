"""When datagrams arrive, by a packet socket in the receiver's namespace: the same stamp for any program."""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import time
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_CLONE_NEWNET = 0x40000000
_SO_TIMESTAMPNS = 35
_ETH_P_IP = 0x0800
_HEADERS = struct.Struct("!14x9xB10xHHHH")  # Ethernet; protocol in IP; ports and length of UDP
_STAMP = struct.Struct("qq")


class Arrivals:
    """Listens in every namespace that a process holds open; `stamps_ns` are of datagrams to one port."""

    def __init__(self, pid: int, port: int) -> None:
        self.stamps_ns: list[int] = []
        self._over = Event()
        self._port = port
        self._threads = [Thread(target=self._listen, args=(place,)) for place in _namespaces(pid)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> list[int]:
        """The stamps, in order."""
        self._over.set()
        for thread in self._threads:
            thread.join()
        return sorted(self.stamps_ns)

    def _listen(self, place: int) -> None:
        """A thread of its own: it never comes back from the namespace."""
        if ctypes.CDLL(None, use_errno=True).setns(place, _CLONE_NEWNET) != 0:
            return
        os.close(place)
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_IP)) as tap:
            tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 20)
            tap.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
            tap.settimeout(0.1)
            while not self._over.is_set():
                with suppress(TimeoutError):
                    self._take(*tap.recvmsg(64, 64))

    def _take(
        self, head: bytes, extra: list[tuple[int, int, bytes]], _flags: int, source: tuple[int, ...]
    ) -> None:
        # Packets that leave the other end are seen there, too.
        if source[2] != socket.PACKET_HOST or len(head) < _HEADERS.size:
            return
        protocol, _, port, _, _ = _HEADERS.unpack_from(head)
        if protocol == socket.IPPROTO_UDP and port == self._port:
            seconds, ns = _STAMP.unpack_from(extra[0][2])
            self.stamps_ns.append(seconds * 10**9 + ns)


def _namespaces(pid: int, wait_s: float = 5.0) -> Iterator[int]:
    """The network namespaces that a process holds, each once, as files; waits until there are two."""
    until = time.monotonic() + wait_s
    while time.monotonic() < until:
        found: dict[str, int] = {}
        for path in Path(f"/proc/{pid}/fd").glob("*"):
            with suppress(OSError):
                name = str(path.readlink())
                if name.startswith("net:[") and name not in found:
                    found[name] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        # The agent's own, and one a node.
        if len(found) > 2:
            yield from found.values()
            return
        for place in found.values():
            os.close(place)
        time.sleep(0.01)
    raise RuntimeError(f"process {pid} made no namespaces")
