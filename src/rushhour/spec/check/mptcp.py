"""Checks of flows over several paths: the links that they name, and what flows of one sender share."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rushhour.spec.check.problem import Path, Problem
from rushhour.spec.graph import conversations
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.spec.scenario import Scenario
    from rushhour.spec.workload import Flow

MOST_PATHS = 8
"""MPTCP_PM_ADDR_MAX of `net/mptcp/protocol.h`: so many subflows may a connection have beside the first."""


def check_mptcp(scenario: Scenario, flow: Flow, here: Path) -> Iterator[Problem]:
    """Check the paths of one flow by themselves."""
    if flow.kind not in kinds.MPTCP_STREAMS:
        return
    if scenario.topology is not None:
        yield Problem(
            (*here, "kind"),
            "a host of a preset has one link, and an MPTCP connection goes over several",
            "draw the network with [[link]]: a host with two links, to two routers",
        )
        return
    paths = flow.paths or ()
    if len(paths) < 2:
        hint = 'paths = ["wifi", "lte"]: names of links of its sender, the first where it begins'
        yield Problem((*here, "paths"), "an MPTCP flow needs two paths at least", hint)
    if len(paths) > MOST_PATHS:
        yield Problem((*here, "paths"), f"{len(paths)} paths; the kernel opens {MOST_PATHS} at most")
    if twice := next((name for name, times in Counter(paths).items() if times > 1), None):
        yield Problem((*here, "paths"), f'"{twice}" is there twice', "each path leaves by a link of its own")
    for name in flow.backup or ():
        if name not in paths:
            yield Problem(
                (*here, "backup"), f'"{name}" is none of its paths', f"paths: {', '.join(paths) or 'none'}"
            )
    if paths and set(paths) <= set(flow.backup or ()):
        yield Problem((*here, "backup"), "every path is a backup: nothing is left to back up")


def check_senders(scenario: Scenario) -> Iterator[Problem]:
    """Check the paths of all flows on the graph: endpoints are a host's, so all its connections have them."""
    between = {link.label: link.between for link in scenario.link}
    first: dict[str, tuple[str, frozenset[str], frozenset[str]]] = {}
    judged: set[int] = set()
    for talk in conversations(scenario):
        flow, where = talk.flow, ("flow", talk.position, "paths")
        if flow.kind not in kinds.MPTCP_STREAMS or talk.sender is None or talk.position in judged:
            continue
        own = [label for label, ends in between.items() if talk.sender in ends]
        if odd := next((name for name in flow.paths or () if name not in own), None):
            judged.add(talk.position)
            links = ", ".join(own)
            yield Problem(where, f'no link of {talk.sender} is called "{odd}"', f"its links: {links}")
            continue
        paths, backup = frozenset(flow.paths or ()), frozenset(flow.backup or ())
        name, *same = first.setdefault(talk.sender, (talk.name, paths, backup))
        if same != [paths, backup]:
            judged.add(talk.position)
            yield Problem(
                where,
                f'other paths than those of flow "{name}", which {talk.sender} sends, too',
                "the kernel opens subflows for all connections of a host alike: name the same paths and "
                "backups (the order may differ), or send from another host",
            )
