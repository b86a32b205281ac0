"""What the agent measures before the experiment: idle round trips, and trains that tell the rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushhour.plan.context import bottleneck
from rushhour.plan.flows import IP_HEADER, UDP_HEADER
from rushhour.plan.graph import ETHERNET_HEADER

if TYPE_CHECKING:
    from rushhour.plan.layout import Layout
    from rushhour.plan.routes import Step

MAX_PATHS = 32
MAX_TRAINS = 8
PINGS = 5
PING_BYTES = 56
LONGEST_TRAIN = 200  # packets: their dispersion tells the rate to 0.5 % with the timers' 0.75 µs at 1 Gbit/s
FAIREST_TRAIN = 64  # at other disciplines, which drop a long train early or keep flows short
SHORTEST_TRAIN = 4
TRAIN_SECONDS = 2  # at most, so that a slow link is not calibrated for longer than it is used


def calibration(layout: Layout) -> dict[str, Any]:
    """Give the plan's `calibration`: a path for each pair that talks, a train for each bottleneck."""
    pairs = dict.fromkeys((flow.sender, flow.receiver) for flow in layout.flows)
    paths: list[dict[str, Any]] = []
    trains: list[dict[str, Any]] = []
    known: set[Step] = set()
    for sender, receiver in pairs:
        ends = {
            "from": sender,
            "src": layout.addressing.identity[sender],
            "to": receiver,
            "dst": layout.addressing.identity[receiver],
        }
        if len(paths) < MAX_PATHS:
            paths.append(ends | {"pings": PINGS, "size": PING_BYTES})
        steps = layout.steps(sender, receiver)
        narrowest = bottleneck(layout, steps)
        if narrowest is not None and narrowest not in known and len(trains) < MAX_TRAINS:
            known.add(narrowest)
            mtu = layout.mtu(sender, receiver)
            packets = _train_length(layout, steps, mtu + ETHERNET_HEADER)
            trains.append(
                ends | {"packets": packets, "size": mtu - IP_HEADER[layout.scenario.family] - UDP_HEADER}
            )
    return {"paths": paths, "trains": trains}


def _train_length(layout: Layout, steps: list[Step], frame: int) -> int:
    """As many full frames as every queue on the way holds, within the bounds above; at least four."""
    packets = LONGEST_TRAIN
    for stage in (layout.stage(step) for step in steps):
        if stage.role == "queue":
            packets = min(packets, stage.limit.in_packets(frame))
            if (stage.words or "fifo").split()[0] not in ("fifo", "pfifo", "bfifo"):
                packets = min(packets, FAIREST_TRAIN)
        if stage.rate_bps:
            packets = min(packets, TRAIN_SECONDS * stage.rate_bps // (8 * frame))
    return max(SHORTEST_TRAIN, packets)
