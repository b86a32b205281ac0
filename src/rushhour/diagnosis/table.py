"""Both ends side by side: rows of words, differences marked where a difference matters."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rushhour.diagnosis import shown
from rushhour.quantities import short

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
    """How a row is made: where its value is, how it is written, and why a difference would matter.

    `reads` are the section and the names below it; `of` makes the value of several readings instead.
    """

    name: str
    reads: tuple[str, ...] = ()
    show: Callable[[Any], str] = str
    matters: str = ""
    of: Callable[[Facts], Any] | None = None

    def value(self, facts: Facts) -> Any:
        """What this line tells of one end; None where it is not known."""
        return self.of(facts) if self.of is not None else facts.get(*self.reads)


def _sysctl(name: str, show: Callable[[Any], str] = shown.plain, matters: str = "") -> Line:
    return Line(name.removeprefix("net.ipv4.").removeprefix("net.core."), ("sysctl", name), show, matters)


def _offload(word: str, title: str) -> Line:
    note = (
        "segments are handled one by one at one end"
        if word in {"tso", "gso", "gro"}
        else "costs processor time"
    )
    return Line(f"{word} ({title})", ("link", "offloads", word), shown.switch, note)


def _pause(facts: Facts) -> str | None:
    pause = facts.get("link", "pause")
    if pause is None:
        return None
    sides = [side for side in ("rx", "tx") if pause.get(side)]
    return " ".join(sides) or "off"


def _ring(side: str) -> Callable[[Facts], str | None]:
    def ring(facts: Facts) -> str | None:
        now, most = (facts.get("link", "rings", name) for name in (side, f"{side}-max"))
        return None if now is None else f"{now} of {most}"

    return ring


def _traffic(side: str) -> Callable[[Facts], str | None]:
    def traffic(facts: Facts) -> str | None:
        packets, octets = (facts.get("link", "packets", f"{side}_{unit}") for unit in ("packets", "bytes"))
        return None if packets is None or octets is None else f"{packets} packets, {short.binary(octets)}"

    return traffic


def _queues(facts: Facts) -> str | None:
    rx, tx = (facts.get("link", "queues", side) for side in ("rx", "tx"))
    return None if rx is None else f"{rx} rx, {tx} tx"


def _interrupts(facts: Facts) -> str | None:
    known = facts.get("link", "interrupts")
    return None if not known else ",".join(sorted({str(one["cpus"]) for one in known if one["cpus"]}))


def _driver(facts: Facts) -> str | None:
    told = facts.get("link", "driver")
    return None if not told else f"{told['name']} {told['version']}".strip()


def _root_qdisc(facts: Facts) -> str | None:
    queues = facts.get("qdisc", facts.get("link", "dev") or "", "qdiscs") or []
    return ", ".join(shown.qdisc(one) for one in queues if one["parent"] == "root") or None


def _slot(facts: Facts) -> str | None:
    told = [one for one in (facts.sections.get("pcie") or {}).values() if "width" in one]
    return ", ".join(f"{one['speed_gts']} GT/s x{one['width']}" for one in told) or None


def _wall(facts: Facts) -> str | None:
    count, most = (facts.get("firewall", f"conntrack_{name}") for name in ("count", "max"))
    return None if count is None else f"{count} of {most}"


def _virtual(facts: Facts) -> str | None:
    known = facts.sections.get("virtualisation") or {}
    if "hypervisor" not in known:
        return None
    kind = (known.get("product") or "virtual machine") if known["hypervisor"] else "no"
    return f"{kind}, in {known['container']}" if known.get("container") else kind


GROUPS: tuple[tuple[str, Sequence[Line]], ...] = (
    (
        "Machine",
        (
            Line("name", ("host", "name")),
            Line("system", ("host", "system")),
            Line("kernel", ("host", "kernel"), matters="another TCP, possibly other defaults"),
            Line("virtual machine", of=_virtual),
            Line("clock source", ("time", "clocksource"), matters="a slow clock is read for every packet"),
        ),
    ),
    (
        "Link",
        (
            Line("device", ("link", "dev")),
            Line("address", ("route", "found", "source")),
            Line("state", ("link", "state")),
            Line("speed", ("link", "speed_mbps"), shown.mbps, "the slower end sets the rate"),
            Line("duplex", ("link", "duplex"), matters="collisions and losses under load"),
            Line(
                "autonegotiation", ("link", "autoneg"), shown.switch, "one end may fall back to half duplex"
            ),
            Line("flow control", of=_pause, matters="pauses are sent that the other end ignores"),
            Line("MTU", ("link", "mtu"), matters="larger packets of one end may vanish"),
            Line("tx queue length", ("link", "txqlen"), shown.packets),
            Line("carrier changes", ("link", "carrier_changes")),
            Line("received", of=_traffic("rx")),
            Line("sent", of=_traffic("tx")),
            Line("errors", ("link", "errors"), shown.counts),
            Line("driver", of=_driver),
            Line("firmware", ("link", "driver", "firmware")),
            Line("rx ring", of=_ring("rx")),
            Line("tx ring", of=_ring("tx")),
            Line("queues", of=_queues),
            Line("interrupts on", of=_interrupts),
            Line("RPS on", ("link", "queues", "rps")),
            _offload("tso", "TCP segmentation"),
            _offload("gso", "segmentation"),
            _offload("gro", "receive coalescing"),
            _offload("tx", "checksum"),
            _offload("rx", "checksum"),
            Line("PCIe slot", of=_slot, matters="a narrow slot carries less than the line"),
        ),
    ),
    (
        "Way to the other end",
        (
            Line("route", ("route", "found"), shown.route),
            Line("queue", of=_root_qdisc, matters="another queue discipline"),
            Line("default queue", ("sysctl", "net.core.default_qdisc")),
            Line("connection tracking", of=_wall),
        ),
    ),
    (
        "Processors and memory",
        (
            Line("processor", ("cpu", "model")),
            Line("processors", ("cpu", "count")),
            Line("governor", ("cpu", "governor"), shown.counted, "one end wakes up slowly"),
            Line("load", ("cpu", "load"), shown.plain),
            Line("busy", ("cpu", "mean", "busy"), short.percent),
            Line("stolen by the host", ("cpu", "mean", "steal"), short.percent),
            Line("allowed by cgroup", ("memory", "cgroup", "cpus"), lambda cpus: f"{cpus} CPUs"),
            Line("memory", ("memory", "total"), short.binary),
            Line("memory available", ("memory", "available"), short.binary),
            Line("swap used", ("memory", "swap_used"), short.binary),
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
            Line("drops of UDP sockets", ("sockets", "udp_drops")),
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
    told = {line.reads[1] for _, lines in GROUPS for line in lines if line.reads[:1] == ("sysctl",)}
    names = {*(a.sections.get("sysctl") or {}), *(b.sections.get("sysctl") or {})} - told
    settings = [Line(name, ("sysctl", name), shown.plain) for name in sorted(names)]
    errors = {*(a.get("link", "errors") or {}), *(b.get("link", "errors") or {})}
    counted = [Line(name, ("link", "errors", name)) for name in sorted(errors)]
    found = [("Other settings", line) for line in settings] + [
        ("Errors since boot", line) for line in counted
    ]
    return [row for group, line in found if (row := _row(group, line, a, b)) is not None]
