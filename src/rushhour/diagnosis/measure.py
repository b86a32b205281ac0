"""The experiments of a diagnosis: small scenarios of two nodes, `a` and `b`, one question each.

Pure: what is known so far → the next scenarios. Two hosts and nothing between them that would be emulated;
the lab puts them onto real machines. `derive` reads what came of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rushhour.causes.thresholds import LOSSES_LIMIT
from rushhour.diagnosis.case import DIRECTIONS, receiver, sender
from rushhour.plan import lower
from rushhour.record.plan_file import planned
from rushhour.spec import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rushhour.diagnosis.measured import Measured
    from rushhour.plan.lower import Lowered
    from rushhour.record.plan_file import PlanFlow

IDLE, SIZES, SINGLE, SEVERAL = "idle", "sizes", "single", "several"
BOTH, UDP, LINE, SHORT = "both", "udp", "line", "short"
FLOWS = 8
"""Flows of `several`: enough that one lost packet holds up an eighth, not the half."""
BELOW = 0.8
"""Part of what TCP reached at which UDP is sent: on the wire, headers included, so that no queue builds."""
BELOW_LINE = 0.9
ABOVE = 1.25
"""By this the line must be faster than what TCP got, to be worth asking at the line's rate."""
TRAIN = 64
"""Packets of a train: at 1 Gbit/s they take 0.8 ms, long against the jitter of a busy machine."""
TRAINS = 3
EVERY_NS = 40_000_000
ROOM = {"rcvbuf": "4MB"}
"""So that a receiver that is late for a moment loses nothing; granted to root beyond net.core.rmem_max."""
SHORT_BYTES = 64 * 1024
SAYS = {
    IDLE: "the idle path",
    SIZES: "the largest packet that crosses",
    SINGLE: "one TCP flow",
    SEVERAL: f"{FLOWS} TCP flows",
    BOTH: "TCP in both directions at once",
    UDP: "UDP at a rate just below",
    LINE: "UDP just below the line's rate",
    SHORT: "a short transfer",
}
HEADERS = {"ipv4": 28, "ipv6": 48}
"""Of IP and UDP, and as long of IP and an echo request."""
USUAL = (576, 1006, 1280, 1380, 1400, 1420, 1436, 1450, 1460, 1472, 1480, 1492, 1500, 4000, 9000)
"""MTUs that links and tunnels have (RFC 1191, section 7.1, and what is common since)."""
_MS = 1_000_000


@dataclass(frozen=True)
class Known:
    """What a scenario depends on; grows from phase to phase."""

    quick: bool
    rtt_ns: int = 0
    mtu: int = 1500
    """Of the path; `mtus` of each end's device."""
    mtus: Mapping[str, int] = field(default_factory=dict)
    family: str = "ipv4"
    rate_bps: Mapping[str, float] | None = None
    """What TCP reached in each direction, payload."""
    echo: tuple[str, ...] = ("a", "b")
    """The ends that may send echo requests (CAP_NET_RAW)."""
    patient: bool = False
    """Whether a handshake was lost before: wait for a repeated one (1 s, then 2 s; RFC 6298, 2.1)."""


@dataclass(frozen=True)
class Phase:
    """One experiment: `name` is of the record's folder, `says` is for the person who waits."""

    name: str
    kind: str
    says: str
    directions: tuple[str, ...]
    scenario: Scenario

    @property
    def seconds(self) -> float:
        """How long the flow lasts."""
        return self.scenario.span.ns * 1e-9

    def lowered(self) -> Lowered:
        """The plan and its context, without the calibration of links that nobody emulates."""
        made = lower(self.scenario, self.scenario.seed)
        flows = [_whole(flow) for flow in made.plan.flows]
        nothing: dict[str, object] = {"paths": [], "trains": []}
        return replace(made, plan=planned(made.plan | {"calibration": nothing, "flows": flows}))


def idle(known: Known) -> Phase | None:
    """Round trips of the idle path; None where no end may ask."""
    span = _ns(known, 300, 1000, trips=4)
    every = 10 if known.quick else 20
    flows = [flow for direction in DIRECTIONS for flow in _ping(known, direction, span, every)]
    return _phase(IDLE, known, DIRECTIONS, flows, span) if flows else None


def sizes(known: Known, at: Iterable[int]) -> Phase | None:
    """Echo requests of these sizes only, to know the largest that crosses to a few bytes."""
    wanted = sorted(at)
    flows = _sized(known, wanted, 0)
    if not flows:
        return None
    made = _phase(SIZES, known, DIRECTIONS, flows, _ns(known, 200, 300, trips=3))
    return replace(made, name=f"{SIZES}-{wanted[0]}")


def _sized(known: Known, sizes: Iterable[int], begin_ns: int) -> list[dict[str, Any]]:
    """Three echo requests of each size from both ends, up to the MTU of each."""
    overhead = HEADERS[known.family]
    flows = []
    for direction in (way for way in DIRECTIONS if sender(way) in known.echo):
        most = known.mtus.get(sender(direction), known.mtu)
        wanted = sorted({size for size in sizes if size <= most} | ({most} if begin_ns else set()))
        flows += [
            _flow(direction, f"size-{size}", kind="ping", packet=f"{size - overhead}B", interval="30ms")
            | {"datagrams": 3, "start": f"{begin_ns + index * _MS}ns"}
            for index, size in enumerate(wanted)
        ]
    return flows


def single(known: Known, direction: str) -> Phase:
    """One TCP flow, echo requests beside it."""
    span = _ns(known, 1000, 4000, trips=20 if known.quick else 40, most_ms=4000 if known.quick else 10_000)
    span += 3000 * _MS if known.patient else 0
    flows = [_flow(direction, "tcp"), *_ping(known, direction, span)]
    return _phase(SINGLE, known, (direction,), flows, span)


def several(known: Known, direction: str) -> Phase:
    """Several TCP flows at once."""
    span = _ns(known, 500, 2000, trips=10 if known.quick else 20, most_ms=2000 if known.quick else 5000)
    flows = [_flow(direction, "tcp", count=FLOWS), *_ping(known, direction, span)]
    return _phase(SEVERAL, known, (direction,), flows, span)


def both(known: Known) -> Phase:
    """One TCP flow each way at once: half duplex, shared links, ACKs behind data."""
    span = _ns(known, 600, 2000, trips=10 if known.quick else 20, most_ms=2000 if known.quick else 5000)
    flows = [_flow(direction, "tcp") for direction in DIRECTIONS]
    return _phase(BOTH, known, DIRECTIONS, flows, span)


def udp(known: Known) -> Phase:
    """Which sizes cross, trains of packets, datagrams just below what TCP reached; one after the other.

    All of this is after TCP: the answer to a packet too large heals what TCP would have suffered from.
    """
    span = _ns(known, 300, 1500, trips=2)
    gap = max(50 * _MS, 2 * known.rtt_ns)
    begin, flows = 100 * _MS + gap, _sized(known, USUAL, _MS)
    for direction in DIRECTIONS:
        flows.append(_train(direction, known, begin))
        begin += EVERY_NS * TRAINS + gap
    for direction in DIRECTIONS:
        wire_bps = BELOW * (known.rate_bps or {}).get(direction, 0)
        if wire_bps < 20_000:
            continue
        size = _datagram(wire_bps, span, known)
        payload_bps = wire_bps * size / (size + HEADERS[known.family] + 14)
        flow = _flow(direction, "udp", kind="udp", rate=f"{int(payload_bps)}bit", packet=f"{size}B", **ROOM)
        flows.append(flow | {"start": f"{begin}ns", "duration": f"{span}ns"})
        begin += span + gap
    return _phase(UDP, known, DIRECTIONS, flows, begin)


def _train(direction: str, known: Known, begin_ns: int) -> dict[str, Any]:
    """Packets that leave at once, several times."""
    size = known.mtu - HEADERS[known.family]
    rate = TRAIN * size * 8 * 10**9 // EVERY_NS
    flow = _flow(direction, "train", kind="udp", rate=f"{rate}bit", packet=f"{size}B", burst=TRAIN, **ROOM)
    return flow | {"start": f"{begin_ns}ns", "datagrams": TRAIN * TRAINS}


def line(known: Known, m: Measured) -> Phase | None:
    """Datagrams just below the rate of the trains, if TCP stayed far below it because of losses."""
    train = m.train
    if train is None or train.rate_bps is None or m.single is None:
        return None
    if train.rate_bps < ABOVE * m.single.steady_bps or m.single.limited("losses", "timeouts") < LOSSES_LIMIT:
        return None
    span = _ns(known, 300, 500, trips=1, most_ms=1000)
    size = known.mtu - HEADERS[known.family]
    rate = int(BELOW_LINE * train.rate_bps * size / known.mtu)
    flow = _flow(m.direction, "udp", kind="udp", rate=f"{rate}bit", packet=f"{size}B", **ROOM)
    flow |= {"duration": f"{span}ns"}
    return _phase(LINE, known, (m.direction,), [flow], span + max(50 * _MS, 2 * known.rtt_ns))


def short(known: Known, direction: str) -> Phase:
    """A short transfer: mostly round trips."""
    flows = [_flow(direction, "tcp", bytes=f"{SHORT_BYTES}B")]
    return _phase(SHORT, known, (direction,), flows, _ns(known, 500, 600, trips=12))


def _datagram(wire_bps: float, span_ns: int, known: Known) -> int:
    """Payload of a datagram: the largest that fits, or less, so that there are some thousand to count."""
    largest = known.mtu - HEADERS[known.family]
    bytes_in_all = wire_bps * span_ns * 1e-9 / 8
    return int(min(largest, max(200, bytes_in_all / 2000)))


def _ns(known: Known, quick_ms: int, normal_ms: int, *, trips: int, most_ms: int = 5000) -> int:
    """How long something lasts: so many ms, or so many round trips if that is longer (up to a limit)."""
    least = (quick_ms if known.quick else normal_ms) * _MS
    return max(least, min(trips * known.rtt_ns, most_ms * _MS))


def _whole(flow: PlanFlow) -> dict[str, object]:
    """Those that look for the largest packet must not be fragmented."""
    return flow | {"whole": True} if flow.name.startswith("size-") else flow


def _flow(direction: str, name: str, **keys: Any) -> dict[str, Any]:
    ends = sender(direction), receiver(direction)
    return {"name": f"{name}-{ends[0]}", "from": ends[0], "to": ends[1]} | keys


def _ping(known: Known, direction: str, span_ns: int, interval_ms: int = 20) -> list[dict[str, Any]]:
    """Echo requests all the time, if the sender may."""
    keys = {"interval": f"{interval_ms}ms", "duration": f"{span_ns}ns"}
    return [_flow(direction, "ping", kind="ping", **keys)] if sender(direction) in known.echo else []


def _phase(
    kind: str, known: Known, directions: tuple[str, ...], flows: list[dict[str, Any]], span_ns: int
) -> Phase:
    name = kind if len(directions) != 1 else f"{kind}-{directions[0].replace('→', '-to-')}"
    says = SAYS[kind] + (f", {directions[0]}" if len(directions) == 1 else "")
    interval = max(1, min(50, span_ns // (100 * _MS)))
    document = {
        "title": f"Diagnosis: {says}",
        "duration": f"{span_ns}ns",
        "sample": f"{interval}ms",
        "family": known.family,
        "readings": {"tcp_probe": False},
        "node": [{"name": "a", "role": "host"}, {"name": "b", "role": "host"}],
        "link": [{"between": ["a", "b"], "mtu": f"{known.mtu}B", "jitter": "0us", "offload": True}],
        "flow": flows,
    }
    return Phase(name, kind, says, directions, Scenario.model_validate(document))
