"""The bed itself: paths are what they are said to be, and the line does to packets what its words say."""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path as File
from typing import TYPE_CHECKING

import pytest

from beds.path import Path, path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from beds.net import Namespace

pytestmark = [pytest.mark.host, pytest.mark.alone]

SOL_PACKET = 263
# It ends by silence once its input has, however long whoever sends takes to begin.
SERVER = """
import select, socket, sys
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)
udp.bind(("0.0.0.0", 7000))
print("ready", flush=True)
udp.settimeout(float(sys.argv[1]))
while True:
    try:
        data, peer = udp.recvfrom(65536)
    except TimeoutError:
        if select.select([sys.stdin], [], [], 0)[0]:
            break
        continue
    print(int.from_bytes(data[:4], "big"), flush=True)
"""
CLIENT = """
import socket, sys, time
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.setsockopt(socket.IPPROTO_IP, socket.IP_MTU_DISCOVER if hasattr(socket, "IP_MTU_DISCOVER") else 10, 0)
for n in range(int(sys.argv[2])):
    udp.sendto(n.to_bytes(4, "big") * (int(sys.argv[3]) // 4), (sys.argv[1], 7000))
    time.sleep(0.0005)
"""
STREAM = """
import socket, sys, time
if sys.argv[1] == "serve":
    with socket.create_server(("0.0.0.0", 7001)) as server:
        print("ready", flush=True)
        peer, _ = server.accept()
        total, wrong = 0, 0
        while data := peer.recv(1 << 16):
            wrong += data != (b"rush" * (1 << 15))[total % 4:][:len(data)]
            total += len(data)
        print(total, wrong, flush=True)
else:
    with socket.create_connection((sys.argv[2], 7001)) as peer:
        begin = time.monotonic()
        for _ in range(int(sys.argv[3]) >> 16):
            peer.sendall(b"rush" * (1 << 14))
        peer.shutdown(socket.SHUT_WR)
        while peer.recv(1):
            pass
        print(time.monotonic() - begin)
"""


@contextmanager
def _program(at: Namespace, code: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    command = at.words(sys.executable, "-c", code, *words)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def _datagrams(p: Path, count: int, size: int = 100) -> list[int]:
    """Send numbered datagrams from a to b; the numbers in the order in which they arrived."""
    with _program(p.nodes["b"], SERVER, "0.5") as server:
        p.nodes["a"].run(sys.executable, "-c", CLIENT, p.address_b, str(count), str(size))
        return [int(line) for line in server.communicate(timeout=20)[0].split()]


def _stream(p: Path, size: int) -> tuple[int, int, float]:
    """A TCP transfer from a to b: bytes that arrived, blocks that were wrong, seconds."""
    with _program(p.nodes["b"], STREAM, "serve") as server:
        took = p.nodes["a"].run(sys.executable, "-c", STREAM, "send", p.address_b, str(size))
        total, wrong = server.communicate(timeout=20)[0].split()
    return int(total), int(wrong), float(took)


def test_a_path_keeps_its_rate_and_its_delay() -> None:
    with path(rate="50mbit", rtt="30ms") as p:
        total, wrong, seconds = _stream(p, 3 << 20)
        assert (total, wrong) == (3 << 20, 0)
        # Frames of 1514 B carry 1448 B of payload: 3 MiB take 0.526 s at 50 Mbit/s, the bucket
        # saves 0.5 ms; handshake and last acknowledgement take two round trips.
        assert seconds >= 0.52 + 0.05
        report = p.line_report()
        there, back = report["directions"]
        assert there["packets"] >= (3 << 20) / 1448
        assert [there["missed"], there["refused"], back["missed"], back["refused"]] == [0, 0, 0, 0]


def test_a_fast_path_has_no_line_and_full_offloads() -> None:
    with path(rate="1gbit", rtt=None) as p:
        total, wrong, seconds = _stream(p, 16 << 20)
        assert (total, wrong, p.line) == (16 << 20, 0, None)
        assert seconds >= (16 << 20) * 8 / 1e9


def test_the_line_carries_super_frames_with_their_checksums_unwritten() -> None:
    with path(rate=None, rtt="2ms") as p:
        for router, device in (("left", "right"), ("right", "left")):
            p.nodes[router].run("ethtool", "-K", device, "tso", "on", "gso", "on")
        total, wrong, _ = _stream(p, 32 << 20)
        there, _ = p.line_report()["directions"]
        assert (total, wrong, there["refused"]) == (32 << 20, 0, 0)
        assert there["packets"] < (32 << 20) / 1448, "they were cut"


@pytest.mark.parametrize(("words", "lost"), [("drop 5,6,7", [5, 6, 7]), ("drop 10 mtu 1500", [10]), ("", [])])
def test_the_line_drops_by_number(words: str, lost: list[int]) -> None:
    with path(rtt="2ms", line=words, line_back="") as p:
        assert _datagrams(p, 40) == [n for n in range(40) if n not in lost]


def test_the_line_loses_what_is_too_large_duplicates_and_corrupts() -> None:
    with path(rtt="2ms", line="mtu 1000", line_back="") as p:
        assert _datagrams(p, 10, size=972) == list(range(10))
        assert _datagrams(p, 10, size=976) == []
    with path(rtt="2ms", line="duplicate 100%", line_back="") as p:
        assert _datagrams(p, 20) == [n for n in range(20) for _ in range(2)]
    with path(rtt="2ms", line="corrupt 100%", line_back="") as p:
        # A turned bit is found by the checksum of IP or of UDP, unless it leads astray the frame itself.
        assert _datagrams(p, 20) == []


def test_the_line_reorders_only_when_told() -> None:
    with path(rtt="2ms", line="jitter 10ms", line_back="") as p:
        assert _datagrams(p, 60) == list(range(60))
    with path(rtt="2ms", line="jitter 10ms reorder", line_back="") as p:
        arrived = _datagrams(p, 60)
        assert sorted(arrived) == list(range(60))
        assert arrived != list(range(60))


def test_the_line_carries_vlan_tags() -> None:
    """The kernel takes the tag out of the frame; whoever takes it up again has to see it."""
    with path(rate=None, rtt="2ms") as p:
        tag, told, words = b"\x81\x00\x00\x07", 8, 20  # SOL_PACKET's PACKET_AUXDATA; its length
        near = p.nodes["left"].inside(lambda: _frames("right"))
        far = p.nodes["right"].inside(lambda: _frames("left"))
        with near, far:
            far.setsockopt(SOL_PACKET, told, 1)
            near.send(b"\x02" * 12 + tag + b"\x88\xb5" + b"rush" * 20)
            while (received := far.recvmsg(2000, 100))[0][12:14] != b"\x88\xb5":
                pass
    frame, beside, *_ = received
    assert frame[14:] == b"rush" * 20
    status, _, _, _, _, control, protocol = struct.unpack("=IIIHHHH", beside[0][2][:words])
    assert (status & 0x50, control, protocol) == (0x50, 7, 0x8100)


def _frames(device: str) -> socket.socket:
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    made.bind((device, 3))
    made.settimeout(5)
    return made


def test_nothing_of_a_path_is_left() -> None:
    with path(rtt="2ms") as p:
        line, files = p.line, [File(node.path) for node in p.nodes.values()]
        assert line is not None
        kept = [file.readlink() for file in files]
    assert line.poll() is not None
    own = {entry.readlink() for entry in File("/proc/self/fd").iterdir() if entry.is_symlink()}
    assert not own & set(kept)


def test_wrong_words_for_a_line_are_said() -> None:
    with path(rtt=None) as p:
        from rushhour.lab import agent  # noqa: PLC0415

        words = p.nodes["a"].words(str(agent.find().binary), "line", "eth0")
        for more, said in (
            (["nowhere"], "nowhere"),
            (["eth0", "dealy", "1ms"], "delay"),
            ([], "line DEV_A DEV_B"),
        ):
            done = subprocess.run([*words, *more], capture_output=True, text=True, timeout=10, check=False)
            assert (done.returncode, said in done.stderr) == (1, True), done.stderr
