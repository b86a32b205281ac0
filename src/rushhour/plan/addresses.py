"""Addresses, MACs and device names: from cables to what each end is called.

Cable number n has the subnet 10.(n / 256).(n mod 256).0/30, its ends .1 and .2; in IPv6 fd00:(n + 1)::/126.
Its MACs are 02:00:00:(n):01 and :02. Cables that switches or bonds join are one network: it has the subnet
of its first cable with an interface, and where it has more than two interfaces, /24 (/64) and the MACs
02:00:04:(n):00, :01, :03, :02 … A host with a single interface is known by its address there. Every other
node has an address of its own on its loopback: 10.255.x.y/32, fd00:ffff::x/128. A switch has none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from rushhour.errors import PlanError
from rushhour.plan.networks import networks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rushhour.plan.graph import Bond, Graph
    from rushhour.plan.networks import Socket
    from rushhour.plan.stages import Cable

MAX_CABLES = 255 * 256  # 10.255.0.0/16 is left to loopbacks
MAX_LOOPBACKS = 2**16 - 1
MAX_INTERFACES = 254  # of one network
IFNAMSIZ = 15  # characters of a device name, without the final 0
RESERVED = frozenset({"lo", "all", "default", ".", ".."})  # a device, two words of sysctl, two of a path
BRIDGE = "bridge"  # name of a switch's own device


@dataclass(frozen=True, slots=True)
class End:
    """One end of a cable: its node, its device there, the bond or bridge of the node that it belongs to."""

    node: str
    dev: str
    mac: str
    master: str | None = None


@dataclass(frozen=True, slots=True)
class Device:
    """A bond, or without one a bridge; `wire` marks a bridge that stands for a cable and lets LACP pass."""

    node: str
    dev: str
    mac: str
    mtu: int
    bond: Bond | None = None
    master: str | None = None
    wire: bool = False


Joint = TypeVar("Joint", End, Device)


@dataclass(frozen=True, slots=True)
class Interface:
    """Where a node has an address: the end of a cable, or a bond. `prefix` is the length of its subnet's."""

    node: str
    dev: str
    mac: str
    address: str
    prefix: int


@dataclass(frozen=True, slots=True)
class Addressing:
    """All names and addresses of a plan.

    Two ends a cable, the devices that join them, the interface at (cable, side) where there is one, the
    interfaces of each network, loopback addresses by node, identities by node.
    """

    ends: tuple[tuple[End, End], ...]
    devices: tuple[Device, ...]
    at: dict[Socket, Interface]
    networks: tuple[tuple[Interface, ...], ...]
    loopback: dict[str, str]
    identity: dict[str, str]
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
    switching = {node.name for node in graph.nodes if node.switch}
    switching |= {cable.nodes[1] for cable in flat if cable.layer2 and cable.nodes[1] not in graph.by_name}
    ends, devices = _named(graph, links, switching)
    at: dict[Socket, Interface] = {}
    found = tuple(
        _interfaces(joined, ends, devices, at, ipv6=ipv6) for joined in networks(flat, graph, switching)
    )
    macs = {(own.node, own.dev): own.mac for network in found for own in network}
    ends = tuple((_with_mac(one, macs), _with_mac(other, macs)) for one, other in ends)
    devices = tuple(_with_mac(device, macs) for device in devices)
    own: dict[str, list[str]] = {node.name: [] for node in graph.nodes if not node.switch}
    for interface in (interface for network in found for interface in network):
        if interface.node in own:
            own[interface.node].append(interface.address)
    several = [name for name, addresses in own.items() if len(addresses) != 1]
    loopback = {name: _loopback_address(k, ipv6=ipv6) for k, name in enumerate(several, start=1)}
    identity = {name: loopback.get(name) or addresses[0] for name, addresses in own.items()}
    return Addressing(ends, devices, at, found, loopback, identity, 128 if ipv6 else 32)


def _with_mac(joint: Joint, macs: dict[tuple[str, str], str]) -> Joint:
    return replace(joint, mac=macs.get((joint.node, joint.dev), joint.mac))


def _interfaces(
    joined: list[list[Socket]],
    ends: tuple[tuple[End, End], ...],
    devices: tuple[Device, ...],
    at: dict[Socket, Interface],
    *,
    ipv6: bool,
) -> tuple[Interface, ...]:
    """Number the interfaces of one network; each has one socket, or those of a bond."""
    if len(joined) > MAX_INTERFACES:
        raise PlanError(
            f"{len(joined)} interfaces on one switched network, there are addresses for {MAX_INTERFACES}",
            where="topology",
            hint="put a router between switches",
        )
    number = min(cable for sockets in joined for cable, _ in sockets)
    prefix = (126 if ipv6 else 30) if len(joined) <= 2 else (64 if ipv6 else 24)
    found = []
    for place, sockets in enumerate(joined):
        cable, side = sockets[0]
        end: End | Device = ends[cable][side]
        if isinstance(end, End) and end.master is not None:
            end = next(device for device in devices if (device.node, device.dev) == (end.node, end.master))
        # On a larger network MACs differ in their last byte, by which bonds hash, and not as addresses do: a
        # hash of both would cancel them out. So they count in Gray code.
        mac = end.mac if len(joined) <= 2 else _mac(number, (place ^ place >> 1) - 1, kind=4)
        interface = Interface(end.node, end.dev, mac, _link_address(number, place, ipv6=ipv6), prefix)
        at.update(dict.fromkeys(sockets, interface))
        found.append(interface)
    return tuple(found)


def _link_address(number: int, place: int, *, ipv6: bool) -> str:
    if ipv6:
        return f"fd00:{number + 1:x}::{place + 1:x}"
    return f"10.{number >> 8}.{number & 255}.{place + 1}"


def _loopback_address(number: int, *, ipv6: bool) -> str:
    if number > MAX_LOOPBACKS:
        raise PlanError(f"the plan has more than {MAX_LOOPBACKS} routers", where="topology")
    return f"fd00:ffff::{number:x}" if ipv6 else f"10.255.{number >> 8}.{number & 255}"


def _mac(number: int, side: int, kind: int = 0) -> str:
    return f"02:00:{kind:02x}:{number >> 8:02x}:{number & 255:02x}:{side + 1:02x}"


def ifb_mac(end: int) -> str:
    """MAC of the device that packets are redirected to on arrival: a fixed one, as the kernel's is random."""
    return f"02:00:01:{end >> 16 & 255:02x}:{end >> 8 & 255:02x}:{end & 255:02x}"


def _named(
    graph: Graph, links: list[list[Cable]], switching: set[str]
) -> tuple[tuple[tuple[End, End], ...], tuple[Device, ...]]:
    """Name each device after the peer that a person sees there: the node at the far side of the link."""
    taken: dict[str, set[str]] = {name: {BRIDGE} for name in switching}
    ends: list[tuple[End, End]] = []
    devices: list[Device] = []
    bridges: dict[str, Device] = {}

    def bridge(node: str, mtu: int) -> str | None:
        if node not in switching:
            return None
        known = bridges.get(node)
        mac = _mac(len(bridges), 0, kind=2) if known is None else known.mac
        bridges[node] = Device(
            node, BRIDGE, mac, min(mtu, known.mtu if known else mtu), wire=node not in graph.by_name
        )
        return BRIDGE

    for link, cables in zip(graph.links, links, strict=True):
        bonds: dict[str, str] = {}
        if link.bond is not None:
            for side, (node, peer) in enumerate(((link.a, link.b), (link.b, link.a))):
                bonds[node] = device_name(peer, taken.setdefault(node, set()))
                mac = _mac(len(ends), side, kind=3)
                devices.append(Device(node, bonds[node], mac, link.mtu, link.bond, bridge(node, link.mtu)))
        for cable in cables:
            pair = []
            for side, (node, peer) in enumerate(zip(cable.nodes, (link.b, link.a), strict=True)):
                name = f"{peer}-{cable.member + 1}" if node in bonds else peer
                dev = device_name(name, taken.setdefault(node, set()))
                pair.append(End(node, dev, _mac(len(ends), side), bonds.get(node) or bridge(node, link.mtu)))
            ends.append((pair[0], pair[1]))
    return tuple(ends), (*devices, *bridges.values())


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
