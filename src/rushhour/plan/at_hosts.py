"""What is done at each machine, as lines for a person: the settings as commands, the flows as comments.

Takes a plan on machines (`onto`), gives lines by machine. The agent does the same without a shell.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rushhour.plan.commands import egress
from rushhour.record.document import read
from rushhour.record.plan_file import PlanEgress
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.plan.onto import Onto
    from rushhour.record.plan_file import PlanFile

_NAMESPACE = re.compile(r"\b(?:ip netns exec HERE |(tc|ip) -n HERE )")


def at_hosts(made: Onto) -> dict[str, list[str]]:
    """Lines by the machine's name, in the order in which they are carried out."""
    found = {}
    for node in made.plan.nodes:
        name = node.name
        lines = [f"sysctl -w {key}='{value}'" for key, value in made.sysctls.get(name, {}).items()]
        for entry in made.plan.egress:
            if entry.node == name:
                lines += _emulated(entry)
        # Offloads of a device are switched off once.
        found[name] = [*dict.fromkeys(lines), *_flows(made.plan, name)]
    return found


def _emulated(entry: PlanEgress) -> Iterator[str]:
    dev, ifb = entry.dev, entry.ifb
    if ifb is not None:
        yield f"ip link add name {ifb} numtxqueues 1 numrxqueues 1 type ifb"
        yield f"ip link set dev {ifb} up"
        yield f"tc qdisc add dev {dev} clsact"
        yield (
            f"tc filter add dev {dev} ingress protocol all prio 2 matchall "
            f"action mirred egress redirect dev {ifb}"
        )
    yield f"ethtool -K {dev} tso off gso off gro off"
    for line in egress(read(PlanEgress, entry | {"node": "HERE", "dev": ifb or dev}, "the plan")):
        yield _NAMESPACE.sub(lambda found: f"{found[1]} " if found[1] else "", line)


def _flows(plan: PlanFile, name: str) -> Iterator[str]:
    for flow in plan.flows:
        kind = flow.kind
        if flow.to == name and kind not in kinds.ECHOES:
            transport = "udp" if kind in kinds.OVER_UDP else "tcp"
            yield f"# flow {flow.name}: listens on {flow.dst} port {flow.dport}/{transport}"
        if flow.from_ == name:
            cc = f" by {flow.cc}" if flow.cc else ""
            port = "" if kind in kinds.ECHOES else f" port {flow.dport}"
            yield f"# flow {flow.name}: {kind}{cc} from {flow.src} to {flow.dst}{port}"
