"""Flows: who talks to whom, how, from when to when."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rushhour.quantities.units import Duration, Rate, Size
from rushhour.spec.arrivals import Arrivals, SizeWord, TimeWord
from rushhour.spec.model import Count, Model, Name
from rushhour.traffic import kinds

MAX_FLOWS = 20_000
Generator = Literal["agent", "iperf3"]
Algorithm = Annotated[
    str, Field(pattern=r"^[a-z][a-z0-9_-]{0,14}$")
]  # TCP_CA_NAME_MAX is 16 with the final 0

DEFAULT_PING_INTERVAL = Duration(100_000_000)
DEFAULT_PING_PACKET = Size(56)
DEFAULT_REQUEST = Size(1)
DEFAULT_RESPONSE = Size(1)


class Flow(Model):
    """One conversation with one payload direction, from a sender to a receiver."""

    name: Name | None = Field(None, description="name of the flow; default its kind and number: tcp1, ping1")
    kind: kinds.Kind = Field(
        "tcp",
        description='"tcp" and "udp": a stream; "ping": ICMP echo; "rr": request and response over one '
        'connection; "crr": connection, request, response, close; "mptcp": a stream over several paths',
    )
    generator: Generator | None = Field(
        None, description='program that drives it: "agent" (default) or "iperf3", from this machine'
    )
    from_: Name | None = Field(
        None, alias="from", description="sending host; presets give their pairs in turn"
    )
    to: Name | None = Field(None, description="receiving host")
    start: Duration = Field(Duration(0), description="when it begins, from the start of the experiment")
    duration: Duration | None = Field(
        None, description="how long it sends; default to the end of the experiment"
    )
    count: Count = Field(1, le=MAX_FLOWS, description="parallel copies, named NAME.1, NAME.2, …")
    cc: Algorithm | None = Field(None, description="congestion control of the sender; default the kernel's")
    receiver_cc: Algorithm | None = Field(
        None, description="congestion control of the receiver (DCTCP needs both)"
    )
    ecn: bool | None = Field(
        None,
        description="explicit congestion notification on both hosts of this flow; default the scenario's",
    )
    bytes: Size | None = Field(None, description="payload to send; default: until the flow's time is over")
    rate: Rate | None = Field(
        None,
        description="payload rate: tcp: at which the application writes; udp: at which it sends (required)",
    )
    pacing: Rate | None = Field(None, description="SO_MAX_PACING_RATE")
    message: Size | None = Field(None, description="size of one write")
    packet: Size | None = Field(
        None, description="payload of a datagram; udp: default the largest that fits; ping: 56B"
    )
    interval: Duration | None = Field(
        None, description="time between two; ping: default 100ms; rr, crr: default as soon as answered"
    )
    patience: Duration | None = Field(
        None,
        description="ping: the next echo request waits for an answer, so long at most, as iputils' ping does "
        'with "10ms" where its interval is shorter; default: it never waits; crr: how long the client waits '
        "for its connection, and then for its response, before it closes and goes on; default: as long as "
        "the kernel",
    )
    datagrams: Count | None = Field(None, description="number of datagrams or echo requests")
    transactions: Count | None = Field(None, description="number of transactions")
    request: Size | None = Field(None, description='size of a request; default "1B"')
    response: Size | None = Field(None, description='size of a response; default "1B"')
    in_flight: Count | None = Field(
        None,
        le=1024,
        description="rr: requests that the client has under way at once over its connection, so that data "
        "goes both ways at once (pipelining; netperf's burst mode); default one",
    )
    read_rate: Rate | None = Field(
        None, description="rate at which the receiving application reads; default all"
    )
    read_interval: Duration | None = Field(
        None,
        description="how often the receiving application comes and takes what waits (with read_rate: at most "
        "so much of it); default: it is always there",
    )
    read_class: bool | None = Field(
        None,
        description="the receiving application reads the traffic class in which each datagram comes, DSCP "
        "and ECN (IP_RECVTOS, IPV6_RECVTCLASS); default false",
    )
    sndbuf: Size | None = Field(None, description="SO_SNDBUF (the kernel doubles it); default auto-tuned")
    rcvbuf: Size | None = Field(None, description="SO_RCVBUF (the kernel doubles it); default auto-tuned")
    dscp: Annotated[int, Field(strict=True, ge=0, le=63)] | None = Field(None, description="DSCP, 0 to 63")
    mss: Size | None = Field(None, description="TCP_MAXSEG")
    nodelay: bool | None = Field(None, description="TCP_NODELAY; default true for rr and crr")
    keepalive: bool | None = Field(
        None,
        description="SO_KEEPALIVE at both ends: a silent peer is asked whether it is there",
    )
    keepalive_time: Duration | None = Field(
        None,
        description="TCP_KEEPIDLE, whole seconds: after how long a silence it is asked first; the receiver "
        "sets it before it listens, the sender when it is connected; default net.ipv4.tcp_keepalive_time "
        "(2 h)",
    )
    keepalive_interval: Duration | None = Field(
        None,
        description="TCP_KEEPINTVL, whole seconds: how long after a question the next one follows; default "
        "net.ipv4.tcp_keepalive_intvl (75 s)",
    )
    keepalive_probes: Annotated[int, Field(strict=True, ge=1, le=127)] | None = Field(
        None,
        description="TCP_KEEPCNT: after how many questions without an answer the connection is given up; "
        "default net.ipv4.tcp_keepalive_probes (9)",
    )
    user_timeout: Duration | None = Field(
        None,
        description="TCP_USER_TIMEOUT at the sender, whole milliseconds: how long data may go unacknowledged "
        "before the kernel gives the connection up (RFC 5482); default: as net.ipv4.tcp_retries2 says",
    )
    fastopen: bool | None = Field(
        None,
        description="TCP Fast Open: the first data go with the SYN where a cookie is known; hosts allow it "
        "by net.ipv4.tcp_fastopen = 3 (1: as clients, 2: as servers)",
    )
    zerocopy: bool | None = Field(
        None,
        description="MSG_ZEROCOPY: the kernel sends from the sender's own pages, and says when it is done "
        "with them; each write is one `message`, 1 MiB by default",
    )
    verify: bool | None = Field(
        None,
        description="the receiving application compares every byte with the one that was sent at its place; "
        "what differs is counted (corrupted_bytes)",
    )
    open: Literal["sender", "both"] | None = Field(
        None,
        description='which ends connect: "sender" (default; the receiver listens) or "both" at once, so that '
        "their SYNs cross (RFC 9293, section 3.5)",
    )
    close: Literal["wait", "leave", "reset"] | None = Field(
        None,
        description='what the sender does when it has handed everything over: "wait" (default) until the '
        'receiver has all, "leave" the rest to the kernel and close, or "reset" the connection; a client of '
        'crr with its response: "wait" (default) until the server has closed, "leave" (it closes first), '
        'or "reset"',
    )
    receiver_leaves: Duration | None = Field(
        None,
        description="when the receiving application ends, from the start of the experiment, whatever still "
        "comes: its kernel answers with a reset (tcp) or with ICMP's port unreachable (udp); default: it "
        "reads to the end",
    )
    arrivals: Arrivals | None = Field(
        None,
        description="many short flows instead of one: `start` and `duration` are when they arrive, each "
        "sends its own `size`; named NAME.1, NAME.2, … in the order of their arrival, `count` copies arrive "
        "independently",
    )
    size: SizeWord | None = Field(
        None, description="of each arriving flow, a size or the distribution it is drawn from"
    )
    on: TimeWord | None = Field(
        None, description="a source that is on and off in turn, on first: how long it writes at its `rate`"
    )
    off: TimeWord | None = Field(None, description="how long it pauses in between")
    paths: tuple[Name, ...] | None = Field(
        None,
        description="names of its sender's links, over which the connection goes: it begins on the first and "
        "opens a subflow on each of the others",
    )
    announced: tuple[Name, ...] | None = Field(
        None,
        description="names of its receiver's links: it tells the sender of its addresses there (ADD_ADDR), "
        "who opens a subflow to each",
    )
    backup: tuple[Name, ...] | None = Field(
        None, description="which of both carry data only where no other can (RFC 8684)"
    )
    burst: Count | None = Field(
        None, le=1024, description="datagrams that leave at once, at the same mean rate; default one"
    )
    gso: bool | None = Field(
        None,
        description="a burst is handed over as one packet, which the kernel cuts into datagrams "
        "(UDP_SEGMENT: at most 128, before Linux 6.9 in part 64); default false: as that many",
    )
    last_packet: Size | None = Field(
        None, description="payload of the last datagram of each burst; default that of the others"
    )
    gro: bool | None = Field(
        None,
        description="the receiving application takes all datagrams that the kernel has together in one "
        "read, with their size (UDP_GRO: those of a burst that was not cut, and those that "
        "`receive_offload` put together); default false: one by one",
    )

    @property
    def label(self) -> str:
        """The flow's name; a loaded scenario has named all its flows."""
        return self.name or self.kind

    def ends_by_itself(self) -> Duration | None:
        """When this flow is over if the experiment does not end it; None where that cannot be known."""
        if self.arrivals is not None:
            return None  # the last to arrive may take long
        if self.duration is not None:
            return Duration(self.start.ns + self.duration.ns)
        if self.datagrams is None:
            return None
        if self.kind in kinds.ECHOES:
            interval = (self.interval or DEFAULT_PING_INTERVAL).ns
            return Duration(self.start.ns + self.datagrams * interval)
        if self.rate is None or self.packet is None or self.rate.bps == 0:
            return None
        return Duration(self.start.ns + self.datagrams * self.packet.bytes * 8 * 10**9 // self.rate.bps)
