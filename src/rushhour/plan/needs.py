"""What a plan needs of the kernel that runs it, as far as a kernel may lack it.

Takes a plan, gives the words that the agent can try one by one (`rushhour-agent able`). Whether it takes the
options of what it has is known only when the plan runs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rushhour.tc.kinds import CONTROLS, kind_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushhour.record.plan_file import PlanEgress, PlanFile

# Actions by the words with which tc begins them, where these are not the action's own name.
_GENERIC = dict.fromkeys(CONTROLS, "gact")
_FILTERS = ("matchall", "u32", "bpf", "basic", "flower", "fw", "flow", "route", "cgroup")
_DEVICE = re.compile(r"^(net\.ipv[46]\.(?:conf|neigh)\.)[^.]+(\..+)$")


@dataclass(frozen=True)
class Needs:
    """What must be there, by kind; `wire` is what a wire on a device's egress takes (`fq` and programs)."""

    qdiscs: frozenset[str] = frozenset()
    filters: frozenset[str] = frozenset()
    actions: frozenset[str] = frozenset()
    devices: frozenset[str] = frozenset()
    congestion_controls: frozenset[str] = frozenset()
    sysctls: frozenset[str] = frozenset()
    wire: bool = False

    def items(self) -> dict[str, tuple[str, str]]:
        """Every need as the agent names it (`qdisc netem`): its kind and its word; without the wire."""
        kinds = {
            "qdisc": self.qdiscs, "filter": self.filters, "action": self.actions, "device": self.devices,
            "congestion control": self.congestion_controls, "sysctl": self.sysctls,
        }  # fmt: skip
        return {f"{kind} {word}": (kind, word) for kind, words in kinds.items() for word in sorted(words)}

    def document(self) -> dict[str, object]:
        """The request of `rushhour-agent able`."""
        names = ("qdiscs", "filters", "actions", "devices", "congestion_controls", "sysctls")
        return {name: sorted(getattr(self, name)) for name in names} | {"wire": self.wire}


FOLLOWING = Needs(qdiscs=frozenset({"clsact"}), filters=frozenset({"bpf"}))
"""What it takes to follow sockets that no flow of the plan names, beside a kernel that traces."""


@dataclass
class _Found:
    qdiscs: set[str] = field(default_factory=set)
    filters: set[str] = field(default_factory=set)
    actions: set[str] = field(default_factory=set)


def needs(plan: PlanFile) -> Needs:
    """What this plan needs."""
    found = _Found()
    for end in plan.places:
        for line in qdisc_lines(end):
            found.qdiscs |= {kind} if (kind := qdisc_kind(line)) else set()
        for line in end.filters:
            _filter(line, found)
    if plan.readings.get("sojourn"):
        found.filters.add("bpf")
        found.qdiscs.add("clsact")
    if plan.ingress:
        found.qdiscs.add("clsact")
    devices = {"bond" if device.bond is not None else "bridge" for device in plan.devices}
    devices |= {"ifb"} if any(arrival.ifb for arrival in plan.ingress) else set()
    algorithms = {cc for flow in plan.flows for cc in (flow.cc, flow.receiver_cc) if cc}
    names = {setting_of(name) for node in plan.nodes for name in node.settings}
    return Needs(
        frozenset(found.qdiscs), frozenset(found.filters), frozenset(found.actions),
        frozenset(devices | {"veth"}), frozenset(algorithms), frozenset(names),
        any(end.wire for end in plan.places),
    )  # fmt: skip


def qdisc_kind(line: str) -> str | None:
    """The kind in a line of tc's words: `root handle 1: tbf rate …` → `tbf`."""
    if line.split()[:1] in (["clsact"], ["ingress"]):
        return line.split(maxsplit=1)[0]
    return kind_of(line)


def qdisc_lines(end: PlanEgress) -> Sequence[str]:
    """The queues of an end without the `fq` that only holds back what a wire delays."""
    return () if end.wire is not None else end.qdiscs


def setting_of(name: str) -> str:
    """A sysctl as any namespace has it: `net.ipv6.conf.r1.hop_limit` → `net.ipv6.conf.default.hop_limit`."""
    found = _DEVICE.match(name)
    return f"{found[1]}default{found[2]}" if found and found[1] else name


def _filter(line: str, found: _Found) -> None:
    words = line.split()
    if words[0] == "class":
        return
    found.filters |= {next((word for word in words if word in _FILTERS), "u32")}
    for place, word in enumerate(words):
        if word == "action" and place + 1 < len(words):
            found.actions.add(_GENERIC.get(words[place + 1], words[place + 1]))
    if "police" in words:
        found.actions.add("police")
