"""What the agent is given to do: `plan.json`, typed (docs/plan-format.md).

Only what nothing can do without has to be there: plans of older versions lack what came later, and those for
machines have no links.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from rushhour.errors import RecordError
from rushhour.record.document import EMPTY, Document, Exact, read


class PlanEndpoint(Document):
    """An address of a node from which its MPTCP connections open a subflow, or that they announce."""

    address: str
    backup: bool = False
    signal: bool = False


class PlanMptcp(Document):
    """What a node's path manager is told: how many subflows beside the first, from where and to where."""

    subflows: int
    accepted: int = 0
    endpoints: tuple[PlanEndpoint, ...] = ()


class PlanNode(Document):
    """A network namespace, or a machine."""

    name: str
    forward: bool = False
    sysctl: tuple[tuple[str, ...], ...] = ()
    addresses: tuple[str, ...] = ()
    drop_input: float = 0
    mptcp: PlanMptcp | None = None

    @property
    def settings(self) -> dict[str, str]:
        """Its sysctls by name, the last of a name."""
        return {name: value for name, value, *_ in self.sysctl}


class PlanSerial(Document):
    """A wire that sends one packet after the other; `ahead_bytes` may leave its shaper early."""

    rate_bps: int
    ahead_bytes: int


class PlanWire(Document):
    """The seeded element on an egress: delays, jitter and losses."""

    delay_ns: int = 0
    jitter_ns: int = 0
    reorder: bool = False
    loss: float = 0
    drop: tuple[int, ...] = ()
    seed: int = 0
    serial: PlanSerial | None = None


class PlanEgress(Document):
    """What packets meet at a device, in tc's own words: of a link's end, on arrival (`ifb`), or at a machine.

    `end` is its number where it is no link's end.
    """

    end: int = -1
    node: str = ""
    dev: str = ""
    ifb: str | None = None
    mac: str = ""
    mtu: int = 0
    addresses: tuple[str, ...] = ()
    offload: bool = False
    receive_offload: bool = False
    qdiscs: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    wire: PlanWire | None = None
    sojourn: bool = False
    master: str | None = None


class PlanEnd(PlanEgress):
    """An end of a link: a device, and the egress of that direction."""

    node: str


class PlanLink(Document):
    """A pair of virtual Ethernet devices."""

    name: str = ""
    ends: tuple[PlanEnd, ...]


class PlanBond(Document):
    """How a bond spreads packets over its members."""

    mode: str
    hash: str | None = None


class PlanDevice(Document):
    """A bond or a bridge, which joins ends of its node."""

    node: str
    dev: str = ""
    mac: str = ""
    mtu: int = 0
    addresses: tuple[str, ...] = ()
    bond: PlanBond | None = None
    master: str | None = None
    passes_lacp: bool = False


class PlanRoute(Document):
    """A route of a node. `via` is an address, or a list of them."""

    node: str
    to: str
    via: object
    dev: str | None = None
    table: int | None = None
    microseconds: bool = False
    initcwnd: int | None = None
    initrwnd: int | None = None

    @property
    def hops(self) -> tuple[str, ...]:
        """The next hops; of several, packets take one each."""
        return tuple(map(str, self.via)) if isinstance(self.via, list) else (str(self.via),)


class PlanRule(Document):
    """Which packets of a node are routed by another table."""

    node: str
    ipv6: bool = False
    mark: int | None = None
    from_: str = ""
    table: int


class PlanNeighbour(Document):
    """A permanent neighbour entry."""

    node: str
    dev: str
    address: str
    mac: str


class PlanFlow(Document):
    """A flow; keys that its kind does not use are None."""

    id: Exact
    name: str = ""
    kind: str = ""
    from_: str = ""
    to: str = ""
    src: str = ""
    dst: str = ""
    sport: int = 0
    dport: int = 0
    start_ns: Exact = Exact(0)
    stop_ns: Exact | None = None
    generator: str | None = None
    bytes: Exact | None = None
    cc: str | None = None
    receiver_cc: str | None = None
    rate_bps: float | None = None
    pacing_bps: float | None = None
    message_bytes: float | None = None
    packet_bytes: Exact | None = None
    count: Exact | None = None
    interval_ns: int | None = None
    request_bytes: int | None = None
    response_bytes: int | None = None
    in_flight: int | None = None
    sndbuf: float | None = None
    rcvbuf: float | None = None
    read_bps: float | None = None
    read_class: bool = False
    tos: int = 0
    mss: int | None = None
    open: str | None = None
    leave_ns: Exact | None = None
    burst: Exact | None = None
    last_bytes: Exact | None = None
    on: tuple[tuple[int, ...], ...] = ()
    of: Exact | None = None


_NO_FLOW = PlanFlow()


class PlanProbe(Document):
    """Pings (`pings`) or a train of datagrams (`packets`), before the experiment."""

    from_: str
    to: str
    src: str = ""
    dst: str = ""
    size: int | None = None
    packets: int | None = None


class PlanCalibration(Document):
    """What is measured before the experiment."""

    paths: tuple[PlanProbe, ...] = ()
    trains: tuple[PlanProbe, ...] = ()


class PlanChange(Document):
    """What a pattern changes at one instant."""

    t_ns: int
    end: int
    key: str = ""
    value: float
    lines: tuple[str, ...] = ()


class PlanPort(Document):
    """A port that Ethernet's PAUSE can stop; `line` names its queue."""

    end: int
    line: str = ""


class PlanPauses(Document):
    """The ports that can be stopped."""

    ports: tuple[PlanPort, ...] = ()


class PlanLoad(Document):
    """A process beside the agent that takes processor time or memory."""

    name: str = ""
    node: str = ""
    kind: str = ""
    start_ns: int = 0
    stop_ns: int = 0
    generator: str | None = None
    workers: int | None = None
    share: float | None = None
    bytes: int | None = None


class PlanProgram(Document):
    """A program on a node; `after` are the numbers of those that must be ready first."""

    id: Exact
    name: str
    node: str
    command: tuple[str, ...]
    start_ns: Exact = Exact(0)
    stop_ns: Exact | None = None
    after: tuple[int, ...] = ()
    ready_port: int | None = None
    ready_text: str | None = None
    until_exit: bool = False
    exit: int = 0
    input: str | None = None
    environment: Mapping[str, str] = EMPTY
    files: Mapping[str, str] = EMPTY
    root: str | None = None
    needs: tuple[str, ...] = ()


class PlanFound(Document):
    """Nodes whose sockets are followed although no flow names them; their flows are numbered from `first`."""

    nodes: tuple[str, ...]
    first: int
    most: int | None = None


class PlanFile(Document):
    """One cell of a sweep, resolved to numbers."""

    format: str = ""
    seed: int = 0
    duration_ns: int = 0
    sample_ns: object = None
    nodes: tuple[PlanNode, ...] = ()
    links: tuple[PlanLink, ...] = ()
    ingress: tuple[PlanEgress, ...] = ()
    egress: tuple[PlanEgress, ...] = ()
    devices: tuple[PlanDevice, ...] = ()
    routes: tuple[PlanRoute, ...] = ()
    rules: tuple[PlanRule, ...] = ()
    neighbours: tuple[PlanNeighbour, ...] = ()
    flows: tuple[PlanFlow, ...] = ()
    changes: tuple[PlanChange, ...] = ()
    pauses: PlanPauses | None = None
    loads: tuple[PlanLoad, ...] = ()
    programs: tuple[PlanProgram, ...] = ()
    names: tuple[tuple[str, ...], ...] = ()
    readings: Mapping[str, bool] = EMPTY
    found: PlanFound | None = None
    calibration: PlanCalibration = PlanCalibration()
    tools: tuple[str, ...] = ()

    @property
    def link_ends(self) -> tuple[PlanEnd, ...]:
        """The ends of all links, each at its index (2·link + side)."""
        return tuple(end for link in self.links for end in link.ends)

    @property
    def places(self) -> tuple[PlanEgress, ...]:
        """Wherever packets meet something: the ends of all links, then what stands at arrivals."""
        return (*self.link_ends, *self.ingress)

    def place(self, end: int) -> PlanEgress | None:
        """What stands at an end, by its index; None where the plan says nothing of it."""
        for one in self.egress:
            if one.end == end:
                return one
        link, side = divmod(end, 2)
        arrival = end - 2 * len(self.links)
        if arrival >= 0:
            return self.ingress[arrival] if arrival < len(self.ingress) else None
        ends = self.links[link].ends if end >= 0 else ()
        return ends[side] if side < len(ends) else None

    @cached_property
    def by_id(self) -> Mapping[int, PlanFlow]:
        """The flows by their number."""
        return {flow.id: flow for flow in self.flows}

    def flow(self, number: int) -> PlanFlow:
        """The flow of this number; one that says nothing where there is none."""
        return self.by_id.get(number, _NO_FLOW)


def sampling_ns(plan: PlanFile, where: str) -> int:
    """The interval of a plan's periodic readings, in ns.

    Raises:
        RecordError: it is no whole number above 0.
    """
    value = plan.sample_ns
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 1 << 62:
        raise RecordError(f"sample_ns is {value!r}; expected a whole number above 0", where=where)
    return value


def planned(document: object) -> PlanFile:
    """The plan that was made as a JSON object."""
    return read(PlanFile, document, "the plan")
