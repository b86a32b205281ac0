"""Checks of flows: keys of the right kind, times, ends, names, what two flows cannot both have."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

from rushhour.spec.check.arrivals import check_arrivals
from rushhour.spec.check.iperf3 import check_iperf3
from rushhour.spec.check.mptcp import check_hosts, check_mptcp
from rushhour.spec.check.problem import Path, Problem
from rushhour.spec.graph import conversations, hosts, nodes
from rushhour.spec.keys import nearest
from rushhour.spec.workload import MAX_FLOWS
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.spec.scenario import Scenario
    from rushhour.spec.workload import Flow

SMALLEST_DATAGRAM = 24  # holds the number and the stamp of each
LARGEST_ECHO = 65000  # of a ping: what the agent sends
_USUAL_DATAGRAM = 1472  # of an MTU of 1500
LARGEST_DATAGRAM = 65507  # 65535 less the headers of IPv4 and UDP
_SEGMENTS = range(2, 129)  # of one packet for the kernel to cut: the largest UDP_MAX_SEGMENTS
_SECOND_NS = 1_000_000_000
_KEEPALIVE_S = range(1, 32768)  # MAX_TCP_KEEPIDLE and MAX_TCP_KEEPINTVL, include/net/tcp.h
_MSS = range(88, 32768)  # TCP_MIN_MSS and MAX_TCP_WINDOW, net/ipv4/tcp.c do_tcp_setsockopt()
_LEAST_READ_NS = 1000
_LARGEST_COPY = 2**30  # of a write, a request, a socket buffer: all are int in the kernel


def check_flows(scenario: Scenario) -> Iterator[Problem]:
    """Check every flow, then what they have together."""
    if not scenario.flow:
        if not scenario.program:
            hint = "an empty [[flow]] is one TCP transfer"
            yield Problem((), "there is no [[flow]] and no [[program]]: nothing would happen", hint)
        return
    for index, flow in enumerate(scenario.flow):
        here = ("flow", index)
        yield from _check_kind(flow, here)
        yield from _check_values(flow, here)
        if flow.gso and flow.kind in kinds.UDP_STREAMS:
            yield from _check_gso(flow, here)
        if flow.last_packet is not None and flow.kind in kinds.UDP_STREAMS:
            yield from _check_last(flow, flow.last_packet.bytes, here)
        yield from _check_times(scenario, flow, here)
        yield from check_arrivals(scenario, flow, here, MAX_FLOWS)
        yield from check_mptcp(scenario, flow, here)
        if flow.generator == "iperf3" and flow.arrivals is None:
            yield from check_iperf3(scenario, flow, here)
    total = sum(flow.count for flow in scenario.flow)
    if total > MAX_FLOWS:
        yield Problem(("flow",), f"{total} flows are more than {MAX_FLOWS}")
        return
    yield from _check_names(scenario)
    if (scenario.topology is None) != (not scenario.link):
        yield from _check_ends(scenario)
        yield from _check_ecn(scenario)
        yield from check_hosts(scenario)


def _check_kind(flow: Flow, here: Path) -> Iterator[Problem]:
    for key, takes in kinds.KINDS_OF_KEY.items():
        if getattr(flow, key) is not None and flow.kind not in takes:
            names = ", ".join(f'"{kind}"' for kind in takes)
            yield Problem(
                (*here, key), f'a flow of kind "{flow.kind}" has no {key}', f"it belongs to {names}"
            )
    if flow.fastopen and flow.open == "both":
        message = 'without a listener there is no Fast Open: both ends connect (open = "both")'
        yield Problem((*here, "fastopen"), message, "leave out one of them")
    if flow.kind in kinds.UDP_STREAMS and flow.rate is None:
        yield Problem((*here, "rate"), "a UDP flow needs a rate", 'write for example rate = "10mbit"')


def _check_user_timeout(flow: Flow, here: Path) -> Iterator[Problem]:
    timeout = flow.user_timeout
    if timeout is not None and (timeout.ns <= 0 or timeout.ns % 1_000_000):
        yield Problem((*here, "user_timeout"), f'"{timeout}" is not whole milliseconds, 1 or more')


def _check_keepalive(flow: Flow, here: Path) -> Iterator[Problem]:
    for key in ("keepalive_time", "keepalive_interval"):
        value = getattr(flow, key)
        if value is not None and (value.ns % _SECOND_NS or value.ns // _SECOND_NS not in _KEEPALIVE_S):
            yield Problem((*here, key), f'"{value}" is not whole seconds, 1 to {_KEEPALIVE_S[-1]}')
    for key in ("keepalive_time", "keepalive_interval", "keepalive_probes"):
        if getattr(flow, key) is not None and not flow.keepalive:
            yield Problem((*here, key), "nobody asks: keepalive is off", "write keepalive = true")


def _check_values(flow: Flow, here: Path) -> Iterator[Problem]:
    for key in ("rate", "pacing", "read_rate"):
        rate = getattr(flow, key)
        if rate is not None and rate.bps < 8:
            yield Problem((*here, key), f'"{rate}" carries nothing', 'at least "8bit"')
    for key in ("bytes", "message", "request", "response", "sndbuf", "rcvbuf"):
        size = getattr(flow, key)
        if size is not None and size.bytes == 0:
            yield Problem((*here, key), "is zero", 'at least "1B"')
        if size is not None and key != "bytes" and size.bytes > _LARGEST_COPY:
            yield Problem((*here, key), f'"{size}" is too large', 'at most "1GiB"')
    if flow.read_interval is not None and flow.read_interval.ns < _LEAST_READ_NS:
        yield Problem((*here, "read_interval"), f'"{flow.read_interval}" is too often', 'at least "1us"')
    least, most = (1, LARGEST_ECHO) if flow.kind in kinds.ECHOES else (SMALLEST_DATAGRAM, LARGEST_DATAGRAM)
    if flow.packet is not None and not least <= flow.packet.bytes <= most:
        yield Problem((*here, "packet"), f'"{flow.packet}" is not between "{least}B" and "{most}B"')
    yield from _check_user_timeout(flow, here)
    yield from _check_keepalive(flow, here)
    if flow.mss is not None and flow.mss.bytes not in _MSS:
        yield Problem((*here, "mss"), f'"{flow.mss}" is not between "{_MSS[0]}B" and "{_MSS[-1]}B"')
    if flow.kind in kinds.ECHOES and flow.interval is not None and flow.interval.ns == 0:
        yield Problem((*here, "interval"), "is zero: all echo requests at once", 'for example "10ms"')


def _check_gso(flow: Flow, here: Path) -> Iterator[Problem]:
    """What the kernel is to cut is one packet: as long as one may be, of whole datagrams."""
    packet = flow.packet.bytes if flow.packet is not None else _USUAL_DATAGRAM
    if flow.burst is None or flow.burst not in _SEGMENTS:
        message = (
            "there is no burst to cut" if flow.burst is None else f"a burst of {flow.burst} cannot be cut"
        )
        hint = f"write for example burst = 16: {_SEGMENTS[0]} to {_SEGMENTS[-1]} datagrams"
        yield Problem((*here, "gso"), message, hint)
    elif flow.burst * packet > LARGEST_DATAGRAM:
        message = f"{flow.burst} datagrams of {packet} bytes are more than {LARGEST_DATAGRAM}"
        yield Problem((*here, "gso"), message, f"at most burst = {LARGEST_DATAGRAM // packet}")


def _check_last(flow: Flow, last: int, here: Path) -> Iterator[Problem]:
    """The last datagram of a burst ends what is put together: it is no longer than the others."""
    if flow.burst is None or flow.burst == 1:
        yield Problem((*here, "last_packet"), "there is no burst to end", "write for example burst = 16")
    if flow.packet is None:
        message = "the others have no size that is known here"
        yield Problem((*here, "last_packet"), message, 'write for example packet = "1000B"')
    elif not SMALLEST_DATAGRAM <= last <= flow.packet.bytes:
        message = f'"{flow.last_packet}" is not between "{SMALLEST_DATAGRAM}B" and "{flow.packet}"'
        yield Problem((*here, "last_packet"), message, "it is as long as the others at most")


def _check_times(scenario: Scenario, flow: Flow, here: Path) -> Iterator[Problem]:
    if flow.duration is not None and flow.duration.ns == 0:
        yield Problem(
            (*here, "duration"), "is zero: the flow ends as it starts", "leave it out, or give a time"
        )
    if scenario.duration is None or scenario.duration.ns == 0:
        return
    if flow.start.ns >= scenario.duration.ns:
        message = f'"{flow.start}" is not before the end of the experiment, "{scenario.duration}"'
        yield Problem((*here, "start"), message, "start it earlier, or lengthen the duration at the top")
    elif flow.duration is not None and flow.start.ns + flow.duration.ns > scenario.duration.ns:
        message = f'start "{flow.start}" plus "{flow.duration}" is after the end, "{scenario.duration}"'
        yield Problem(
            (*here, "duration"), message, "shorten it, leave it out, or lengthen the duration at the top"
        )
    leaves = flow.receiver_leaves
    if leaves is not None and not 0 < leaves.ns < scenario.duration.ns:
        message = f'"{leaves}" is not within the experiment, which ends at "{scenario.duration}"'
        yield Problem((*here, "receiver_leaves"), message, "without it the receiver reads to the end")


def _check_names(scenario: Scenario) -> Iterator[Problem]:
    taken: set[str] = set()
    for index, flow in enumerate(scenario.flow):
        names = {flow.label} | {f"{flow.label}.{copy}" for copy in range(1, flow.count + 1) if flow.count > 1}
        clash = sorted(names & taken)
        if clash:
            yield Problem(
                ("flow", index, "name"), f'"{clash[0]}" is already the name of a flow', "flows differ"
            )
        numbered = re.compile(rf"{re.escape(flow.label)}\.\d+(\.\d+)?")
        if flow.arrivals is not None and (other := next(filter(numbered.fullmatch, sorted(taken)), None)):
            hint = f"arriving flows are called {flow.label}.1, {flow.label}.2, …: flows differ"
            yield Problem(("flow", index, "name"), f'"{other}" is already the name of a flow', hint)
        taken |= names


def _check_ends(scenario: Scenario) -> Iterator[Problem]:
    names, ends = nodes(scenario), hosts(scenario)
    known = set(names)
    for index, flow in enumerate(scenario.flow):
        for key, name in (("from", flow.from_), ("to", flow.to)):
            if name is not None and name not in known:
                yield Problem(("flow", index, key), f'no node is named "{name}"', nearest(name, names))
    judged: set[int] = set()
    for talk in conversations(scenario):
        if talk.position in judged:
            continue
        judged.add(talk.position)
        for key, name in (("from", talk.sender), ("to", talk.receiver)):
            if name is None:
                shown = ", ".join(islice(ends, 20))
                yield Problem(
                    ("flow", talk.position, key), f'flow "{talk.flow.label}" needs it here', f"hosts: {shown}"
                )
        if talk.sender is not None and talk.sender == talk.receiver:
            yield Problem(
                ("flow", talk.position, "to"), f'from and to are both "{talk.sender}"', "name two nodes"
            )


def _check_ecn(scenario: Scenario) -> Iterator[Problem]:
    """ECN is a setting of the host (net.ipv4.tcp_ecn): its TCP flows have it or have it not."""
    if scenario.ecn is None and all(flow.ecn is None for flow in scenario.flow):
        return
    said: dict[str, tuple[bool, str]] = {}
    blamed: Counter[int] = Counter()
    for talk in conversations(scenario):
        ecn = scenario.ecn if talk.flow.ecn is None else talk.flow.ecn
        if ecn is None or talk.flow.kind in kinds.DATAGRAMS:
            continue
        for host in (talk.sender, talk.receiver):
            if host is None:
                continue
            first, name = said.setdefault(host, (ecn, talk.name))
            if first != ecn and not blamed[talk.position]:
                blamed[talk.position] += 1
                words = {True: "true", False: "false"}
                message = f'{words[ecn]} here, {words[first]} for flow "{name}" on the same host "{host}"'
                hint = "ECN is a setting of a host: put the flows on different hosts"
                yield Problem(("flow", talk.position, "ecn"), message, hint)
