"""A setup as a scenario: the file that `rushhour run` takes, and what the playground itself runs.

The playground has no way of its own to an experiment: it writes this file and reads it back, so a file that
is exported gives the same records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushhour.errors import Fault, ScenarioError
from rushhour.plan import lower
from rushhour.plan.queues import resolve_buffer
from rushhour.spec.load import parse_scenario
from rushhour.spec.toml import dumps
from rushhour.traffic import kinds
from rushhour.web.play.setup import WHERE, Setup

if TYPE_CHECKING:
    from rushhour.plan.lower import Lowered
    from rushhour.spec import Scenario
    from rushhour.web.play.setup import SetupFlow
    from rushhour.web.settings import Bounds

TITLE = "From the playground"
PING_NS = 100_000_000  # between two echo requests, where nothing else is said
FRAME = 1514  # bytes of a full Ethernet frame, which is what the bound of packets counts in
FILE = "playground.toml"


def toml(setup: Setup) -> str:
    """The scenario as a file."""
    command = f"rushhour run {FILE}" + (f" --kernel {setup.kernel}" if setup.kernel else "")
    return f"# {command}\n{dumps(_document(setup))}"


def scenario(setup: Setup, bounds: Bounds | None = None) -> Scenario:
    """The scenario, within bounds.

    Raises:
        ScenarioError: with every fault, by the setup's keys.
    """
    faults = [] if bounds is None else _beyond(setup, bounds)
    if faults:
        raise ScenarioError(faults)
    return parse_scenario(toml(setup), WHERE)


def lowered(setup: Setup, bounds: Bounds | None = None) -> tuple[Scenario, Lowered]:
    """The scenario and its plan.

    Raises:
        ScenarioError, PlanError: it makes no sense, or is beyond bounds.
    """
    found = scenario(setup, bounds)
    return found, lower(found, found.seed)


def names(setup: Setup) -> list[str]:
    """The names of the flows: given, else by algorithm, with numbers where several are equal."""
    given = [flow.name or flow.cc or flow.kind for flow in setup.flow]
    taken = {flow.name for flow in setup.flow if flow.name}
    found: list[str] = []
    for flow, name in zip(setup.flow, given, strict=True):
        free, number = name, 1
        while not flow.name and (free in found or free in taken):
            number += 1
            free = f"{name}-{number}"
        found.append(free)
    return found


def packets(setup: Setup) -> float:
    """Packets of the whole experiment: full ones that all links may carry, and echo requests with answers."""
    hops = (setup.size or 2) if setup.preset == "chain" else 1
    streams = sum(flow.rate.bps for flow in setup.flow if flow.kind in kinds.UDP_STREAMS and flow.rate)
    full = (hops * setup.rate.bps + streams) * setup.duration.seconds / (8 * FRAME)
    return full + sum(_echoes(flow, setup) for flow in setup.flow if flow.kind in kinds.ECHOES)


def _echoes(flow: SetupFlow, setup: Setup) -> float:
    """Requests and answers of a ping. They leave the host one by one, whatever the link then drops."""
    left = setup.duration.ns - flow.start.ns
    lasts = left if flow.duration is None else min(left, flow.duration.ns)
    interval = PING_NS if flow.interval is None else flow.interval.ns
    return 2 * max(0, lasts) / max(1, interval)


def _document(setup: Setup) -> dict[str, object]:
    seed = {"seed": setup.seed} if setup.seed != 1 else {}
    ecn = {"ecn": True} if setup.ecn else {}
    flows = [_flow(flow, name, setup) for flow, name in zip(setup.flow, names(setup), strict=True)]
    return (
        {"title": TITLE, "duration": str(setup.duration)}
        | seed
        | ecn
        | {"topology": _topology(setup), "flow": flows}
    )


def _topology(setup: Setup) -> dict[str, object]:
    count = {"dumbbell": "pairs", "chain": "hops", "star": "leaves"}[setup.preset]
    size = setup.size or (2 if setup.preset == "chain" else len(setup.flow))
    table: dict[str, object] = {"preset": setup.preset, count: size, "rate": str(setup.rate)}
    if any(flow.rtt for flow in setup.flow) and setup.preset != "chain":
        # Flow k takes pair k, and the pair has the RTT.
        table["rtts"] = [str(setup.flow[k % len(setup.flow)].rtt or setup.rtt) for k in range(size)]
    else:
        table["rtt"] = str(setup.rtt)
    table |= {"buffer": str(setup.buffer), "queue": setup.queue}
    table |= {"jitter": str(setup.jitter)} if setup.jitter is not None else {}
    return table | ({"loss": str(setup.loss)} if setup.loss.p else {})


def _flow(flow: SetupFlow, name: str, setup: Setup) -> dict[str, Any]:
    table: dict[str, Any] = {"name": name} | ({"kind": flow.kind} if flow.kind != "tcp" else {})
    table |= {"cc": flow.cc} if flow.cc else {}
    # DCTCP needs a receiver that echoes marks as it wants them.
    table |= {"receiver_cc": flow.cc} if flow.cc == "dctcp" and setup.ecn else {}
    table |= {"start": str(flow.start)} if flow.start.ns else {}
    keys = ("duration", "rate", "rcvbuf", "interval")
    return table | {key: str(value) for key in keys if (value := getattr(flow, key)) is not None}


def _beyond(setup: Setup, bounds: Bounds) -> list[Fault]:
    """What is more than this server gives to one experiment, and what no experiment can be."""
    faults = []

    def most(key: str, value: Any, limit: Any) -> None:
        if value is not None and value > limit:
            faults.append(Fault(WHERE, None, key, f"{value} is more than this server gives: at most {limit}"))

    most("flow", len(setup.flow), bounds.flows)
    most("duration", setup.duration, bounds.duration)
    most("rate", setup.rate, bounds.rate)
    most("rtt", setup.rtt, bounds.rtt)
    for flow, name in zip(setup.flow, names(setup), strict=True):
        most(f"flow.{name}.rate", flow.rate, bounds.rate)
        most(f"flow.{name}.rtt", flow.rtt, bounds.rtt)
        if flow.start >= setup.duration:
            faults.append(
                Fault(WHERE, None, f"flow.{name}.start", f"{flow.start} is after the end at {setup.duration}")
            )
        if flow.rtt is not None and setup.preset == "chain":
            faults.append(Fault(WHERE, None, f"flow.{name}.rtt", "flows of a chain have no RTT of their own"))
        most(f"flow.{name}.rcvbuf", flow.rcvbuf, bounds.buffer)
    if setup.rate.bps < SLOWEST:
        faults.append(
            Fault(
                WHERE,
                None,
                "rate",
                f"{setup.rate} is too slow to see anything: at least {SLOWEST // 1000}kbit",
            )
        )
    return faults or [*_too_much(setup, bounds)]


SLOWEST = 8000
"""Least rate: below, a full packet takes more than a second."""


def _too_much(setup: Setup, bounds: Bounds) -> list[Fault]:
    longest = max([setup.rtt.ns, *(flow.rtt.ns for flow in setup.flow if flow.rtt)])
    limit = resolve_buffer(setup.buffer, setup.rate.bps, longest, FRAME)
    faults = []
    if limit.in_bytes(FRAME) > bounds.buffer.bytes:
        said = f"{setup.buffer} is {limit.in_bytes(FRAME) / 1e6:.3g} MB here: at most {bounds.buffer}"
        faults.append(Fault(WHERE, None, "buffer", said))
    count = packets(setup)
    if count > bounds.packets:
        said = f"about {count:,.0f} packets are too many for this server: at most {bounds.packets:,}"
        echoes = sum(_echoes(flow, setup) for flow in setup.flow if flow.kind in kinds.ECHOES)
        hint = "ping less often" if echoes > count / 2 else "shorten it, or lower the rate"
        faults.append(Fault(WHERE, None, "duration", said, hint))
    return faults
