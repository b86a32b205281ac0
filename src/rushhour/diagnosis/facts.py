"""What is known of one end, as a document (`rushhour-facts/1`).

A section has its facts as typed fields (`facts.link.mtu`), None where one is not known. What could not be
read is absent, and `unknown` says why. The kernel's settings are asked for by their names:
`facts.number("net.core.rmem_max")`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from inspect import get_annotations
from typing import TYPE_CHECKING, Any, Literal

from rushhour.errors import RecordError
from rushhour.record.document import read, write
from rushhour.record.facts_file import FORMAT, FactsFile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.record import facts_file as of

SECTIONS = tuple(name for name in get_annotations(FactsFile) if name not in {"format", "place", "unknown"})

Number = Literal[
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.netdev_max_backlog",
    "net.core.optmem_max",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.ipv4.ip_default_ttl",
    "net.ipv4.ip_no_pmtu_disc",
    "net.ipv4.tcp_adv_win_scale",
    "net.ipv4.tcp_app_win",
    "net.ipv4.tcp_comp_sack_delay_ns",
    "net.ipv4.tcp_comp_sack_nr",
    "net.ipv4.tcp_dsack",
    "net.ipv4.tcp_early_retrans",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_frto",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_min_tso_segs",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_pacing_ca_ratio",
    "net.ipv4.tcp_pacing_ss_ratio",
    "net.ipv4.tcp_recovery",
    "net.ipv4.tcp_reordering",
    "net.ipv4.tcp_rto_min_us",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_tso_win_divisor",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_workaround_signed_windows",
]
"""Settings that are one number."""
Sizes = Literal["net.ipv4.tcp_mem", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"]
"""Settings that are three sizes: least, default and greatest."""
Text = Literal[
    "net.core.default_qdisc",
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_congestion_control",
]
"""Settings that are words."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything read at one end: its place, and values by section and name.

    Raises:
        RecordError: a section is damaged.
    """

    place: str
    sections: Mapping[str, Mapping[str, Any]]
    unknown: Mapping[str, str] = field(default_factory=dict)
    """What could not be read → the reason."""
    file: FactsFile = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Read the sections, once."""
        known = {name: self.sections[name] for name in SECTIONS if name in self.sections}
        head = {"format": FORMAT, "place": self.place, "unknown": dict(self.unknown)}
        object.__setattr__(self, "file", read(FactsFile, head | known, "facts"))

    @property
    def host(self) -> of.Host:
        """The machine and its system."""
        return self.file.host

    @property
    def link(self) -> of.Link:
        """The device on the way to the other end, and those under it."""
        return self.file.link

    @property
    def route(self) -> of.Route:
        """The way to the other end."""
        return self.file.route

    @property
    def pcie(self) -> Mapping[str, of.Slot]:
        """Device → its place on the PCI bus."""
        return self.file.pcie

    @property
    def cpu(self) -> of.Cpu:
        """The processors."""
        return self.file.cpu

    @property
    def memory(self) -> of.Memory:
        """Memory, and what control groups leave of it."""
        return self.file.memory

    @property
    def virtualisation(self) -> of.Virtualisation:
        """What the machine runs in."""
        return self.file.virtualisation

    @property
    def qdisc(self) -> Mapping[str, of.Control]:
        """Device → its traffic control."""
        return self.file.qdisc

    @property
    def sockets(self) -> of.SocketSums:
        """Sockets in sum."""
        return self.file.sockets

    @property
    def firewall(self) -> of.Firewall:
        """Connection tracking and the packet filter."""
        return self.file.firewall

    @property
    def time(self) -> of.Time:
        """The kernel's clock."""
        return self.file.time

    @property
    def counters(self) -> Mapping[str, int]:
        """Everything that counts."""
        return self.file.counters

    def number(self, name: Number) -> int | None:
        """A setting of the kernel that is one number; None where it is not known."""
        value = self.file.sysctl.get(name)
        return value if isinstance(value, int) else None

    def sizes(self, name: Sizes) -> list[int] | None:
        """A setting that is three sizes."""
        value = self.file.sysctl.get(name)
        return value if isinstance(value, list) else None

    def text(self, name: Text) -> str | None:
        """A setting that is words."""
        value = self.file.sysctl.get(name)
        return None if value is None else str(value)

    def document(self) -> FactsFile:
        """The facts as one document."""
        sections = {name: dict(values) for name, values in self.sections.items()}
        return write(FactsFile, format=FORMAT, place=self.place, **sections, unknown=dict(self.unknown))

    @classmethod
    def from_document(cls, document: Mapping[str, object]) -> Facts:
        """Facts from a document.

        Raises:
            RecordError: it is of another format, or damaged.
        """
        if document.get("format") != FORMAT:
            raise RecordError(
                f"these are not facts: the format is {document.get('format')!r}, not {FORMAT!r}"
            )
        found = read(FactsFile, document, "facts")
        return cls(
            found.place,
            {name: found[name] for name in SECTIONS if found.get(name) is not None},
            found.unknown,
        )
