"""Which CPUs a machine gives to senders, receivers and the routers between them.

Takes the words of `--pin`, a plan and the CPUs that there are; gives the CPUs of each node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rushhour.record.plan_file import PlanFile

NONE = "none"
_HINT = "for example --pin s1=0 --pin r1=1; --pin none leaves all to the scheduler"


def parse(words: Sequence[str]) -> dict[str, list[int]] | None:
    """What was asked for: CPUs by node; None for `none`, nothing where nothing was.

    Raises:
        UsageError: a word makes no sense.
    """
    if NONE in words:
        if len(words) > 1:
            raise UsageError("--pin none beside other --pin words", hint=_HINT)
        return None
    pins: dict[str, list[int]] = {}
    for word in (part for given in words for part in given.split(",")):
        name, _, cpu = word.partition("=")
        if not name or not cpu.isdigit():
            raise UsageError(f"--pin {word!r} is no NODE=CPU", hint=_HINT)
        pins.setdefault(name, []).append(int(cpu))
    return pins


def chosen(
    asked: Mapping[str, Sequence[int]] | None, plan: PlanFile, cpus: Sequence[int]
) -> dict[str, list[int]]:
    """The CPUs of each node of a plan.

    What is not asked for is chosen where there are three CPUs or more: the first for those that send, the
    second for those that receive, the others for what lies between. With fewer it is left to the scheduler:
    pinned, one of the two would wait while the other CPU is idle.

    Raises:
        UsageError: a node that the plan does not have, or a CPU that this process may not use.
    """
    if asked is None:
        return {}
    names = [node.name for node in plan.nodes]
    for name, some in asked.items():
        if name not in names:
            raise UsageError(
                f"--pin {name}=…: there is no node {name!r}", hint=f"there are: {', '.join(names)}"
            )
        for cpu in some:
            if cpu not in cpus:
                there = ", ".join(str(one) for one in cpus)
                raise UsageError(f"--pin {name}={cpu}: this machine has no such CPU", hint=f"it has: {there}")
    taken = {name: list(some) for name, some in asked.items()}
    if asked or len(cpus) < 3:
        return taken
    senders = {flow.from_ for flow in plan.flows}
    receivers = {flow.to for flow in plan.flows}
    for name in names:
        between = name not in senders | receivers
        taken[name] = list(cpus[2:]) if between else [cpus[0] if name in senders else cpus[1]]
    return taken


def routers(pins: Mapping[str, Sequence[int]], plan: PlanFile) -> list[int]:
    """The CPUs of the nodes between senders and receivers, where relays run."""
    ends = {end for flow in plan.flows for end in (flow.from_, flow.to)}
    return sorted({cpu for name, some in pins.items() if name not in ends for cpu in some})
