"""The single flow of a direction as evidence: what two hosts and the measurements between them tell of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rushhour.diagnosis import origins
from rushhour.diagnosis.possible import bdp, pressures, refused, wrong_checksums

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.causes.evidence import Shown
    from rushhour.diagnosis.case import Case
    from rushhour.diagnosis.measured import Measured, Tcp

_NOTHING: Mapping[str, float] = {}


@dataclass(frozen=True, slots=True)
class MeasuredFlow:
    """The single TCP flow of a direction; `rushhour.causes.evidence.Evidence`.

    `case` is None where only the measurements are known; hosts are then called `a` and `b`.
    """

    m: Measured
    tcp: Tcp
    case: Case | None = None

    @property
    def sender(self) -> str:
        """The end that sends."""
        return self.m.sender

    @property
    def receiver(self) -> str:
        """The end that receives."""
        return self.m.receiver

    @property
    def cc(self) -> str:
        """The sender's congestion control."""
        return self.tcp.cc

    @property
    def bdp(self) -> float:
        """What is in flight when the path is just full; 0 where that is not known."""
        return bdp(self.m)

    @property
    def window(self) -> float | None:
        """Greatest window of the receiver."""
        return self.tcp.window or self.tcp.inflight

    @property
    def inflight(self) -> float:
        """Data in flight when the flow had begun."""
        return max(1.0, self.tcp.steady_bps * (self.m.idle_rtt_ns or 0) / 8e9)

    @property
    def rcvbuf(self) -> float | None:
        """Receive buffer as the kernel counts it."""
        return self.tcp.rcvbuf

    @property
    def sndbuf(self) -> float:
        """Send buffer, likewise; where it is not known all of it is taken to be in flight."""
        return self.tcp.sndbuf or self.inflight

    @property
    def options(self) -> int | None:
        """TCPI_OPT_* that both ends agreed on."""
        return self.tcp.options

    @property
    def marked(self) -> int:
        """Segments that the sender took for marked (ECN)."""
        return self.tcp.marked

    @property
    def retransmits(self) -> int:
        """Segments sent again."""
        return self.tcp.retransmits

    @property
    def damaged(self) -> int:
        """Packets that came to the receiver with a wrong checksum."""
        return wrong_checksums(self.m)

    @property
    def refused(self) -> int:
        """How often the receiver threw data away that had arrived, for want of memory."""
        return refused(self.m)

    def pressures(self, host: str) -> int:
        """How often the memory of all TCP sockets of an end ran short."""
        return pressures(self.m, host)

    @property
    def asked(self) -> Mapping[str, float]:
        """Nothing: our own programs leave their sockets to the kernel."""
        return _NOTHING

    @property
    def syns(self) -> int:
        """None: a connection that is hard to open is told of by other measurements."""
        return 0

    @property
    def acks_waited(self) -> bool:
        """Nothing tells between two hosts in which direction a round trip waited."""
        return False

    def limited(self, *limits: str) -> float:
        """Share of its time in which these limits held together."""
        return self.tcp.limited(*limits)

    def quota(self, host: str) -> float | None:
        """Processors' worth of time that control groups leave programs at an end; None: all, or not known."""
        return None if self.case is None else self.case.facts(host).memory.cgroup.cpus

    def shown(self, key: str, host: str = "") -> Shown | None:
        """What the measurements show of a cause, at this end if it is one of an end."""
        found = origins.shown(self, key, host)
        sender = {"host": self.called(self.sender)}
        return None if found is None else replace(found, words={**sender, **found.words})

    def called(self, host: str) -> str:
        """An end as a sentence calls it: `a (alice)`."""
        return host if self.case is None else self.case.called(host)

    def program(self, host: str) -> str:
        """Our own sender or reader."""
        return f"Our own {'sender' if host == self.sender else 'reader'} on {self.called(host)}"

    def setting(self, host: str, name: str) -> object:
        """A sysctl of an end; None where it is not known."""
        return None if self.case is None else self.case.facts(host).file.sysctl.get(name)
