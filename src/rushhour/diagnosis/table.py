"""Both ends side by side: rows of words, differences marked where a difference matters."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from rushhour.diagnosis import shown
from rushhour.quantities import short
from rushhour.quantities.words import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rushhour.diagnosis.facts import Facts

UNKNOWN = "-"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table; `differs` is set only where a difference matters, and `note` says why."""

    group: str
    name: str
    a: str
    b: str
    differs: bool = False
    note: str = ""

    def document(self) -> dict[str, Any]:
        """The row as in a diagnosis document."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Line:
    """How a row is made: what it tells of an end (None where that is not known), how, and why it matters."""

    name: str
    value: Callable[[Facts], Any]
    show: Callable[[Any], str] = str
    matters: str = ""
    setting: str = ""


def _sysctl(name: str, show: Callable[[Any], str] = shown.plain, matters: str = "") -> Line:
    short = name.removeprefix("net.ipv4.").removeprefix("net.core.")
    return Line(short, lambda facts: facts.file.sysctl.get(name), show, matters, name)


def _offload(word: str, title: str) -> Line:
    note = (
        "segments are handled one by one at one end"
        if word in {"tso", "gso", "gro"}
        else "costs processor time"
    )
    return Line(f"{word} ({title})", lambda facts: facts.link.offloads.get(word), shown.switch, note)


def _pause(facts: Facts) -> str | None:
    pause = facts.link.pause
    if pause is None:
        return None
    sides = [side for side, on in (("rx", pause.rx), ("tx", pause.tx)) if on]
    return " ".join(sides) or "off"


def _of_most(now: int | None, most: int | None) -> str | None:
    return None if now is None else f"{now} of {most}"


def _traffic(packets: int | None, octets: int | None) -> str | None:
    return (
        None if packets is None or octets is None else f"{plural(packets, 'packet')}, {short.binary(octets)}"
    )


def _queues(facts: Facts) -> str | None:
    queues = facts.link.queues
    return None if queues.rx is None else f"{queues.rx} rx, {queues.tx} tx"


def _interrupts(facts: Facts) -> str | None:
    known = facts.link.interrupts
    return None if not known else ",".join(sorted({one.cpus for one in known if one.cpus}))


def _driver(facts: Facts) -> str | None:
    told = facts.link.driver
    return None if told.name is None else f"{told.name} {told.version or ''}".strip()


def _root_qdisc(facts: Facts) -> str | None:
    own = facts.qdisc.get(facts.link.dev or "")
    queues = own.qdiscs if own is not None else ()
    return ", ".join(shown.qdisc(one) for one in queues if one.parent == "root") or None


def _slot(facts: Facts) -> str | None:
    told = [one for one in facts.pcie.values() if one.width is not None]
    return ", ".join(f"{one.speed_gts} GT/s x{one.width}" for one in told) or None


def _virtual(facts: Facts) -> str | None:
    known = facts.virtualisation
    if known.hypervisor is None:
        return None
    kind = (known.product or "virtual machine") if known.hypervisor else "no"
    return f"{kind}, in {known.container}" if known.container else kind


GROUPS: tuple[tuple[str, Sequence[Line]], ...] = (
    (
        "Machine",
        (
            Line("name", lambda f: f.host.name),
            Line("system", lambda f: f.host.system),
            Line("kernel", lambda f: f.host.kernel, matters="another TCP, possibly other defaults"),
            Line("virtual machine", _virtual),
            Line(
                "clock source", lambda f: f.time.clocksource, matters="a slow clock is read for every packet"
            ),
        ),
    ),
    (
        "Link",
        (
            Line("device", lambda f: f.link.dev),
            Line("address", lambda f: f.route.found.source),
            Line("state", lambda f: f.link.state),
            Line("speed", lambda f: f.link.speed_mbps, shown.mbps, "the slower end sets the rate"),
            Line("duplex", lambda f: f.link.duplex, matters="collisions and losses under load"),
            Line(
                "autonegotiation",
                lambda f: f.link.autoneg,
                shown.switch,
                "one end may fall back to half duplex",
            ),
            Line("flow control", _pause, matters="pauses are sent that the other end ignores"),
            Line("MTU", lambda f: f.link.mtu, matters="larger packets of one end may vanish"),
            Line("tx queue length", lambda f: f.link.txqlen, shown.packets),
            Line("carrier changes", lambda f: f.link.carrier_changes),
            Line("received", lambda f: _traffic(f.link.packets.rx_packets, f.link.packets.rx_bytes)),
            Line("sent", lambda f: _traffic(f.link.packets.tx_packets, f.link.packets.tx_bytes)),
            Line("errors", lambda f: f.link.errors, shown.counts),
            Line("driver", _driver),
            Line("firmware", lambda f: f.link.driver.firmware),
            Line("rx ring", lambda f: _of_most(f.link.rings.rx, f.link.rings.rx__max)),
            Line("tx ring", lambda f: _of_most(f.link.rings.tx, f.link.rings.tx__max)),
            Line("queues", _queues),
            Line("interrupts on", _interrupts),
            Line("RPS on", lambda f: f.link.queues.rps),
            _offload("tso", "TCP segmentation"),
            _offload("gso", "segmentation"),
            _offload("gro", "receive coalescing"),
            _offload("tx", "checksum"),
            _offload("rx", "checksum"),
            Line("PCIe slot", _slot, matters="a narrow slot carries less than the line"),
        ),
    ),
    (
        "Way to the other end",
        (
            Line("route", lambda f: f.route.found or None, shown.route),
            Line("queue", _root_qdisc, matters="another queue discipline"),
            replace(_sysctl("net.core.default_qdisc"), name="default queue"),
            Line(
                "connection tracking",
                lambda f: _of_most(f.firewall.conntrack_count, f.firewall.conntrack_max),
            ),
        ),
    ),
    (
        "Processors and memory",
        (
            Line("processor", lambda f: f.cpu.model),
            Line("processors", lambda f: f.cpu.count),
            Line("governor", lambda f: f.cpu.governor or None, shown.counted, "one end wakes up slowly"),
            Line("load", lambda f: [*f.cpu.load] or None, shown.plain),
            Line("busy", lambda f: f.cpu.mean.busy, short.percent),
            Line("stolen by the host", lambda f: f.cpu.mean.steal, short.percent),
            Line("allowed by cgroup", lambda f: f.memory.cgroup.cpus, lambda cpus: f"{cpus} CPUs"),
            Line("memory", lambda f: f.memory.total, short.binary),
            Line("memory available", lambda f: f.memory.available, short.binary),
            Line("swap used", lambda f: f.memory.swap_used, short.binary),
        ),
    ),
    (
        "TCP",
        (
            _sysctl("net.ipv4.tcp_rmem", shown.sizes, "the receiver's limits the window"),
            _sysctl("net.ipv4.tcp_wmem", shown.sizes, "the sender's limits what is in flight"),
            _sysctl("net.ipv4.tcp_mem", shown.pages),
            _sysctl("net.core.rmem_max", short.binary, "bounds what programs may ask for"),
            _sysctl("net.core.wmem_max", short.binary, "bounds what programs may ask for"),
            _sysctl("net.ipv4.tcp_moderate_rcvbuf", shown.switch, "one end's buffer does not grow by itself"),
            _sysctl(
                "net.ipv4.tcp_window_scaling", shown.switch, "off at one end, it is off: windows of 64 KiB"
            ),
            _sysctl("net.ipv4.tcp_sack", shown.switch, "off at one end, it is off"),
            _sysctl("net.ipv4.tcp_dsack", shown.switch, "spurious retransmissions stay unseen"),
            _sysctl("net.ipv4.tcp_timestamps", shown.switch, "off at one end, they are off"),
            _sysctl("net.ipv4.tcp_ecn", shown.ecn, "marks instead of drops need both ends"),
            _sysctl("net.ipv4.tcp_congestion_control", shown.plain, "each direction has its sender's"),
            _sysctl("net.ipv4.tcp_available_congestion_control"),
            _sysctl("net.ipv4.tcp_mtu_probing", shown.probing, "black holes are survived by one end only"),
            _sysctl("net.ipv4.tcp_slow_start_after_idle", shown.switch),
            _sysctl("net.ipv4.tcp_no_metrics_save", shown.switch),
            _sysctl("net.ipv4.tcp_notsent_lowat", shown.limit),
        ),
    ),
    (
        "UDP and reception",
        (
            _sysctl("net.ipv4.udp_mem", shown.pages),
            _sysctl("net.ipv4.udp_rmem_min", short.binary),
            _sysctl("net.ipv4.udp_wmem_min", short.binary),
            _sysctl("net.core.rmem_default", short.binary, "what a UDP receiver has if it asks for nothing"),
            _sysctl("net.core.wmem_default", short.binary),
            _sysctl("net.core.netdev_max_backlog", shown.packets),
            _sysctl("net.core.netdev_budget", shown.packets),
            _sysctl("net.core.netdev_budget_usecs"),
            Line("drops of UDP sockets", lambda f: f.sockets.udp_drops),
        ),
    ),
)


def table(a: Facts, b: Facts, *, everything: bool = False) -> list[Row]:
    """Both ends, row by row; with `everything` also all other settings, and each counter of errors."""
    rows = [row for group, lines in GROUPS for line in lines if (row := _row(group, line, a, b)) is not None]
    return rows + (_others(a, b) if everything else [])


def _row(group: str, line: Line, a: Facts, b: Facts) -> Row | None:
    """None where neither end knows anything."""
    values = (line.value(a), line.value(b))
    if not any(value not in (None, "") for value in values):
        return None
    in_a, in_b = (UNKNOWN if value in (None, "") else line.show(value) for value in values)
    differs = bool(line.matters) and UNKNOWN not in {in_a, in_b} and in_a != in_b
    return Row(group, line.name, in_a, in_b, differs=differs, note=line.matters if differs else "")


def _others(a: Facts, b: Facts) -> list[Row]:
    told = {line.setting for _, lines in GROUPS for line in lines}
    names = {*a.file.sysctl, *b.file.sysctl} - told
    settings = [replace(_sysctl(name), name=name) for name in sorted(names)]
    errors = {*(a.link.errors or {}), *(b.link.errors or {})}
    counted = [_errors(name) for name in sorted(errors)]
    found = [("Other settings", line) for line in settings] + [
        ("Errors since boot", line) for line in counted
    ]
    return [row for group, line in found if (row := _row(group, line, a, b)) is not None]


def _errors(name: str) -> Line:
    return Line(name, lambda facts: (facts.link.errors or {}).get(name))
