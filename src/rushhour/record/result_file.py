"""What the agent reports of a run: `result.json`, typed (docs/record-format.md)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rushhour.record.document import EMPTY, Document, Exact


class FlowOutcome(Document):
    """What became of a flow; None where the agent cannot know."""

    connected_ns: Exact | None = None
    sender_done_ns: Exact | None = None
    receiver_done_ns: Exact | None = None
    bytes_sent: Exact | None = None
    bytes_received: Exact | None = None
    packets_sent: Exact | None = None
    packets_received: Exact | None = None
    zerocopy_sends: Exact | None = None
    zerocopy_copied: Exact | None = None
    zerocopy_refused: Exact | None = None
    sends_refused: Exact | None = None
    reads: Exact | None = None
    corrupted_bytes: Exact | None = None
    first_corrupted: Exact | None = None
    classes: Mapping[str, int] = EMPTY
    error: object = None


class FlowResult(FlowOutcome):
    """What became of a flow of the plan."""

    id: Exact


class FoundFlow(FlowOutcome):
    """One direction of a conversation that no flow of the plan names, from `node` to `peer`.

    `back`: it comes from the end that was connected to. `pid`: the process that connected, where the kernel
    tells. Times in ns from the start of the experiment, sizes in bytes of payload.
    """

    flow: Exact
    kind: str
    node: str
    peer: str
    src: str = ""
    sport: int = 0
    dst: str = ""
    dport: int = 0
    back: bool = False
    pid: int | None = None
    first_ns: Exact
    last_ns: Exact


class FoundResult(Document):
    """What was found beside the plan's flows: what was followed, and how much was not.

    `beyond`: conversations that were more than the most that are followed; `local`: connections between two
    sockets of one node.
    """

    flows: tuple[FoundFlow, ...] = ()
    beyond: int = 0
    local: int = 0


class KernelResult(Document):
    """What the kernel that ran calls itself, and the congestion controls that it offers."""

    release: str = ""
    version: str = ""
    congestion_controls: tuple[str, ...] = ()

    def before(self, major: int, minor: int) -> bool:
        """Whether it is older than a release; not, if it does not say which it is."""
        found = re.match(r"(\d+)\.(\d+)", self.release)
        return found is not None and (int(found[1]), int(found[2])) < (major, minor)


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


class ProgramResult(Document):
    """How a program came out; `error` says why it did not begin, or did not end as it had to."""

    id: Exact
    name: str = ""
    node: str = ""
    started_ns: Exact | None = None
    ready_ns: Exact | None = None
    ended_ns: Exact | None = None
    exit: int | None = None
    signal: int | None = None
    stopped: bool = False
    lines: int = 0
    bytes: Exact = Exact(0)
    dropped_bytes: Exact = Exact(0)
    error: str | None = None


class ResultFile(Document):
    """All that the agent reports; `counters` rose by node and name."""

    flows: tuple[FlowResult, ...] = ()
    kernel: KernelResult = KernelResult()
    calibration: CalibrationResult = CalibrationResult()
    counters: Mapping[str, Mapping[str, int]] = EMPTY
    found: FoundResult | None = None
    inputs: tuple[InputResult, ...] = ()
    lost_events: Mapping[str, int] = EMPTY
    start_clock_ns: int = 0
    warnings: tuple[str, ...] = ()
    machine: Mapping[str, MachineResult] = EMPTY
    loads: tuple[LoadResult, ...] = ()
    programs: tuple[ProgramResult, ...] = ()
    ended_ns: Exact | None = None
