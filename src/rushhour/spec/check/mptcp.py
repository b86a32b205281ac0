"""Checks of flows over several paths: the links that they name, and what flows of one host share."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rushhour.spec.check.problem import Path, Problem
from rushhour.spec.graph import conversations
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
    paths = (*(flow.paths or ()), *(flow.announced or ()))
    if len(paths) < 2:
        hint = 'paths = ["wifi", "lte"]: names of links of its sender, the first where it begins'
        yield Problem((*here, "paths"), "an MPTCP flow needs two paths at least", hint)
    elif not flow.paths:
        hint = 'paths = ["wifi"]: the link of its sender by which it begins'
        yield Problem((*here, "paths"), "it has no path by which it begins", hint)
    if len(paths) > MOST_PATHS:
        yield Problem((*here, "paths"), f"{len(paths)} paths; the kernel opens {MOST_PATHS} at most")
    if twice := next((name for name, times in Counter(paths).items() if times > 1), None):
        key = "announced" if twice in (flow.announced or ()) else "paths"
        yield Problem((*here, key), f'"{twice}" is there twice', "each path has a link of its own")
    for name in flow.backup or ():
        if name not in paths:
            yield Problem(
                (*here, "backup"), f'"{name}" is none of its paths', f"paths: {', '.join(paths) or 'none'}"
            )
    if paths and set(paths) <= set(flow.backup or ()):
        yield Problem((*here, "backup"), "every path is a backup: nothing is left to back up")


def check_hosts(scenario: Scenario) -> Iterator[Problem]:
    """Check the paths of all flows on the graph: endpoints are a host's, so all its connections have them."""
    between = {link.label: link.between for link in scenario.link}
    first: dict[tuple[str, str], tuple[str, frozenset[str], frozenset[str]]] = {}
    judged: set[int] = set()
    for talk in conversations(scenario):
        flow = talk.flow
        if flow.kind not in kinds.MPTCP_STREAMS or talk.position in judged:
            continue
        for key, host, named in (
            ("paths", talk.sender, flow.paths),
            ("announced", talk.receiver, flow.announced),
        ):
            if host is None:
                continue
            links, backup = frozenset(named or ()), frozenset(named or ()) & frozenset(flow.backup or ())
            own = [label for label, ends in between.items() if host in ends]
            name, *same = first.setdefault((key, host), (talk.name, links, backup))
            problem = _not_its(host, named, own) or (
                _unlike(key, host, name) if same != [links, backup] else None
            )
            if problem is not None:
                judged.add(talk.position)
                yield Problem(("flow", talk.position, key), *problem)
                break


def _not_its(host: str, named: Iterable[str] | None, own: list[str]) -> tuple[str, str] | None:
    odd = next((name for name in named or () if name not in own), None)
    return None if odd is None else (f'no link of {host} is called "{odd}"', f"its links: {', '.join(own)}")


def _unlike(key: str, host: str, name: str) -> tuple[str, str]:
    what, does, alike, more = {
        "paths": (
            "paths",
            "sends",
            "opens subflows for all connections of a host alike",
            "paths and backups (the order may differ), or send from",
        ),
        "announced": (
            "links",
            "receives",
            "announces a host's addresses to all its peers alike",
            "links and backups, or send to",
        ),
    }[key]
    return (
        f'other {what} than those of flow "{name}", which {host} {does}, too',
        f"the kernel {alike}: name the same {more} another host",
    )
