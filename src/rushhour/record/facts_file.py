"""What is known of one end of a path: `rushhour-facts/1`, typed by section and name (docs/facts.md).

Fields are those that rules, the table and `tune` read; what else stands in a section stays there. None: not
known. Sizes are bytes, rates bit/s (`_bps`), line speeds Mbit/s (`_mbps`).
"""

from __future__ import annotations

from collections.abc import Mapping

from rushhour.record.document import EMPTY, Document

FORMAT = "rushhour-facts/1"


class Host(Document):
    """The machine and its system."""

    name: str | None = None
    boot_id: str | None = None
    kernel: str | None = None
    system: str | None = None


class Driver(Document):
    """What drives a card."""

    name: str | None = None
    version: str | None = None
    firmware: str | None = None


class Offload(Document):
    """Work that a card or the stack does for many packets at once; `fixed` where it cannot be changed."""

    on: bool = False
    fixed: bool = False


class Rings(Document):
    """Packets that a card's rings hold, now and at most."""

    rx: int | None = None
    rx__max: int | None = None
    tx: int | None = None
    tx__max: int | None = None


class Channels(Document):
    """Queues of a card that serve both directions, now and at most."""

    combined: int | None = None
    combined__max: int | None = None


class Pause(Document):
    """Flow control: whether pause frames are heeded, and sent."""

    autoneg: bool = False
    rx: bool = False
    tx: bool = False


class Packets(Document):
    """What a device carried since boot."""

    rx_packets: int | None = None
    tx_packets: int | None = None
    rx_bytes: int | None = None
    tx_bytes: int | None = None


class Queues(Document):
    """How many queues the kernel has for a device, and the processors that RPS and XPS give them to."""

    rx: int | None = None
    tx: int | None = None
    rps: str | None = None
    xps: str | None = None


class Interrupt(Document):
    """An interrupt of a card: the processors that it may go to, and how often each took it."""

    irq: int = 0
    name: str = ""
    cpus: str | None = None
    taken: Mapping[str, int] = EMPTY


class Device(Document):
    """A device on the way; the line, where it is a card's."""

    kind: str | None = None
    mtu: int | None = None
    max_mtu: int | None = None
    txqlen: int | None = None
    state: str | None = None
    carrier_changes: int | None = None
    master: str | None = None
    lower: tuple[str, ...] = ()
    gso_max_size: int | None = None
    gso_max_segs: int | None = None
    speed_mbps: int | None = None
    duplex: str | None = None
    autoneg: bool | None = None
    supported_mbps: int | None = None
    advertised_mbps: int | None = None
    partner_mbps: int | None = None
    driver: Driver = Driver()
    rings: Rings = Rings()
    channels: Channels = Channels()
    pause: Pause | None = None
    offloads: Mapping[str, Offload] = EMPTY
    errors: Mapping[str, int] | None = None
    packets: Packets = Packets()
    queues: Queues = Queues()
    interrupts: tuple[Interrupt, ...] = ()


class Link(Device):
    """The device of the route, and those under it by name."""

    dev: str | None = None
    under: Mapping[str, Device] = EMPTY


class Way(Document):
    """A way to the other end, or a line of the routing table: its words as `ip route` has them."""

    to: str | None = None
    dev: str | None = None
    source: str | None = None
    gateway: str | None = None
    mtu: int | None = None
    expires_s: float | None = None
    window: int | None = None
    cwnd: int | None = None
    ssthresh: int | None = None
    initrwnd: int | None = None
    quickack: int | None = None
    table: int | None = None
    metric: int | None = None
    initcwnd: int | None = None
    advmss: int | None = None
    rto_min: int | None = None
    congctl: str | None = None
    locked: tuple[str, ...] = ()


class Neighbour(Document):
    """How the next hop is known."""

    state: str | None = None
    hardware: str | None = None


class Route(Document):
    """The way to the other end with what was learned of it, the entry behind it, the next hop."""

    to: str | None = None
    found: Way = Way()
    entry: Way = Way()
    neighbour: Neighbour = Neighbour()


class Slot(Document):
    """A card's place on the PCI bus: what it carries now, and what card and slot could do."""

    bus: str = ""
    speed_gts: float | None = None
    width: int | None = None
    max_speed_gts: float | None = None
    max_width: int | None = None
    carries_bps: float | None = None
    numa_node: int | None = None
    local_cpus: str | None = None


class Shares(Document):
    """How a machine's processors spend their time, over 0.3 s."""

    busy: float | None = None
    softirq: float | None = None
    steal: float | None = None
    iowait: float | None = None


class Cpu(Document):
    """The processors: how many, how fast, how busy; idle states by the µs that waking takes."""

    model: str | None = None
    count: int | None = None
    governor: Mapping[str, int] = EMPTY
    frequency_driver: str | None = None
    khz_now: int | None = None
    khz_allowed: int | None = None
    khz_max: int | None = None
    idle_states_us: Mapping[str, int | None] = EMPTY
    nodes: Mapping[str, str] = EMPTY
    load: tuple[float, ...] = ()
    mean: Shares = Shares()


class Pressure(Document):
    """Percent of the last 10 s in which some programs waited for memory, and in which all did."""

    some: float = 0.0
    full: float = 0.0


class Cgroup(Document):
    """The tightest limits of the control groups above the agent."""

    cpus: float | None = None
    memory: int | None = None


class Memory(Document):
    """What there is, what is free, what is swapped out."""

    total: int | None = None
    available: int | None = None
    swap_used: int | None = None
    pressure_pct: Pressure = Pressure()
    cgroup: Cgroup = Cgroup()


class Virtualisation(Document):
    """Whether a hypervisor is below, which, and whether this is a container."""

    hypervisor: bool | None = None
    product: str | None = None
    container: str | None = None


class Options(Document):
    """What a queue discipline, a class or a policer is set to."""

    rate_bps: float | None = None
    maxrate_bps: float | None = None
    ceil_bps: float | None = None
    limit_packets: int | None = None
    limit_bytes: int | None = None
    burst_bytes: int | None = None
    delay_us: float | None = None
    jitter_us: float | None = None
    loss: float | None = None
    duplicate: float | None = None


class Qdisc(Document):
    """A queue discipline and where it hangs."""

    kind: str = ""
    parent: str = ""
    options: Options = Options()


class Class(Document):
    """A class of a discipline that has some."""

    options: Options = Options()


class Action(Document):
    """What a filter does."""

    kind: str = ""
    options: Options = Options()


class Filter(Document):
    """A filter of traffic control."""

    hook: str = ""
    kind: str = ""
    priority: int | None = None
    actions: tuple[Action, ...] = ()


class Control(Document):
    """Traffic control of one device."""

    qdiscs: tuple[Qdisc, ...] = ()
    classes: tuple[Class, ...] = ()
    filters: tuple[Filter, ...] = ()


class SocketSums(Document):
    """Sockets in sum: pages that TCP has, datagrams dropped at full sockets."""

    tcp_mem: int | None = None
    udp_drops: int | None = None


class Chain(Document):
    """A base chain of the packet filter, and what it does with what no rule names."""

    family: str = ""
    table: str = ""
    chain: str = ""
    hook: str | None = None
    policy: str | None = None


class Limit(Document):
    """What a rule lets through, or from which on it holds (`over`)."""

    a_second: float | None = None
    of: str = ""
    over: bool = False


class Dropping(Document):
    """A rule of the packet filter that drops, by the names of its expressions."""

    family: str = ""
    table: str = ""
    chain: str = ""
    handle: int | None = None
    expressions: tuple[str, ...] = ()
    limit: Limit | None = None


class Firewall(Document):
    """Connection tracking, and the packet filter as far as it may be seen."""

    conntrack_count: int | None = None
    conntrack_max: int | None = None
    chains: tuple[Chain, ...] = ()
    dropping: tuple[Dropping, ...] = ()


class Time(Document):
    """The clock that the kernel reads for every packet, and those it could read."""

    clocksource: str | None = None
    available: tuple[str, ...] = ()


class FactsFile(Document):
    """Sections; what could not be read is absent, and `unknown` says why."""

    format: str
    place: str = ""
    host: Host = Host()
    link: Link = Link()
    route: Route = Route()
    pcie: Mapping[str, Slot] = EMPTY
    cpu: Cpu = Cpu()
    memory: Memory = Memory()
    virtualisation: Virtualisation = Virtualisation()
    sysctl: Mapping[str, object] = EMPTY
    qdisc: Mapping[str, Control] = EMPTY
    sockets: SocketSums = SocketSums()
    firewall: Firewall = Firewall()
    time: Time = Time()
    counters: Mapping[str, int] = EMPTY
    unknown: Mapping[str, str] = EMPTY
