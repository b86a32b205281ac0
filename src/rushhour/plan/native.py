"""A plan made fit for a machine in real time: what a virtual kernel does exactly, a machine does in its way.

Pure: takes a plan and what is known of the machine, gives the plan that is carried out there and kept in its
record.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rushhour.plan.needs import setting_of
from rushhour.record.plan_file import planned

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rushhour.record.plan_file import PlanEgress, PlanFile

LATE_NS, LEAST_NS = 1_000_000, 200_000
FRAMES, FRAME = 16, 1514
_SHAPER = re.compile(r"\b(?:tbf|htb) .*?\brate (?P<rate>\d+)bit\b")


def by_line(plan: PlanFile, cpus: Sequence[int] = ()) -> PlanFile:
    """The same network, its wires carried by a line in user space.

    A device with a wire then has no queue: the `fq` that would hold its packets is not there.

    Args:
        plan: What is to be carried out.
        cpus: Where the line's thread runs; none: wherever the scheduler likes.
    """
    links = [
        link | {"ends": [end | {"qdiscs": []} if end.wire is not None else end for end in link.ends]}
        for link in plan.links
    ]
    return planned(plan | {"links": links, "line": {"cpus": list(cpus)}})


def wider(plan: PlanFile) -> PlanFile:
    """The plan with buckets that hold enough for the timers of a real machine.

    A bucket that holds one frame loses the tokens of the time by which its shaper's timer is late. In virtual
    time that is below a microsecond; here it is tens to hundreds. So it holds what the link carries in
    `LATE_NS`, at most `FRAMES` frames where these last `LEAST_NS`. The wire behind it sends them one
    after the other; where a link does not serialise, an idle one lets that much pass at once.
    """
    links = [link | {"ends": [_wider(end) for end in link.ends]} for link in plan.links]
    changed: dict[str, object] = {**plan, "links": links}
    if plan.ingress:
        changed["ingress"] = [_wider(arrival) for arrival in plan.ingress]
    if plan.changes:
        changed["changes"] = [
            change | {"lines": [_with_bucket(line) for line in change.lines]} if change.lines else change
            for change in plan.changes
        ]
    return planned(changed)


def _wider(end: PlanEgress) -> dict[str, object]:
    changed: dict[str, object] = dict(end)
    for name, lines in (("qdiscs", end.qdiscs), ("filters", end.filters)):
        if lines:
            changed[name] = [_with_bucket(line) for line in lines]
    if end.wire is not None and end.wire.serial is not None:
        serial = end.wire.serial
        ahead = _bucket(serial.ahead_bytes, str(serial.rate_bps))
        changed["wire"] = end.wire | {"serial": serial | {"ahead_bytes": ahead}}
    return changed


def _with_bucket(line: str) -> str:
    found = _SHAPER.search(line)
    if found is None or "police" in line:
        return line
    # htb's classes may borrow up to their ceiling, which the second bucket is for.
    rates = {"burst": found["rate"], "cburst": _word(line, "ceil") or found["rate"]}
    for key, rate in rates.items():
        planned = re.search(rf"\b{key} (\d+)b\b", line)
        if planned is not None:
            line = (
                line[: planned.start()] + f"{key} {_bucket(int(planned[1]), rate)}b" + line[planned.end() :]
            )
    return line


def _bucket(planned: int, rate: str) -> int:
    per_ns = int(rate) / 8e9
    room = max(min(per_ns * LATE_NS, FRAMES * FRAME), per_ns * LEAST_NS)
    return planned + round(room)


def _word(line: str, key: str) -> str | None:
    found = re.search(rf"\b{key} (\d+)bit\b", line)
    return found[1] if found else None


def without(plan: PlanFile, settings: Mapping[str, str]) -> PlanFile:
    """The plan without the sysctls that the whole machine has at the same value already.

    Args:
        plan: What is to be carried out.
        settings: Their names and values.
    """
    nodes = [
        node
        | {
            "sysctl": [
                [name, value]
                for name, value, *_ in node.sysctl
                if settings.get(setting_of(name)) != " ".join(value.split())
            ]
        }
        for node in plan.nodes
    ]
    return planned(plan | {"nodes": nodes})


def with_path(plan: PlanFile, path: str) -> PlanFile:
    """The plan whose programs are looked for in these folders, as one who types their commands has them."""
    if not plan.programs:
        return plan
    return planned(
        plan
        | {
            "programs": [
                program | {"environment": {"PATH": path, **program.environment}} for program in plan.programs
            ]
        }
    )


def unfollowed(plan: PlanFile) -> PlanFile:
    """The plan without sockets that no flow of it names."""
    return planned({key: value for key, value in plan.items() if key != "found"})


def pinned(plan: PlanFile, cpus: Mapping[str, Sequence[int]]) -> PlanFile:
    """The plan with the CPUs of its nodes."""
    return planned(plan | {"cpus": {name: list(some) for name, some in cpus.items()}}) if cpus else plan
