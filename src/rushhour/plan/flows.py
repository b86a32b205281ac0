"""Flows resolved: copies counted out, defaults filled in, ids and ports given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rushhour.errors import PlanError
from rushhour.spec import conversations, workload
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from rushhour.plan.graph import Graph
    from rushhour.plan.schedule import Scheduled
    from rushhour.spec import Conversation
    from rushhour.spec.scenario import Scenario
    from rushhour.spec.workload import Flow

FIRST_DPORT = 5001
FIRST_SPORT = 33000
IP_HEADER = {"ipv4": 20, "ipv6": 40}
TCP_HEADER = 20
TIMESTAMPS = 12  # TCP option, padded (RFC 7323); on by default
# MPTCP's option of a segment with data: a mapping and an acknowledgement, padded (RFC 8684, section 3.3).
DSS = 24
UDP_HEADER = 8  # ICMP echo's is as long
ECT0 = 2  # the codepoint of RFC 3168 in the two low bits of TOS


@dataclass(frozen=True, slots=True)
class PlannedFlow:
    """One flow of the plan: its keys in the scenario, its number, its name and its ends.

    `path` is the link of the sender by which a subflow goes, or by which it reaches the receiver where that
    `announced` its address there; `of` is the name of the flow that it is a part of.
    """

    id: int
    name: str
    group: str
    keys: Flow
    sender: str
    receiver: str
    path: str | None = None
    of: str | None = None
    announced: bool = False


def planned_flows(scenario: Scenario, graph: Graph) -> list[PlannedFlow]:
    """Count out all flows, each with its number and its ends (`spec.conversations` fills open ones)."""
    flows = [
        PlannedFlow(number, talk.name, talk.flow.label, talk.flow, *_ends(graph, talk))
        for number, talk in enumerate(conversations(scenario))
    ]
    if len(flows) > workload.MAX_FLOWS:
        raise PlanError(
            f"{len(flows)} flows; there are ports for {workload.MAX_FLOWS}",
            where="flow",
            hint="lower a `count`",
        )
    return flows


def _ends(graph: Graph, talk: Conversation) -> tuple[str, str]:
    """Check the ends: a scenario made by hand has not been through the loader."""
    sender, receiver = talk.sender, talk.receiver
    if sender is None or receiver is None:
        raise PlanError(
            "it needs `from` and `to`: the graph does not have exactly two hosts",
            where=f"flow {talk.name}",
            hint=f"from and to are among {', '.join(graph.by_name)}",
        )
    for node in (sender, receiver):
        if node not in graph.by_name:
            raise PlanError(
                f"there is no node {node}",
                where=f"flow {talk.name}",
                hint=f"nodes: {', '.join(graph.by_name)}",
            )
    if sender == receiver:
        raise PlanError(
            f"it goes from {sender} to {sender}", where=f"flow {talk.name}", hint="name two nodes"
        )
    return sender, receiver


def stop_ns(keys: Flow, span_ns: int) -> int | None:
    """When the sender stops: by its duration, by itself (None: bytes or a count), or with the experiment.

    The duration of arrivals says how long flows arrive, not how long each lives.
    """
    if keys.arrivals is not None:
        return None
    if keys.duration is not None:
        return min(span_ns, keys.start.ns + keys.duration.ns)
    by_itself = keys.bytes is not None or keys.datagrams is not None or keys.transactions is not None
    return None if by_itself else span_ns


def payload_and_frame(keys: Flow, family: str, mtu: int, *, timestamps: bool) -> tuple[int, int]:
    """Give the payload of a full packet and its frame as a qdisc counts it (with 14 bytes of Ethernet).

    TCP: MSS less options, 1448 of 1514 at MTU 1500 with IPv4 and timestamps (1428 with IPv6).
    """
    ip = IP_HEADER[family]
    if keys.kind in (*kinds.OVER_TCP, *kinds.SUBFLOWS):
        mss = mtu - ip - TCP_HEADER
        if keys.mss is not None:
            mss = min(mss, keys.mss.bytes)
        options = DSS if keys.kind in (*kinds.MPTCP_STREAMS, *kinds.SUBFLOWS) else 0
        payload = max(1, mss - (TIMESTAMPS if timestamps else 0) - options)
        return payload, mss + ip + TCP_HEADER + 14
    payload = packet_bytes(keys, family, mtu)
    return payload, min(mtu, payload + ip + UDP_HEADER) + 14


def header_bytes(keys: Flow, family: str, payload: int, frame: int) -> int:
    """Bytes of a frame that are no payload; where fragments make up a datagram, of the first of them."""
    if keys.kind in kinds.UDP_STREAMS:
        return 14 + IP_HEADER[family] + UDP_HEADER
    return frame - payload


def packet_bytes(keys: Flow, family: str, mtu: int) -> int:
    """Payload of one datagram: as given; echo: 56 as ping does; UDP: the most that fits the path's MTU."""
    if keys.packet is not None:
        return keys.packet.bytes
    if keys.kind in kinds.ECHOES:
        return workload.DEFAULT_PING_PACKET.bytes
    return mtu - IP_HEADER[family] - UDP_HEADER


def plan_entry(one: Scheduled, addresses: dict[str, str], scenario: Scenario, mtu: int) -> dict[str, Any]:
    """Give the flow as the plan's JSON has it; keys that its kind does not use are absent."""
    flow, keys = one.flow, one.flow.keys
    entry: dict[str, Any] = {
        "id": flow.id,
        "name": flow.name,
        "kind": keys.kind,
        "from": flow.sender,
        "to": flow.receiver,
        "src": addresses[flow.sender],
        "dst": addresses[flow.receiver],
        "sport": FIRST_SPORT + flow.id,
        "dport": FIRST_DPORT + flow.id,
        "start_ns": one.start_ns,
        "stop_ns": stop_ns(keys, scenario.span.ns),
    }
    ecn = keys.ecn if keys.ecn is not None else scenario.ecn
    tos = (keys.dscp or 0) << 2 | (ECT0 if keys.kind in kinds.UDP_STREAMS and ecn else 0)
    optional = {
        "generator": "iperf3" if keys.generator == "iperf3" else None,
        "bytes": one.bytes,
        "cc": keys.cc,
        "receiver_cc": keys.receiver_cc,
        "rate_bps": keys.rate and keys.rate.bps,
        "pacing_bps": keys.pacing and keys.pacing.bps,
        "message_bytes": keys.message and keys.message.bytes,
        "count": keys.datagrams or keys.transactions,
        "sndbuf": keys.sndbuf and keys.sndbuf.bytes,
        "rcvbuf": keys.rcvbuf and keys.rcvbuf.bytes,
        "patience_ns": keys.patience and keys.patience.ns,
        "in_flight": keys.in_flight,
        "read_bps": keys.read_rate and keys.read_rate.bps,
        "read_interval_ns": keys.read_interval and keys.read_interval.ns,
        "read_class": keys.read_class or None,
        "tos": tos or None,
        "mss": keys.mss and keys.mss.bytes,
        "nodelay": keys.nodelay,
        "on": [list(period) for period in one.periods] or None,
    }
    optional |= _of_connection(keys) | _of_bursts(keys) | _of_kind(keys, scenario.family, mtu)
    return entry | {key: value for key, value in optional.items() if value is not None}


def _of_connection(keys: Flow) -> dict[str, Any]:
    """How a connection begins, how it is watched and how it ends."""
    return {
        "keepalive": keys.keepalive or None,
        "keepalive_time_ns": keys.keepalive_time and keys.keepalive_time.ns,
        "keepalive_interval_ns": keys.keepalive_interval and keys.keepalive_interval.ns,
        "keepalive_probes": keys.keepalive_probes,
        "user_timeout_ns": keys.user_timeout and keys.user_timeout.ns,
        "fastopen": keys.fastopen or None,
        "zerocopy": keys.zerocopy or None,
        "verify": keys.verify or None,
        "open": keys.open,
        "close": keys.close,
        "leave_ns": keys.receiver_leaves and keys.receiver_leaves.ns,
    }


def _of_bursts(keys: Flow) -> dict[str, Any]:
    """How many datagrams leave at once, of which size the last is, and who cuts and joins them."""
    return {
        "burst": keys.burst,
        "gso": keys.gso or None,
        "last_bytes": keys.last_packet and keys.last_packet.bytes,
        "gro": keys.gro or None,
    }


def _of_kind(keys: Flow, family: str, mtu: int) -> dict[str, Any]:
    """Keys with defaults of the flow's kind."""
    if keys.kind in kinds.DATAGRAMS:
        interval = keys.interval or (workload.DEFAULT_PING_INTERVAL if keys.kind in kinds.ECHOES else None)
        return {"packet_bytes": packet_bytes(keys, family, mtu), "interval_ns": interval and interval.ns}
    if keys.kind in kinds.CALLS:
        return {
            "interval_ns": keys.interval and keys.interval.ns,
            "request_bytes": (keys.request or workload.DEFAULT_REQUEST).bytes,
            "response_bytes": (keys.response or workload.DEFAULT_RESPONSE).bytes,
        }
    return {}
