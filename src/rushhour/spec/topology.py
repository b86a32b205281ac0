"""Topologies: the three presets and the free graph, with what a link can be.

A preset's link keys describe its *common* link (the bottleneck); the others are plain, or have `access_rate`.

    dumbbell   s1 ─┐                  ┌─ r1      pairs = 2; flow k goes sK → rK
               s2 ─┴─ left ══ right ──┴─ r2
    chain      s0 ── n1 ══ n2 ══ n3 ── r0        hops = 2; s0 → r0 crosses all hops (parking lot),
                  s1 ┘ └ r1┘└ r2                 pair k enters at n(k) and leaves at n(k+1)
                      s2 ┘
    star       s1 ─┐                             leaves = 2; everybody sends to r1 (incast);
               s2 ─┴─ hub ══ r1                  the common link is hub → r1
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rushhour.quantities.units import Buffer, Duration, Probability, Rate, Size
from rushhour.spec.control import Class, Police, Scheduler
from rushhour.spec.model import Count, Model, Name, Sysctls, Words

MAX_NODES = 2_000
MAX_SEGMENTS = 65_535
Preset = Literal["dumbbell", "chain", "star"]
Balance = Literal["flow", "addresses", "source", "packet"]
BondMode = Literal["802.3ad", "balance-rr", "balance-xor", "active-backup"]
BondHash = Literal["layer2", "layer2+3", "layer3+4", "vlan+srcmac"]
PacketNumbers = tuple[Annotated[int, Field(strict=True, ge=0)], ...]

# Which preset uses which of the keys that say how many.
PRESET_KEYS = {
    "pairs": ("dumbbell",),
    "rtts": ("dumbbell", "star"),
    "access_rates": ("dumbbell", "star"),
    "hops": ("chain",),
    "leaves": ("star",),
}


class Direction(Model):
    """One direction of a link: what its egress queue and its wire do. None: as the link, or no such stage."""

    rate: Rate | None = Field(None, description="rate of the shaper; without it the direction is not shaped")
    delay: Duration | None = Field(None, description="one-way delay of the wire")
    serialise: bool | None = Field(
        None,
        description="each packet takes its bytes / rate to be sent, alone or queued; default true. false: an "
        "idle link passes a packet in no time, and only packets behind it wait",
    )
    buffer: Buffer | None = Field(
        None, description='limit of the queue at the shaper; default "1bdp", at least 10 packets'
    )
    queue: Words | None = Field(
        None,
        description="queue discipline under the shaper, in tc's words: "
        '"fifo", "fq_codel limit 1000 target 5ms", "red", "cake"; default "fifo". Words after "then" '
        'change it before packets pass: "gred setup vqs 2 default 0 then gred vq 0 limit 60000 …"; after '
        '"then at 500ms" while they pass',
    )
    shaper: Literal["tbf", "htb"] | None = Field(None, description='qdisc that keeps the rate; default "tbf"')
    jitter: Duration | None = Field(
        None,
        description="each packet is delayed by a seeded uniform amount between 0 and this; "
        'default RTT/20 within 1us..100us, against phase locking; "0us" switches it off',
    )
    loss: Probability | None = Field(None, description="seeded random loss, the same packets on every kernel")
    drop: PacketNumbers | None = Field(
        None, description="numbers of the packets to lose, counted from 0 at the start of the experiment"
    )
    netem: Words | None = Field(
        None, description='impairments in netem\'s words: "loss gemodel 1% 10% 70% 0.1%", "duplicate 1%"'
    )
    reorder: bool | None = Field(
        None, description="jitter may reorder packets; default false: a packet never overtakes"
    )
    impair_at: Literal["egress", "ingress"] | None = Field(
        None,
        description='where netem\'s words hold: "egress" (default; before the packets leave) or "ingress" '
        "(at the node they reach: redirected to an ifb device there)",
    )
    classes: tuple[Class, ...] | None = Field(
        None, alias="class", description="classes that divide the rate among flows"
    )
    scheduler: Scheduler | None = Field(
        None,
        description='what divides the rate among the classes: "htb" (default) and "hfsc" give each a rate, '
        '"drr", "qfq" and "ets" a share of what there is, "prio" (and "ets" without weights) serves one '
        "before the next",
    )
    police: Police | None = Field(
        None,
        description="policer at the node that the packets reach: { rate, burst }, or of packets "
        "{ packets, packet_burst }",
    )
    pause: bool | None = Field(
        None,
        description="Ethernet's PAUSE (802.3x): while a queue of the node that the packets reach is nearly "
        "full, the port that sends to it is stopped, with all that waits there, instead of that queue "
        "dropping; default false",
    )
    withdrawn: tuple[tuple[Duration, Duration], ...] | None = Field(
        None,
        description="from when to when the router before the link has no route over it; it answers what it "
        'cannot forward with an ICMP error: [["1s", "4s"]]; default never',
    )


class LinkKeys(Direction):
    """The keys of a whole link, beside those of its directions."""

    mtu: Size | None = Field(None, description='largest IP packet; default "1500B"')
    offload: bool | None = Field(
        None, description="segmentation offloads; default false: every packet is an event"
    )
    receive_offload: bool | None = Field(
        None,
        description="the devices put packets together that arrive at once (GRO); default false; not with "
        "`offload`, whose bundles arrive whole",
    )
    shape_at: Literal["path", "sender"] | None = Field(
        None,
        description='where a host\'s egress is shaped and impaired: "path" (default; on a small router '
        'behind it, so that TCP small queues do not hide the queue) or "sender" (on the host itself)',
    )


class Topology(LinkKeys):
    """A preset and its common link, or nothing when `[[node]]` and `[[link]]` draw the graph."""

    preset: Preset = Field(description='"dumbbell", "chain" (parking lot) or "star" (incast)')
    rtt: Duration | None = Field(
        None, description="base round-trip time of the path; half in each direction; or give `delay`"
    )
    rtts: tuple[Duration, ...] | None = Field(
        None, description="one base RTT a pair (dumbbell) or a leaf (star), instead of `rtt`"
    )
    reverse_rate: Rate | None = Field(None, description="rate of the reverse direction; default `rate`")
    reverse_buffer: Buffer | None = Field(
        None, description="buffer of the reverse direction; default `buffer`"
    )
    reverse_queue: Words | None = Field(
        None, description="queue discipline of the reverse direction; default `queue`"
    )
    reverse_loss: Probability | None = Field(None, description="loss of the reverse direction; default none")
    reverse_netem: Words | None = Field(
        None, description="netem's words for the reverse direction; default none"
    )
    access_rate: Rate | None = Field(
        None,
        description="line rate of the hosts' own links, kept on the host's own egress as a network card "
        "does; default: not limited",
    )
    access_rates: tuple[Rate, ...] | None = Field(
        None,
        description="one line rate a pair (dumbbell) or a leaf (star), instead of `access_rate`: clocks of "
        "real cards differ, by up to 100 ppm on Ethernet, and lines of equal rates keep their phase for ever",
    )
    pairs: Count | None = Field(None, le=MAX_NODES, description="dumbbell: number of host pairs; default 1")
    hops: Count | None = Field(None, le=MAX_NODES, description="chain: number of common links; default 2")
    leaves: Count | None = Field(None, le=MAX_NODES, description="star: number of senders; default 8")

    @property
    def size(self) -> int:
        """How many pairs, hops or leaves."""
        default = {"dumbbell": 1, "chain": 2, "star": 8}[self.preset]
        given = {"dumbbell": self.pairs, "chain": self.hops, "star": self.leaves}[self.preset]
        return given or (len(self.rtts) if self.rtts and self.preset != "chain" else default)

    @property
    def senders(self) -> tuple[str, ...]:
        """Names of the sending hosts, in order."""
        first = 0 if self.preset == "chain" else 1
        return tuple(f"s{k}" for k in range(first, self.size + 1))

    @property
    def receivers(self) -> tuple[str, ...]:
        """Names of the receiving hosts, in order."""
        if self.preset == "star":
            return ("r1",)
        return tuple(name.replace("s", "r") for name in self.senders)

    @property
    def routers(self) -> tuple[str, ...]:
        """Names of the routers, in order of the path."""
        if self.preset == "chain":
            return tuple(f"n{k}" for k in range(1, self.size + 2))
        return ("left", "right") if self.preset == "dumbbell" else ("hub",)


class Node(Model):
    """A node of a free graph; nodes named only in links need no table of their own."""

    name: Name = Field(description="name of the node")
    role: Literal["host", "router", "switch"] | None = Field(
        None,
        description="default: a node with one link is a host, others are routers; a switch is a bridge: "
        "it has no address and learns where everyone is",
    )
    balance: Balance | None = Field(
        None,
        description='how packets are spread where several shortest paths lead on: by "flow" (addresses and '
        'ports), "addresses", "source" address, or each "packet" in turn (routers only); default: all '
        "take the first",
    )
    sysctl: Sysctls = Field(default_factory=dict, description="sysctls of this node, over those of all nodes")
    drop_input: Probability | None = Field(
        None,
        description="share of what arrives for this host that netfilter drops at random at INPUT, as "
        "`iptables -A INPUT -m statistic --mode random --probability P -j DROP` does: behind all queues and "
        "wires, drawn by the kernel's own generator (repeatable on one kernel, other packets on another)",
    )
    initcwnd: Count | None = Field(
        None,
        le=MAX_SEGMENTS,
        description="segments that connections of this host begin to send with, said by its routes "
        "(`ip route … initcwnd`); default the kernel's: 10 (RFC 6928)",
    )
    initrwnd: Count | None = Field(
        None,
        le=MAX_SEGMENTS,
        description="segments of the first window that this host offers, likewise (`initrwnd`); default by "
        "its receive buffer, 65535 bytes at most",
    )


class Bond(Model):
    """Several parallel cables joined to one link by a bonding device at either end."""

    links: Count = Field(description="how many cables; each has the link's rate, queue and delay for itself")
    mode: BondMode = Field("802.3ad", description="as in `ip link add type bond mode`; 802.3ad is LACP")
    hash: BondHash | None = Field(
        None,
        description="what decides on the cable: xmit_hash_policy of 802.3ad and balance-xor; default layer2",
    )


class Link(LinkKeys):
    """A link of a free graph; its keys hold for both directions, `forward` is from the first node named."""

    between: tuple[Name, Name] = Field(description='the two nodes: ["a", "b"]')
    name: Name | None = Field(None, description='name of the link; default "a-b"')
    bond: Bond | None = Field(
        None,
        description='parallel cables bonded at both ends: { links = 2, mode = "802.3ad", hash = "layer2" }',
    )
    forward: Direction = Field(
        default_factory=Direction, description="keys that differ for first → second node"
    )
    reverse: Direction = Field(
        default_factory=Direction, description="keys that differ for second → first node"
    )

    @property
    def label(self) -> str:
        """The link's name, given or made from its nodes."""
        return self.name or "-".join(self.between)

    def direction(self, *, forward: bool) -> Direction:
        """The keys of one direction: the link's own, overridden by that direction's table."""
        own = {key: getattr(self, key) for key in Direction.model_fields}
        over = self.forward if forward else self.reverse
        return Direction.model_construct(**own | {key: getattr(over, key) for key in over.model_fields_set})


def default_jitter(rtt: Duration) -> Duration:
    """Jitter where a scenario gives none: RTT/20 within 1 µs and 100 µs.

    Enough to break the phase locking of a noiseless network (Floyd & Jacobson 1992), too little to be seen
    in a round trip.
    """
    return Duration(min(100_000, max(1_000, rtt.ns // 20)))
