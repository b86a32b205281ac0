"""Addresses, MACs and device names: from cables to what each end is called.

Cable number n has the subnet 10.(n / 256).(n mod 256).0/30, its ends .1 and .2; in IPv6 fd00:(n + 1)::/126.
Its MACs are 02:00:00:(n):01 and :02. A host on a single cable is known by its address there. Every other
node has an address of its own on its loopback: 10.255.x.y/32, fd00:ffff::x/128.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushhour.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rushhour.plan.graph import Graph
    from rushhour.plan.stages import Cable

MAX_CABLES = 255 * 256  # 10.255.0.0/16 is left to loopbacks
MAX_LOOPBACKS = 2**16 - 1
IFNAMSIZ = 15  # characters of a device name, without the final 0
RESERVED = frozenset({"lo", "all", "default", ".", ".."})  # a device, two words of sysctl, two of a path


@dataclass(frozen=True, slots=True)
class End:
    """One end of a cable: its node, its device there, its address without the prefix length."""

    node: str
    dev: str
    mac: str
    address: str


@dataclass(frozen=True, slots=True)
class Addressing:
    """What everything is called: two ends a cable, loopback addresses by node, identities by node."""

    ends: tuple[tuple[End, End], ...]
    loopback: dict[str, str]
    identity: dict[str, str]
    link_prefix: int
    host_prefix: int


def assign(graph: Graph, links: list[list[Cable]], *, ipv6: bool) -> Addressing:
    """Assign addresses, MACs and device names to the cables of all links."""
    flat = [cable for cables in links for cable in cables]
    if len(flat) > MAX_CABLES:
        raise PlanError(
            f"the plan needs {len(flat)} cables, there are addresses for {MAX_CABLES}",
            where="topology",
            hint="fewer links, or fewer stages on hosts' links",
        )
    names = _device_names(graph, links)
    ends = tuple(
        (
            End(cable.nodes[0], names[number][0], _mac(number, 0), _link_address(number, 0, ipv6=ipv6)),
            End(cable.nodes[1], names[number][1], _mac(number, 1), _link_address(number, 1, ipv6=ipv6)),
        )
        for number, cable in enumerate(flat)
    )
    at: dict[str, list[str]] = {node.name: [] for node in graph.nodes}
    for end in (end for pair in ends for end in pair):
        if end.node in at:
            at[end.node].append(end.address)
    several = [name for name, own in at.items() if len(own) != 1]
    loopback = {name: _loopback_address(k, ipv6=ipv6) for k, name in enumerate(several, start=1)}
    identity = {name: loopback.get(name) or own[0] for name, own in at.items()}
    return Addressing(ends, loopback, identity, 126 if ipv6 else 30, 128 if ipv6 else 32)


def _link_address(number: int, side: int, *, ipv6: bool) -> str:
    if ipv6:
        return f"fd00:{number + 1:x}::{side + 1}"
    return f"10.{number >> 8}.{number & 255}.{side + 1}"


def _loopback_address(number: int, *, ipv6: bool) -> str:
    if number > MAX_LOOPBACKS:
        raise PlanError(f"the plan has more than {MAX_LOOPBACKS} routers", where="topology")
    return f"fd00:ffff::{number:x}" if ipv6 else f"10.255.{number >> 8}.{number & 255}"


def _mac(number: int, side: int) -> str:
    return f"02:00:00:{number >> 8:02x}:{number & 255:02x}:{side + 1:02x}"


def ifb_mac(end: int) -> str:
    """MAC of the device that packets are redirected to on arrival: a fixed one, as the kernel's is random."""
    return f"02:00:01:{end >> 16 & 255:02x}:{end >> 8 & 255:02x}:{end & 255:02x}"


def _device_names(graph: Graph, links: list[list[Cable]]) -> list[tuple[str, str]]:
    """Name each device after the peer that a person sees there: the node at the far side of the link."""
    taken: dict[str, set[str]] = {}
    names = []
    for link, cables in zip(graph.links, links, strict=True):
        for cable in cables:
            here = device_name(link.b, taken.setdefault(cable.nodes[0], set()))
            there = device_name(link.a, taken.setdefault(cable.nodes[1], set()))
            names.append((here, there))
    return names


def device_name(peer: str, taken: set[str]) -> str:
    """Make a device name of a peer's name, at most 15 characters, not in `taken`, and add it there."""
    base = re.sub(r"[^A-Za-z0-9_-]", "_", peer)
    for name in _candidates(base):
        if name not in taken and name not in RESERVED:
            taken.add(name)
            return name
    raise PlanError(f"no device name is left for {peer}", where="topology")  # pragma: no cover endless above


def _candidates(base: str) -> Iterable[str]:
    yield base[:IFNAMSIZ]
    for number in range(2, 10**6):
        suffix = f"-{number}"
        yield base[: IFNAMSIZ - len(suffix)] + suffix
