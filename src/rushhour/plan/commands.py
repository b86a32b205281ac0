"""A plan as the commands a person could type: ip, tc, sysctl and ethtool, in the agent's order.

Takes a plan, gives lines for a root shell with iproute2. What they build is the plan's network in
namespaces of the running kernel; its flows are the agent's. The wire has no tc words of its own, so its
line calls the agent, and a comment names the netem line that comes nearest (other packets are lost, and
they may overtake).
"""

from __future__ import annotations

import shlex
from ipaddress import IPv6Address
from typing import TYPE_CHECKING

from rushhour.plan.loads import load_command
from rushhour.plan.queues import CHANGE
from rushhour.quantities.units import Duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rushhour.record.plan_file import (
        PlanBond,
        PlanChange,
        PlanDevice,
        PlanEgress,
        PlanEnd,
        PlanFile,
        PlanLink,
        PlanNode,
        PlanRoute,
        PlanRule,
        PlanWire,
    )

AGEING_TIME = 100_000_000  # of a switch, in hundredths of a second: no ARP keeps its table fresh
PASS_LACP = 4  # bit 2: 01:80:c2:00:00:02


def commands(plan: PlanFile) -> list[str]:
    """Give the commands that build the plan's network."""
    ends = plan.link_ends
    addressed: list[PlanEnd | PlanDevice] = [*ends, *plan.devices]
    with_ipv6 = {end.node for end in addressed if any(":" in address for address in end.addresses)}
    with_ipv6 |= {node.name for node in plan.nodes if any(":" in a for a in node.addresses)}
    lines: list[str] = []
    for node in plan.nodes:
        lines += _node(node, ipv6=node.name in with_ipv6)
    for link in plan.links:
        lines += _link(link)
    lines += _joints(plan)
    for end in ends:
        lines += _up(end, ipv6=end.node in with_ipv6, bridge=False)
    for device in plan.devices:
        lines += _up(device, ipv6=device.node in with_ipv6, bridge=device.bond is None)
    for item in plan.neighbours:
        lines.append(
            f"ip -n {_q(item.node)} neigh add {item.address} "
            f"lladdr {item.mac} dev {_q(item.dev)} nud permanent"
        )
    lines += [_rule(rule) for rule in plan.rules]
    lines += [_route(route) for route in plan.routes]
    for node in plan.nodes:
        lines += _path_manager(node)
        lines += [_sysctl(node.name, key, value) for key, value in node.sysctl]
    lines += [_drop_input(node, with_ipv6) for node in plan.nodes if node.drop_input]
    for end in ends:
        lines += egress(end)
    wired = {(end.node, end.dev) for end in ends if end.wire is not None}
    for arrival in plan.ingress:
        # The wire has made the clsact already, and one device may have two arrivals.
        lines += _ingress(arrival, with_ipv6, clsact=(arrival.node, arrival.dev) not in wired)
        wired.add((arrival.node, arrival.dev))
    loads = [load_command(load) for load in plan.loads]
    return [*lines, *loads, *_changes(plan.changes, ends)]


def _q(word: str) -> str:
    return shlex.quote(word)


def _sysctl(node: str, key: str, value: str) -> str:
    return f"ip netns exec {_q(node)} sysctl -qw {_q(f'{key}={value}')}"


def _drop_input(node: PlanNode, with_ipv6: set[str]) -> str:
    program = "ip6tables" if node.name in with_ipv6 else "iptables"
    share = f"{node.drop_input:.10g}"
    match = f"-m statistic --mode random --probability {share}"
    return f"ip netns exec {_q(node.name)} {program} -A INPUT {match} -j DROP"


def _node(node: PlanNode, *, ipv6: bool) -> Iterator[str]:
    name = node.name
    yield f"ip netns add {_q(name)}"
    if node.forward:
        yield _sysctl(name, "net.ipv4.ip_forward", "1")
    if not ipv6:
        yield _sysctl(name, "net.ipv6.conf.all.disable_ipv6", "1")
    else:
        yield _sysctl(name, "net.ipv6.conf.default.accept_ra", "0")
        if node.forward:
            yield _sysctl(name, "net.ipv6.conf.all.forwarding", "1")
    for scope in ("all", "default"):
        yield _sysctl(name, f"net.ipv4.conf.{scope}.rp_filter", "0")
    yield f"ip -n {_q(name)} link set dev lo up"
    for address in node.addresses:
        yield f"ip -n {_q(name)} addr add {address} dev lo" + (" nodad" if ":" in address else "")


def _link(link: PlanLink) -> Iterator[str]:
    one, other = link.ends
    queues = "numtxqueues 1 numrxqueues 1"
    # The word `name` keeps ip from taking a device called "m" for the beginning of "mtu".
    yield (
        f"ip link add name {_q(one.dev)} netns {_q(one.node)} address {one.mac} {queues} "
        f"type veth peer name {_q(other.dev)} netns {_q(other.node)} address {other.mac} {queues}"
    )
    for end in link.ends:
        node, dev = _q(end.node), _q(end.dev)
        segments = "" if end.offload else " gso_max_segs 1"
        if not end.offload:
            receiving = "on" if end.receive_offload else "off"
            yield f"ip netns exec {node} ethtool -K {dev} tso off gso off gro {receiving}"
        yield f"ip -n {node} link set dev {dev} mtu {end.mtu}{segments}"


def _joints(plan: PlanFile) -> Iterator[str]:
    """Bonds and bridges with their members, which join them before they are up."""
    ends, devices = plan.link_ends, plan.devices
    for device in devices:
        members = [end for end in ends if _belongs(end, device)]
        kind = _bond(device.bond, members) if device.bond is not None else f"bridge ageing_time {AGEING_TIME}"
        yield (
            f"ip -n {_q(device.node)} link add name {_q(device.dev)} "
            f"address {device.mac} mtu {device.mtu} type {kind}"
        )
    masters = {(device.node, device.dev): device for device in devices}
    possible: list[PlanEnd | PlanDevice] = [*ends, *devices]
    for member in possible:
        if member.master is not None:
            node, dev = _q(member.node), _q(member.dev)
            yield f"ip -n {node} link set dev {dev} master {_q(member.master)}"
            if masters[member.node, member.master].passes_lacp:
                yield f"ip -n {node} link set dev {dev} type bridge_slave group_fwd_mask {PASS_LACP}"


def _belongs(end: PlanEnd, device: PlanDevice) -> bool:
    return (end.node, end.master) == (device.node, device.dev)


def _bond(bond: PlanBond, members: list[PlanEnd]) -> str:
    words = f"bond mode {bond.mode} miimon 100"
    words += f" xmit_hash_policy {bond.hash}" if bond.hash else ""
    words += " lacp_rate fast" if bond.mode == "802.3ad" else ""
    # Both sides must use the same cable.
    return words + (f" primary {_q(members[0].dev)}" if bond.mode == "active-backup" else "")


def _up(device: PlanEnd | PlanDevice, *, ipv6: bool, bridge: bool) -> Iterator[str]:
    """Bring an end, a bond or a bridge up, and give it its addresses."""
    node, dev = _q(device.node), _q(device.dev)
    if ipv6:
        yield f"ip -n {node} link set dev {dev} addrgenmode none"
    # A bridge that looks at every frame forwards copies, which are on no sender's account any more.
    promiscuous = " promisc on" if bridge else ""
    yield f"ip -n {node} link set dev {dev} up{promiscuous}"
    # What belongs to another device is no interface of its own.
    if ipv6 and device.master is None:
        yield f"ip -n {node} addr add {link_local(device.mac)}/64 dev {dev} nodad"
    for address in device.addresses:
        yield f"ip -n {node} addr add {address} dev {dev}" + (" nodad" if ":" in address else "")


def link_local(mac: str) -> str:
    """The link-local address of a hardware address (RFC 4291, appendix A)."""
    first, *rest = bytes.fromhex(mac.replace(":", ""))
    octets = bytes([0xFE, 0x80, *[0] * 6, first ^ 2, *rest[:2], 0xFF, 0xFE, *rest[2:]])
    return str(IPv6Address(octets))


def _rule(rule: PlanRule) -> str:
    family = " -6" if rule.ipv6 else ""
    table = rule.table
    which = f"fwmark {rule.mark}" if rule.mark is not None else f"from {rule.from_}"
    return f"ip{family} -n {_q(rule.node)} rule add pref {table} {which} table {table}"


def _path_manager(node: PlanNode) -> list[str]:
    if node.mptcp is None:
        return []
    to = f"ip -n {_q(node.name)} mptcp"
    told = node.mptcp
    lines = [f"{to} limits set subflows {told.subflows} add_addr_accepted {told.accepted}"]
    for endpoint in told.endpoints:
        flags = ("signal" if endpoint.signal else "subflow") + (" backup" if endpoint.backup else "")
        lines += [f"{to} endpoint add {endpoint.address} {flags}"]
    return lines


def _route(route: PlanRoute) -> str:
    to = f"ip -n {_q(route.node)} route add {route.to}"
    to += f" table {route.table}" if route.table is not None else ""
    windows = {"initcwnd": route.initcwnd, "initrwnd": route.initrwnd}
    asked = "".join(f" {name} {segments}" for name, segments in windows.items() if segments is not None)
    asked += " features tcp_usec_ts" if route.microseconds else ""
    if route.dev is not None:
        return f"{to} via {route.hops[0]} dev {_q(route.dev)}{asked}"
    return to + asked + "".join(f" nexthop via {address}" for address in route.hops)


def egress(end: PlanEgress) -> Iterator[str]:
    """The commands of one egress: qdiscs, each with its classes after it, then filters, then the wire."""
    for line in in_order(end):
        what, _, words = line.partition(" ")
        verb = CHANGE if words.startswith(f"{CHANGE} ") else "add"
        words = words.removeprefix(CHANGE).strip()
        yield f"tc -n {_q(end.node)} {what} {verb} dev {_q(end.dev)} {words}"
    if end.wire is not None:
        yield _wire(end, end.wire)


def in_order(end: PlanEgress) -> list[str]:
    """The lines of an egress, each with what it makes in front, so that all find what they refer to."""
    classes = [line for line in end.filters if line.startswith("class")]
    lines: list[str] = []
    for qdisc in end.qdiscs:
        words = qdisc.split()
        handle = words[words.index("handle") + 1].split(":")[0] if "handle" in words else None
        lines.append(f"qdisc {qdisc}")
        lines += [line for line in classes if line.split()[2].split(":")[0] == handle]
    return [*lines, *(line for line in end.filters if line not in lines)]


def _ingress(arrival: PlanEgress, with_ipv6: set[str], *, clsact: bool) -> Iterator[str]:
    """The device that packets are redirected to and its queue, then the filters that they meet."""
    node, dev, ifb = _q(arrival.node), _q(arrival.dev), arrival.ifb
    if ifb is not None:
        address = f"address {arrival.mac} numtxqueues 1 numrxqueues 1"
        yield f"ip -n {node} link add name {ifb} {address} type ifb"
        if arrival.node in with_ipv6:
            yield f"ip -n {node} link set dev {ifb} addrgenmode none"
        yield f"ip -n {node} link set dev {ifb} mtu {arrival.mtu} up"
    for line in arrival.qdiscs:
        yield f"tc -n {node} qdisc add dev {ifb} {line}"
    if clsact:
        yield f"tc -n {node} qdisc add dev {dev} clsact"
    for line in arrival.filters:
        yield f"tc -n {node} filter add dev {dev} {line.removeprefix('filter').strip()}"


def _changes(changes: Sequence[PlanChange], ends: Sequence[PlanEnd]) -> Iterator[str]:
    """What patterns change, each at its time: a sleep until then, and the command."""
    now_ns = 0
    wires = {
        number: {
            "delay": float(end.wire.delay_ns),
            "jitter": float(end.wire.jitter_ns),
            "loss": end.wire.loss,
        }
        for number, end in enumerate(ends)
        if end.wire is not None
    }
    if changes:
        yield "# the flows start here; from now on the links change"
    for change in changes:
        if change.t_ns > now_ns:
            yield f"sleep {(change.t_ns - now_ns) / 1e9:.12g}  # until {change.t_ns / 1e9:.12g} s"
            now_ns = change.t_ns
        end = ends[change.end]
        for line in change.lines:
            verb = "delete" if line.startswith("delete ") else "change"
            what, _, words = line.removeprefix("delete ").partition(" ")
            yield f"tc -n {_q(end.node)} {what} {verb} dev {_q(end.dev)} {words}"
        if change.key in ("serial", "hold"):
            continue  # of a wire that is there to send at the shaper's rate: what changes that is said above
        if change.end in wires and not change.lines:
            wire = wires[change.end]
            wire[change.key] = change.value
            yield _nearly(end, wire)


def _nearly(end: PlanEnd, wire: Mapping[str, float]) -> str:
    """Netem in the place of a changed wire: the wire made by hand cannot be changed while packets pass."""
    half = int(wire["jitter"]) // 2
    words = f" delay {_tc_time(int(wire['delay']) + half)}" + (f" {_tc_time(half)}" if half else "")
    words += f" loss {wire['loss'] * 100:.10g}%" if wire["loss"] else ""
    node, dev = _q(end.node), _q(end.dev)
    replaced = f"tc -n {node} qdisc replace dev {dev} root netem limit 1000000{words}"
    return f"# the wire {node} {dev} changes; nearly: {replaced}"


def _wire(end: PlanEgress, wire: PlanWire) -> str:
    words = f"delay {Duration(wire.delay_ns)}"
    near = ""
    if wire.jitter_ns:
        words += f" jitter {Duration(wire.jitter_ns)}"
        half = wire.jitter_ns // 2
        near = f" {_tc_time(wire.delay_ns + half)} {_tc_time(half)}"
    elif wire.delay_ns:
        near = f" {_tc_time(wire.delay_ns)}"
    near = f" delay{near}" if near else ""
    if wire.loss:
        words += f" loss {wire.loss * 100:.15g}%"
        near += f" loss {wire.loss * 100:.10g}%"
    if wire.drop:
        words += " drop " + ",".join(str(number) for number in wire.drop)
    if wire.reorder:
        words += " reorder"
    if serial := wire.serial:
        words += f" rate {serial.rate_bps}bit ahead {serial.ahead_bytes}b"
        near += f" rate {serial.rate_bps}bit"
    node, dev = _q(end.node), _q(end.dev)
    return (
        f"ip netns exec {node} rushhour-agent wire {dev} {words} seed {wire.seed}"
        f"  # nearly: tc -n {node} qdisc replace dev {dev} root netem limit 1000000{near}"
    )


def _tc_time(ns: int) -> str:
    """A time in microseconds, the finest unit of tc before 6.0."""
    return f"{ns / 1000:.10g}us"
