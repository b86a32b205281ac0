"""What the agent reports of a run: `result.json`, typed (docs/record-format.md)."""

from __future__ import annotations

from collections.abc import Mapping

from rushhour.record.document import EMPTY, Document, Exact


class FlowResult(Document):
    """What became of a flow; None where the agent cannot know."""

    id: Exact
    connected_ns: Exact | None = None
    sender_done_ns: Exact | None = None
    receiver_done_ns: Exact | None = None
    bytes_sent: Exact | None = None
    bytes_received: Exact | None = None
    packets_sent: Exact | None = None
    packets_received: Exact | None = None
    error: object = None


class KernelResult(Document):
    """What the kernel that ran calls itself, and the congestion controls that it offers."""

    release: str = ""
    version: str = ""
    congestion_controls: tuple[str, ...] = ()


class PingResult(Document):
    """The answers to the pings of a path of the plan, by its index; -1: none came."""

    path: int
    rtt_ns: tuple[float, ...]

    @property
    def answers(self) -> list[int]:
        """The round trips of those that were answered, in ns."""
        return [int(rtt) for rtt in self.rtt_ns if rtt >= 0]


class TrainResult(Document):
    """When the packets of a train of the plan, by its index, arrived."""

    train: int
    sent: int = 0
    arrivals_ns: tuple[float, ...]


class QdiscResult(Document):
    """A queue that stands at an end."""

    end: int
    kind: str
    options: str = ""
    handle: int = 0
    parent: int = 0


class CalibrationResult(Document):
    """What was measured before the experiment."""

    pings: tuple[PingResult, ...] = ()
    trains: tuple[TrainResult, ...] = ()
    qdiscs: tuple[QdiscResult, ...] = ()


class InputResult(Document):
    """How many packets arrived for a node with `drop_input`, and how many of them were dropped."""

    node: str
    packets: int
    dropped: int


class OtherProcess(Document):
    """A process that took a share of a CPU."""

    name: str
    cpu: int
    share: float


class Lateness(Document):
    """How late 99 of 100 frames were at most; ns."""

    p99: float


class LineResult(Document):
    """One direction that a line in user space carried: its end, and the frames that it lost unasked."""

    end: int
    packets: int = 0
    lost: int = 0
    missed: int
    refused: int
    lateness_ns: Lateness


class MachineResult(Document):
    """What else a machine did meanwhile; shares of its CPUs, lateness in ns."""

    sampling_error_ns: Mapping[str, float] = EMPTY
    cpus: int | None = None
    cpu_share: Mapping[str, float] = EMPTY
    steal: float = 0
    others: tuple[OtherProcess, ...] = ()
    line: tuple[LineResult, ...] = ()


class LoadResult(Document):
    """A load, and what it took."""

    name: str = ""
    node: str = ""
    kind: str = ""
    report: Mapping[str, object] = EMPTY


class ResultFile(Document):
    """All that the agent reports; `counters` rose by node and name."""

    flows: tuple[FlowResult, ...] = ()
    kernel: KernelResult = KernelResult()
    calibration: CalibrationResult = CalibrationResult()
    counters: Mapping[str, Mapping[str, int]] = EMPTY
    inputs: tuple[InputResult, ...] = ()
    lost_events: Mapping[str, int] = EMPTY
    start_clock_ns: int = 0
    warnings: tuple[str, ...] = ()
    machine: Mapping[str, MachineResult] = EMPTY
    loads: tuple[LoadResult, ...] = ()
