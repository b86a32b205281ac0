"""The resolved topology: nodes, links and what each direction of a link does to packets.

Takes what `presets` or a free graph says, gives the paths between nodes. Nothing here knows of addresses,
devices or tc: a link is still one link, however many emulators the plan puts into it later.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from rushhour.errors import PlanError

if TYPE_CHECKING:
    from rushhour.quantities.units import Buffer
    from rushhour.spec.control import Class, Scheduler
    from rushhour.spec.course import Course

MOST_WAYS = 64  # alternative paths told of one pair of hosts
ETHERNET_HEADER = 14  # what a qdisc counts beside the IP packet: no preamble, FCS or gap


@dataclass(frozen=True, slots=True)
class Queue:
    """A shaper and the queue at it; without `rate_bps` the queue discipline alone.

    `course` is the rate over time in bit/s; before its first instant, and for the buffer, `rate_bps` holds.
    With `classes` a scheduler divides the rate among them, each with a queue of its own. `serialise`: what
    the shaper lets go then takes its bytes / rate to be sent.
    """

    rate_bps: int | None = None
    buffer: Buffer | None = None
    words: str = "fifo"
    shaper: str = "tbf"
    classes: tuple[Class, ...] = ()
    scheduler: Scheduler = "htb"
    course: Course = ()
    pause: bool = False  # it can be stopped from behind
    serialise: bool = True

    @property
    def first_bps(self) -> int | None:
        """The rate at the start of the experiment."""
        return int(at_start(self.course, self.rate_bps or 0)) if self.course else self.rate_bps

    @property
    def fastest_bps(self) -> int | None:
        """The greatest rate of all times."""
        return max(self.first_bps or 0, *(int(value) for _, value in self.course), 0) or self.rate_bps

    @property
    def sending(self) -> Course:
        """The rate at which packets are sent, over time; in an outage already that of the time after it."""
        begun = self.course and self.course[0][0] <= 0
        steps = self.course if begun else ((0, float(self.rate_bps or 0)), *self.course)
        rate = next((value for _, value in reversed(steps) if value), 0.0)
        found: list[tuple[int, float]] = []
        for t_ns, value in reversed(steps):
            rate = value or rate
            found.append((max(0, t_ns), rate))
        return tuple(reversed(found))

    @property
    def outages(self) -> tuple[tuple[int, int | None], ...]:
        """From when to when the rate is 0; None: to the end."""
        ends = [t_ns for t_ns, _ in self.course[1:]] + [None]
        steps = zip(self.course, ends, strict=False)
        return tuple((max(0, t_ns), end) for (t_ns, value), end in steps if value == 0)


@dataclass(frozen=True, slots=True)
class Policer:
    """What exceeds `rate_bps` and a bucket of `burst` bytes is dropped at once.

    Without a rate in bits it counts packets: `per_s` of them, and a bucket of `burst` packets. The bucket
    passes at `peak_bps`; 0: at once.
    """

    rate_bps: int | None
    burst: int
    per_s: int = 0
    peak_bps: int = 0


@dataclass(frozen=True, slots=True)
class Wire:
    """The seeded element: delay, jitter (uniform in [0, jitter]) and loss by packet number.

    `courses` are delay, jitter (ns) and loss over time, by key; before its first instant a key is as here.
    """

    delay_ns: int = 0
    jitter_ns: int = 0
    loss: float = 0.0
    drop: tuple[int, ...] = ()
    reorder: bool = False
    courses: tuple[tuple[str, Course], ...] = ()

    @property
    def acts(self) -> bool:
        """Whether it does anything to any packet."""
        return bool(self.delay_ns or self.jitter_ns or self.loss or self.drop or self.courses)

    @property
    def first(self) -> Wire:
        """As it is at the start of the experiment."""
        courses = dict(self.courses)
        return replace(
            self,
            delay_ns=int(at_start(courses.get("delay", ()), self.delay_ns)),
            jitter_ns=int(at_start(courses.get("jitter", ()), self.jitter_ns)),
            loss=at_start(courses.get("loss", ()), self.loss),
        )

    @property
    def longest_ns(self) -> int:
        """The longest that a packet can take at any time."""
        courses = dict(self.courses)
        delays = [self.delay_ns, *(int(value) for _, value in courses.get("delay", ()))]
        jitters = [self.jitter_ns, *(int(value) for _, value in courses.get("jitter", ()))]
        return max(delays) + max(jitters)


def at_start(course: Course, otherwise: float) -> float:
    """Value of a course at the start of the experiment, where it has begun by then."""
    return course[0][1] if course and course[0][0] <= 0 else otherwise


@dataclass(frozen=True, slots=True)
class Direction:
    """The stages of one direction in the order a packet meets them; `access` sits on the node itself.

    The `policer` sits at the ingress of the node that the packets reach, and so does netem `at_ingress`. From
    when to when, in ns, the node before it has no route over it is `withdrawn`.
    """

    queue: Queue | None = None
    netem: str | None = None
    wire: Wire | None = None
    access: Queue | None = None
    policer: Policer | None = None
    at_ingress: bool = False
    withdrawn: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Bond:
    """How parallel cables are one link, in the kernel's words; each cable has the stages of the link."""

    links: int
    mode: str
    hash: str | None = None

    @property
    def by_packet(self) -> bool:
        """Whether the packets of one flow take several cables."""
        return self.mode == "balance-rr"


@dataclass(frozen=True, slots=True)
class Link:
    """A link from `a` to `b`; `own_egress` lets hosts at its ends carry stages themselves."""

    name: str
    a: str
    b: str
    forward: Direction = Direction()
    reverse: Direction = Direction()
    mtu: int = 1500
    offload: bool = False
    receive_offload: bool = False
    own_egress: bool = False
    bond: Bond | None = None

    @property
    def frame(self) -> int:
        """Bytes of a full frame as a qdisc counts them."""
        return self.mtu + ETHERNET_HEADER

    def direction(self, *, forward: bool) -> Direction:
        """The stages from `a` to `b`, or back."""
        return self.forward if forward else self.reverse


@dataclass(frozen=True, slots=True)
class Node:
    """A host, a router or a switch; `balance`: how packets are spread over shortest paths, if they are."""

    name: str
    router: bool
    sysctl: tuple[tuple[str, str], ...] = ()
    switch: bool = False
    balance: str | None = None

    @property
    def forwards(self) -> bool:
        """Whether paths lead through it."""
        return self.router or self.switch


class Hop(NamedTuple):
    """One link of a path and the direction in which it is crossed."""

    link: int
    forward: bool

    @property
    def back(self) -> Hop:
        """The same link in the other direction."""
        return Hop(self.link, not self.forward)


@dataclass(frozen=True)
class Graph:
    """Nodes and links, in the order of the scenario. `rtt_ns`: base RTT that "bdp" means, if one is given."""

    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    rtt_ns: int | None = None

    @cached_property
    def by_name(self) -> dict[str, Node]:
        """Nodes by name."""
        return {node.name: node for node in self.nodes}

    @cached_property
    def neighbours(self) -> dict[str, list[tuple[str, Hop]]]:
        """For each node its links, in their order: the node at the far side and the hop that leads there."""
        table: dict[str, list[tuple[str, Hop]]] = {node.name: [] for node in self.nodes}
        for index, link in enumerate(self.links):
            table[link.a].append((link.b, Hop(index, forward=True)))
            table[link.b].append((link.a, Hop(index, forward=False)))
        return table

    @cached_property
    def _trees(self) -> dict[str, dict[str, list[Hop]]]:
        return {}

    def next_hop(self, node: str, to: str) -> Hop:
        """Give the first hop of the shortest path (fewest links; ties: the first link) from `node` to `to`.

        Hosts do not forward, so paths lead through routers only. Raises PlanError where there is none.
        """
        return self.next_hops(node, to)[0]

    def next_hops(self, node: str, to: str) -> list[Hop]:
        """Give the first hops of all shortest paths from `node` to `to`, in the order of the links."""
        around = self.neighbours[node]
        if len(around) == 1 and node != to:
            return [around[0][1]]
        # A host on a single link is reached through its gateway: one tree serves all hosts of a router.
        at_edge = self.neighbours[to]
        gateway = at_edge[0][0] if len(at_edge) == 1 and len(self.neighbours[at_edge[0][0]]) > 1 else to
        if node == gateway and gateway != to:
            return [at_edge[0][1].back]
        if gateway not in self._trees:
            self._trees[gateway] = self._tree(gateway)
        try:
            return self._trees[gateway][node]
        except KeyError:
            raise _no_path(node, to) from None

    def far(self, hop: Hop) -> str:
        """The node to which a hop leads."""
        link = self.links[hop.link]
        return link.b if hop.forward else link.a

    def ahead(self, node: str, to: str) -> list[Hop]:
        """The first hops that a node uses towards `to`: one, or all of them where it balances."""
        hops = self.next_hops(node, to)
        return hops if self.by_name[node].balance else hops[:1]

    def ways(self, start: str, to: str) -> list[list[Hop]]:
        """Give the paths from `start` to `to`: one, or where nodes balance all that packets may take.

        Of very many the first `MOST_WAYS`. Raises PlanError where there is no path over routers and switches.
        """
        found: list[list[Hop]] = []
        open_ways: list[tuple[str, list[Hop]]] = [(start, [])]
        while open_ways and len(found) < MOST_WAYS:
            node, hops = open_ways.pop()
            if node == to:
                found.append(hops)
                continue
            forwards = self.by_name[node].forwards
            if hops and (len(hops) > len(self.nodes) or not forwards):
                raise _no_path(start, to, "" if forwards else f"; {node} is a host")
            open_ways += [(self.far(hop), [*hops, hop]) for hop in reversed(self.ahead(node, to))]
        return found

    def path(self, start: str, to: str) -> list[Hop]:
        """Give the first of the `ways`."""
        return self.ways(start, to)[0]

    def reached_from(self, node: str) -> list[str]:
        """The other hosts and routers that a node has a path to."""
        # A switch has no address.
        others = [other.name for other in self.nodes if other.name != node and not other.switch]
        return [other for other in others if self._leads(node, other)]

    def _leads(self, start: str, to: str) -> bool:
        try:
            return bool(self.ways(start, to))
        except PlanError:
            return False

    def _tree(self, root: str) -> dict[str, list[Hop]]:
        """First hops towards `root` of all nodes with several links, by breadth-first search from there."""
        distance = {root: 0}
        hops: dict[str, list[Hop]] = {}
        queue = deque([root])
        while queue:
            node = queue.popleft()
            if node != root and not self.by_name[node].forwards:
                continue
            further = distance[node] + 1
            for peer, hop in self._between_junctions[node]:
                if peer not in distance:
                    distance[peer] = further
                    hops[peer] = [hop.back]
                    queue.append(peer)
                elif distance[peer] == further:
                    hops[peer].append(hop.back)
        for several in hops.values():
            several.sort()
        return hops

    @cached_property
    def _between_junctions(self) -> dict[str, list[tuple[str, Hop]]]:
        """`neighbours` without those on a single link, whose first hop is clear."""
        return {
            node: [(peer, hop) for peer, hop in around if len(self.neighbours[peer]) > 1]
            for node, around in self.neighbours.items()
        }


def _no_path(start: str, to: str, why: str = "") -> PlanError:
    return PlanError(
        f"there is no path from {start} to {to}{why}",
        where="topology",
        hint='link them; only routers forward: a node with one link, or with role = "host", does not',
    )
