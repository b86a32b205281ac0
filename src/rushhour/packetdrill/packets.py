"""A capture of a script's network → its packets, in the words of scripts.

Sequence numbers count from the connection's own, as in scripts; so do the kernel's time stamps. What kernels
draw by lot says nothing and is left out: identification, flow labels, keys of MPTCP, payload.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rushhour.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAGIC = 0xA1B23C4D
_LINK = 276  # LINKTYPE_LINUX_SLL2
_LINK_HEADER = 20
_OUTGOING = 4
_MOST = 1 << 32
_SIZE = re.compile(r" \d+:\d+\((\d+)\)")
_IPV4, _IPV6 = 0x0800, 0x86DD
_ICMP, _IGMP, _TCP, _UDP, _ICMPV6 = 1, 2, 6, 17, 58
_EXTENSIONS = (0, 43, 60)  # Hop-by-hop options (reports of groups have them), routing, destination options.
# Neighbours, routers and groups of IPv6: the network's, not the script's.
_HOUSEKEEPING = range(130, 154)
_FLAGS = {0x01: "F", 0x02: "S", 0x04: "R", 0x08: "P", 0x10: ".", 0x20: "U", 0x40: "E", 0x80: "W"}
_ECN = ("", "[ect1] ", "[ect0] ", "[ce] ")
_MSS, _SCALE, _SACK, _STAMPS, _MPTCP = 2, 3, 5, 8, 30
_NAMES = {0: "eol", 1: "nop", 2: "mss", 3: "wscale", 4: "sackOK", 19: "md5", 34: "FO"}
_MPTCP_KINDS = dict(
    enumerate(
        ("capable", "join", "dss", "add_address", "remove_address", "prio", "fail", "fastclose", "reset")
    )
)


@dataclass(frozen=True)
class Packet:
    """A packet.

    `time_ns` is the kernel's virtual time; `sent` whether it is the kernel's, not the script's. `connection`
    counts from 0, in the order of their first packets (-1: it is of none); `text` is what a script says of
    such a packet: `P. 1:1001(1000) ack 1 win 257`.
    """

    time_ns: int
    sent: bool
    connection: int
    text: str

    @property
    def size(self) -> int:
        """Its payload of TCP, in bytes."""
        found = _SIZE.search(self.text)
        return int(found[1]) if found else 0


@dataclass
class _Connection:
    """Its number; from where each direction (by `sent`), and the kernel's time stamps, count."""

    number: int
    first: dict[bool, int] = field(default_factory=dict)
    begun: int | None = None

    def option(self, kind: int, data: bytes, *, sent: bool) -> str:
        """An option of TCP in the words of scripts; a broken one by its bytes."""
        try:
            return self._option(kind, data, sent=sent)
        except (struct.error, ValueError, IndexError):
            return f"broken option {kind} {data.hex()}".strip()

    def _option(self, kind: int, data: bytes, *, sent: bool) -> str:
        if kind == _SACK:
            origin = self.first.get(not sent, 0)
            edges = [f"{(edge - origin) % _MOST}" for (edge,) in struct.iter_unpack("!I", data)]
            pairs = zip(edges[::2], edges[1::2], strict=True)
            return "sack " + " ".join(f"{left}:{right}" for left, right in pairs)
        if kind == _STAMPS:
            return self._stamps(*struct.unpack("!II", data), sent=sent)
        if kind == _MPTCP:
            name = _MPTCP_KINDS.get(data[0] >> 4, str(data[0] >> 4))
            return f"mptcp {name} ({len(data) + 2})"
        name = _NAMES.get(kind, f"option {kind}")
        value = str(int.from_bytes(data)) if kind in (_MSS, _SCALE) else data.hex()
        return f"{name} {value}".strip()

    def _stamps(self, value: int, echo: int, *, sent: bool) -> str:
        """The kernel's begin anywhere, and count from the first here; the script's are what it says."""
        if sent:
            self.begun = value if self.begun is None else self.begun
            value -= self.begun
        elif self.begun is not None and echo:
            echo -= self.begun
        return f"TS val {value % _MOST} ecr {echo % _MOST}"


@dataclass
class _Reader:
    known: dict[tuple[object, ...], _Connection] = field(default_factory=dict)
    count: int = 0

    def begin(self, tuple_: tuple[object, ...]) -> _Connection:
        self.known[tuple_] = _Connection(self.count)
        self.count += 1
        return self.known[tuple_]


def read(capture: bytes) -> list[Packet]:
    """The packets of a capture, in order.

    Raises:
        LabError: it is none of the agent's.
    """
    reader = _Reader()
    found = []
    try:
        for time_ns, protocol, sent, data in _frames(capture):
            told = _network(reader, protocol, data, sent=sent)
            if told is not None:
                found.append(Packet(time_ns, sent, *told))
    except (struct.error, IndexError, ValueError) as fault:
        raise LabError(f"the capture of a script's packets cannot be read: {fault}") from fault
    return found


def _frames(capture: bytes) -> Iterator[tuple[int, int, bool, bytes]]:
    magic, *_, link = struct.unpack_from("=IHHiIII", capture)
    if magic != _MAGIC or link != _LINK:
        raise struct.error("it has another format")
    at = 24
    while at < len(capture):
        seconds, rest, kept, _ = struct.unpack_from("=IIII", capture, at)
        protocol, sent = struct.unpack_from("!H8xB", capture, at + 16)
        data = capture[at + 16 + _LINK_HEADER : at + 16 + kept]
        yield seconds * 1_000_000_000 + rest, protocol, sent == _OUTGOING, data
        at += 16 + kept


def _network(reader: _Reader, protocol: int, data: bytes, *, sent: bool) -> tuple[int, str] | None:
    if protocol == _IPV4:
        begin, inner, ends = 4 * (data[0] & 15), data[9], (data[12:16], data[16:20])
        length, fragment = struct.unpack_from("!HxxH", data, 2)
        length, fragment, ecn = (length or len(data)) - begin, fragment & 0x3FFF, data[1] & 3
    elif protocol == _IPV6:
        begin, inner, ends, fragment = 40, data[6], (data[8:24], data[24:40]), 0
        (length,), ecn = struct.unpack_from("!H", data, 4), data[1] >> 4 & 3
    else:
        return -1, f"protocol {protocol:#06x} ({len(data)})"
    if fragment:
        return -1, f"fragment {fragment} of protocol {inner} ({length})"
    data = data[begin:]
    while protocol == _IPV6 and inner in _EXTENSIONS:
        size = 8 * (data[1] + 1)
        inner, data, length = data[0], data[size:], length - size
    if inner == _TCP:
        number, text = _tcp(reader, ends, data, length, sent=sent)
        return number, _ECN[ecn] + text
    told = _other(inner, data, length)
    return None if told is None else (-1, _ECN[ecn] + told)


def _other(inner: int, data: bytes, length: int) -> str | None:
    if inner == _UDP:
        return f"udp ({length - 8})"
    if inner == _IGMP or (inner == _ICMPV6 and data[0] in _HOUSEKEEPING):
        return None
    if inner in (_ICMP, _ICMPV6):
        kind, code, rest = struct.unpack_from("!BBxxI", data)
        return f"icmp type {kind} code {code} {rest}"
    return f"protocol {inner} ({length})"


def _tcp(
    reader: _Reader, ends: tuple[bytes, bytes], data: bytes, length: int, *, sent: bool
) -> tuple[int, str]:
    pairs = [*zip(ends, struct.unpack_from("!HH", data), strict=True)]
    here, there = pairs if sent else pairs[::-1]
    sequence, acknowledged, offset, flags, window = struct.unpack_from("!IIBBH", data, 4)
    one = reader.known.get((here, there))
    opens = flags & 0x12 == 0x02
    if one is None or (opens and one.first.get(sent, sequence) != sequence):
        one = reader.begin((here, there))
    one.first.setdefault(sent, sequence)
    letters = "".join(letter for bit, letter in _FLAGS.items() if flags & bit) + ("A" if offset & 1 else "")
    size = length - 4 * (offset >> 4)
    begin = (sequence - one.first[sent]) % _MOST
    words = [letters or "-", f"{begin}:{begin + size}({size})"]
    if flags & 0x10:
        one.first.setdefault(not sent, acknowledged - 1)
        words.append(f"ack {(acknowledged - one.first[not sent]) % _MOST}")
    words.append(f"win {window}")
    options = [one.option(kind, rest, sent=sent) for kind, rest in _options(data[20 : 4 * (offset >> 4)])]
    return one.number, " ".join(words + ([f"<{','.join(options)}>"] if options else []))


def _options(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(data):
        kind = data[at]
        size = 1 if kind in (0, 1) else data[at + 1]
        if size < (2 if kind > 1 else 1):
            size = len(data) - at  # it is broken: the rest is its
        yield kind, data[at + 2 : at + size]
        if kind == 0:
            return
        at += size
