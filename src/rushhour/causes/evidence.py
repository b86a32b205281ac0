"""What is known of one TCP flow, whoever measured it, and what a rule says of it.

A record supplies it (`rushhour.explain.evidence`), and so do the measurements between two hosts
(`rushhour.diagnosis.flow`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

OPTION_SACK, OPTION_WSCALE = 2, 4  # TCPI_OPT_* of <linux/tcp.h>
REFUSED = tuple(f"TcpExt.{name}" for name in ("RcvPruned", "OfoPruned", "TCPRcvQDrop", "TCPBacklogDrop"))
"""Counters of data that arrived in order or not, and had no room (net/ipv4/tcp_input.c, tcp_ipv4.c)."""
DELAY_BASED = frozenset({"vegas", "nv", "lp", "cdg", "westwood", "yeah", "veno", "illinois"})
"""Algorithms that slow down, or give way, on delay (net/ipv4/tcp_*.c)."""


class Evidence(Protocol):
    """One TCP flow. Sizes in bytes, rates in bit/s; None: not known."""

    @property
    def sender(self) -> str:
        """The host that sends, by the name that commands and settings have for it."""

    @property
    def receiver(self) -> str:
        """The host that receives, likewise."""

    @property
    def cc(self) -> str:
        """The sender's congestion control."""

    @property
    def bdp(self) -> float | None:
        """What is in flight when the path is just full."""

    @property
    def window(self) -> float | None:
        """Greatest window of the receiver."""

    @property
    def inflight(self) -> float | None:
        """Most data in flight."""

    @property
    def rcvbuf(self) -> float | None:
        """Receive buffer as the kernel counts it."""

    @property
    def sndbuf(self) -> float | None:
        """Send buffer, likewise."""

    @property
    def options(self) -> int | None:
        """TCPI_OPT_* that both ends agreed on."""

    @property
    def marked(self) -> int:
        """Segments that the sender took for marked (ECN)."""

    @property
    def retransmits(self) -> int:
        """Segments sent again."""

    @property
    def syns(self) -> int:
        """SYNs sent again."""

    @property
    def damaged(self) -> int:
        """Packets that came to the receiver's host with a wrong checksum."""

    @property
    def refused(self) -> int:
        """How often the receiver's host threw data away that had arrived, for want of memory (REFUSED)."""

    def pressures(self, host: str) -> int:
        """How often the memory of all TCP sockets of a host ran short (TCPMemoryPressures)."""

    @property
    def acks_waited(self) -> bool:
        """Whether its ACKs waited so long in a queue that the round trip was not that of the idle path."""

    @property
    def asked(self) -> Mapping[str, float]:
        """What the program set of its socket: rcvbuf, sndbuf, pacing_bps."""

    def limited(self, *limits: str) -> float:
        """Share of its time in which these limits held together."""

    def called(self, host: str) -> str:
        """How a sentence calls a host."""

    def program(self, host: str) -> str:
        """How a sentence about the program on a host begins."""

    def setting(self, host: str, name: str) -> object:
        """A sysctl of a host; None where it is not known."""

    def shown(self, key: str, host: str = "") -> Shown | None:
        """What shows that a cause of the table held the flow, at this host if it is one of a host.

        None where nothing shows it. Each source has its own means: a record has counted what every queue,
        policer and wire dropped and how long packets waited; between two hosts datagrams and trains tell, and
        only hosts have processors. Which source shows which cause stands in the table (`Cause.shown_by`).
        """


@dataclass(frozen=True, slots=True)
class Shown:
    """What shows a cause.

    Attributes:
        words: What the cause's sentence has in braces, besides `held`.
        law: The inequality that holds, in numbers; empty where the sentence says all.
        before: What is said before the sentence of the cause, `after`: behind it.
        host: The host that has to act; empty: the sender.
        queue: The queue that it is about; `discipline`: its queue discipline, in tc's words.
        wait_s: The median wait in that queue, beside an idle round trip of `idle_s`.
        rate_bps: What a policer lets through, of which `taken_bps` goes to others and `flows` share the rest;
            what a full path carries.
        lost: Share of the packets that chance took.
        extent: By how many places packets were overtaken; None where that is not known.
        dropped: Whether a queue dropped what was lost.
        deaf: The streams that fill the queue and answer neither losses nor marks, by name; empty: none does.
        needless: Whether nothing was lost, and what was sent again had only been slow.
        fills: Whether it explains a path that counts as full, too.
    """

    words: Mapping[str, str] = field(default_factory=dict)
    law: str = ""
    before: str = ""
    after: str = ""
    host: str = ""
    queue: str = ""
    discipline: str = ""
    wait_s: float = 0.0
    idle_s: float = 0.0
    rate_bps: float = 0.0
    taken_bps: float = 0.0
    flows: int = 1
    lost: float = 0.0
    extent: int | None = None
    dropped: bool = False
    deaf: str = ""
    needless: bool = False
    fills: bool = False


@dataclass(frozen=True, slots=True)
class Setting:
    """A sysctl that mends something."""

    host: str
    name: str
    value: str

    @property
    def command(self) -> str:
        """What a person types."""
        value = f"'{self.value}'" if " " in self.value else self.value
        return f"sysctl -w {self.name}={value}"


@dataclass(frozen=True, slots=True)
class Cure:
    """What would help: advice, an imperative, and what is set for it.

    Attributes:
        advice: In words.
        settings: Sysctls.
        socket: Options of the flow's socket: `rcvbuf`, `sndbuf` (`1900000B`), `pacing` (`9500000bit`), `cc`.
        queue: The sender's queue discipline, in tc's words, for whoever cannot change the socket.
        look: What shows more where nothing is to be set: a command on the host that has to act, with `{dev}`
            for its device.
    """

    advice: str
    settings: tuple[Setting, ...] = ()
    socket: Mapping[str, str] = field(default_factory=dict)
    queue: str = ""
    look: str = ""


@dataclass(frozen=True, slots=True)
class Named:
    """A cause that a rule names.

    Attributes:
        key: The cause, a key of the table.
        where: The host that has to act.
        says: What is said of it.
        cure: What would help; None where nothing is advised.
        law: What shows it, in numbers, where the share of the time and the path do not.
        queue: The queue that it is about; empty: none.
        share: The share of the time in which it held, where that is not the share of the limit.
    """

    key: str
    where: str
    says: str
    cure: Cure | None = None
    law: str = ""
    queue: str = ""
    share: float | None = None
