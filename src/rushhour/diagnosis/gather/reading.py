"""What is asked of an end: files and netlink, in a few calls. The sections are made of that alone."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from rushhour.diagnosis.gather import sysctl
from rushhour.errors import HostError
from rushhour.lab import cgroups

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.lab.host.place import Place

SMALL = 1 << 16
LARGE = 1 << 20
MOST_CARDS = 16
PCI = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")

# What machines answer that have no such thing: that is no lack of knowledge.
_SAYS_NOTHING = ("no such file", "not a directory", "invalid argument", "operation not supported")

FILES = (
    "/etc/os-release",
    "/proc/uptime",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/vmstat",
    "/proc/pressure/*",
    cgroups.SELF,
    cgroups.MOUNTS,
    "/proc/1/cgroup",
    "/proc/1/comm",
    "/proc/modules",
    "/proc/net/sockstat",
    "/proc/net/sockstat6",
    "/proc/net/ip_tables_names",
    "/proc/net/stat/nf_conntrack",
    "/proc/sys/net/netfilter/nf_conntrack_*",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/isolated",
    "/sys/devices/system/cpu/smt/active",
    "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
    "/sys/devices/system/cpu/cpu*/cpufreq/scaling_cur_freq",
    "/sys/devices/system/cpu/cpu*/cpufreq/scaling_max_freq",
    "/sys/devices/system/cpu/cpu*/cpufreq/cpuinfo_max_freq",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver",
    "/sys/devices/system/cpu/cpu0/cpuidle/state*/name",
    "/sys/devices/system/cpu/cpu0/cpuidle/state*/latency",
    "/sys/devices/system/cpu/cpu0/cpuidle/state*/disable",
    "/sys/devices/system/node/node*/cpulist",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "/sys/devices/system/clocksource/clocksource0/available_clocksource",
    "/sys/class/dmi/id/sys_vendor",
    "/sys/class/dmi/id/product_name",
    "/sys/hypervisor/type",
)
LONG_FILES = ("/proc/cpuinfo", "/proc/interrupts", "/proc/net/udp", "/proc/net/udp6")
COUNTER_FILES = (
    "/proc/net/snmp",
    "/proc/net/snmp6",
    "/proc/net/netstat",
    "/proc/net/softnet_stat",
    "/proc/stat",
    "/proc/vmstat",
)
CARD_FILES = (
    "/sys/class/net/{dev}/queues/*/rps_cpus",
    "/sys/class/net/{dev}/queues/*/xps_cpus",
    "/sys/class/net/{dev}/queues/*/byte_queue_limits/limit",
    "/sys/class/net/{dev}/speed",
    "/sys/class/net/{dev}/duplex",
    "/sys/class/net/{dev}/device/numa_node",
    "/sys/class/net/{dev}/device/local_cpulist",
    "/sys/class/net/{dev}/device/msi_irqs/*",
    "/sys/class/net/{dev}/device/uevent",
)
BUS_FILES = (
    "/sys/bus/pci/devices/{bus}/current_link_speed",
    "/sys/bus/pci/devices/{bus}/current_link_width",
    "/sys/bus/pci/devices/{bus}/max_link_speed",
    "/sys/bus/pci/devices/{bus}/max_link_width",
    "/sys/bus/pci/devices/{bus}/numa_node",
    "/sys/bus/pci/devices/{bus}/local_cpulist",
    "/sys/bus/pci/devices/{bus}/vendor",
    "/sys/bus/pci/devices/{bus}/device",
    "/sys/bus/pci/devices/{bus}/msi_irqs/*",
)
CGROUP_FILES = (
    cgroups.MAX,
    "cpu.stat",
    "memory.max",
    "memory.high",
    "memory.current",
    cgroups.QUOTA,
    cgroups.PERIOD,
    "memory.limit_in_bytes",
    "memory.usage_in_bytes",
)


class Asked(Protocol):
    """What a session is for gathering (`rushhour.lab.host.session.Session` is one)."""

    @property
    def place(self) -> Place:
        """Where it is."""

    def call(self, verb: str, **arguments: Any) -> dict[str, Any]:
        """Ask for something; `HostError` when it is refused."""


@dataclass
class Reading:
    """Raw answers of one end."""

    files: dict[str, str] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
    """What could not be read → why."""
    hello: Mapping[str, Any] = field(default_factory=dict)
    dev: str | None = None
    route: Mapping[str, Any] = field(default_factory=dict)
    links: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    cards: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    qdiscs: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    neighbours: list[Mapping[str, Any]] = field(default_factory=list)
    sockets: Mapping[str, Any] = field(default_factory=dict)
    firewall: Mapping[str, Any] = field(default_factory=dict)

    def text(self, path: str) -> str | None:
        """A file's text without the line end."""
        found = self.files.get(path)
        return None if found is None else found.strip()


class Reader:
    """Asks, and keeps what came back; a refusal becomes an entry of `unknown`."""

    def __init__(self, session: Asked) -> None:
        self.session = session
        self.found = Reading()

    def ask(self, name: str, verb: str, **arguments: Any) -> dict[str, Any]:
        """The answer to a verb; empty, with the reason under `name` of `unknown`, when it was refused."""
        try:
            return self.session.call(verb, **arguments)
        except HostError as error:
            self.found.unknown[name] = error.message
            return {}

    def files(self, paths: list[str], limit: int = SMALL) -> None:
        """Read files; patterns that match nothing are no loss."""
        answer = self.ask("files", "files", paths=paths, limit=limit)
        self.found.files |= answer.get("files", {})
        missing = answer.get("unreadable", {}).items()
        self.found.unknown |= {
            path: why for path, why in missing if not why.lower().startswith(_SAYS_NOTHING)
        }


def read(session: Asked, peer: str, dev: str | None = None) -> Reading:
    """Everything at an end that bears on transfers to `peer` (an address), by the device on the way there."""
    reader = Reader(session)
    found = reader.found
    found.hello = reader.ask("hello", "hello")
    found.route = reader.ask("route", "route", to=peer)
    found.dev = dev or found.route.get("found", {}).get("dev")
    reader.files([*FILES, *map(sysctl.path, sysctl.NAMES)])
    reader.files([*LONG_FILES, *COUNTER_FILES], LARGE)
    found.neighbours = list(reader.ask("neighbours", "neighbours").get("neighbours", []))
    found.sockets = reader.ask("sockets", "sockets", peer=peer)
    found.firewall = reader.ask("firewall", "firewall")
    if found.dev is not None:
        devices(reader, found.dev)
    reader.files(_cgroups(found))
    return found


def devices(reader: Reader, dev: str) -> None:
    """The device, what lies under it, and the queues of each."""
    found = reader.found
    found.links = reader.ask("links", "links", dev=dev)
    for name in list(found.links)[:MOST_CARDS]:
        found.cards[name] = reader.ask(f"ethtool {name}", "ethtool", dev=name)
        found.qdiscs[name] = reader.ask(f"qdiscs {name}", "qdiscs", dev=name)
        bus = str(found.cards[name].get("driver", {}).get("bus", ""))
        paths = [path.format(dev=name) for path in CARD_FILES]
        paths += [path.format(bus=bus) for path in BUS_FILES if PCI.fullmatch(bus)]
        reader.files(paths)
    irqs = [path.rpartition("/")[2] for path in found.files if "/msi_irqs/" in path]
    reader.files(
        [
            f"/proc/irq/{irq}/{name}"
            for irq in irqs
            for name in ("smp_affinity_list", "effective_affinity_list")
        ]
    )
    reader.files([sysctl.path(name.format(dev=dev.replace(".", "/"))) for name in sysctl.OF_DEVICE])


def cpu_stat_files(found: Reading) -> list[str]:
    """Where the control groups of the agent tell how long a quota stopped them (`cpu.stat`)."""
    return [path for path in _cgroups(found) if path.endswith("/cpu.stat")]


def _cgroups(found: Reading) -> list[str]:
    """Files of the control groups that the agent runs in, and of those above: every one of them limits."""
    places = cgroups.folders(found.text(cgroups.SELF) or "", found.text(cgroups.MOUNTS) or "")
    return [f"{place}/{name}" for place in places for name in CGROUP_FILES]
