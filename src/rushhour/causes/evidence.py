"""What is known of one TCP flow, whoever measured it, and what a rule says of it.

A record supplies it (`rushhour.explain.evidence`), and so do the measurements between two hosts
(`rushhour.diagnosis.flow`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

OPTION_SACK, OPTION_WSCALE = 2, 4  # TCPI_OPT_* of <linux/tcp.h>
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
        """Segments that were marked (ECN)."""

    @property
    def retransmits(self) -> int:
        """Segments sent again."""

    @property
    def damaged(self) -> int:
        """Packets that came to the receiver's host with a wrong checksum."""

    @property
    def asked(self) -> Mapping[str, float]:
        """What the program set of its socket: rcvbuf, sndbuf, pacing_bps."""

    def called(self, host: str) -> str:
        """How a sentence calls a host."""

    def program(self, host: str) -> str:
        """How a sentence about the program on a host begins."""

    def setting(self, host: str, name: str) -> Any:
        """A sysctl of a host; None where it is not known."""

    def shown(self, key: str) -> Shown | None:
        """What shows that losses have this origin; None where nothing does.

        An origin is a cause of the table. Each source has its own means: a record has counted what every
        queue, policer and wire dropped, between two hosts datagrams and trains tell.
        """


@dataclass(frozen=True, slots=True)
class Shown:
    """What shows where losses come from.

    Attributes:
        words: What the cause's sentence has in braces, besides `held`.
        law: The inequality that holds, in numbers; empty where the sentence says all.
        rate_bps: What a policer lets through, of which `taken_bps` goes to others and `flows` share the rest.
        lost: Share of the packets that chance took.
        extent: By how many places packets were overtaken; None where that is not known.
    """

    words: Mapping[str, str] = field(default_factory=dict)
    law: str = ""
    rate_bps: float = 0.0
    taken_bps: float = 0.0
    flows: int = 1
    lost: float = 0.0
    extent: int | None = None


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
    """

    advice: str
    settings: tuple[Setting, ...] = ()
    socket: Mapping[str, str] = field(default_factory=dict)
    queue: str = ""


@dataclass(frozen=True, slots=True)
class Named:
    """A cause that a rule names: its key, the host that has to act, what is said of it, what would help.

    `law` is what shows it, in numbers, where the share of the time and the path do not.
    """

    key: str
    where: str
    says: str
    cure: Cure | None = None
    law: str = ""
