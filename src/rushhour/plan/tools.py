"""Programs from outside that a plan needs beside the agent.

Takes a plan, gives the names of programs. Which lines the agent encodes itself stands in `kinds`; what it has
never heard of is given to `tc` as it stands.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from rushhour.plan.programs import foreign
from rushhour.plan.queues import CHANGE
from rushhour.tc.kinds import ACTIONS, CLASSES, CONTROLS, FILTERS, FOREIGN_AFTER, FOREIGN_WORDS, QDISCS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.record.plan_file import PlanEgress, PlanFile

# Words before a kind's name, with the number of words that each takes along; `prio` is one for filters only.
_PLACE = dict.fromkeys((CHANGE, "root", "stab"), 0)
_PLACE |= dict.fromkeys(("parent", "handle", "classid"), 1)
_PLACE |= dict.fromkeys(("mtu", "tsize", "mpu", "overhead", "linklayer"), 1)  # of stab
_PLACE_OF_FILTER = _PLACE | dict.fromkeys(("ingress", "egress"), 0)
_PLACE_OF_FILTER |= dict.fromkeys(("protocol", "prio", "pref", "priority"), 1)


def tools(plan: PlanFile) -> list[str]:
    """The programs that a plan's links and flows need, sorted."""
    makers = {flow.generator for flow in plan.flows} | {load.generator for load in plan.loads}
    needed = {name for name in makers if name is not None}
    needed |= {name for program in plan.programs for name in foreign(program)}
    if any(not _native(line) for end in plan.places for line in _lines(end)):
        needed.add("tc")
    return sorted(needed)


def _lines(end: PlanEgress) -> Iterator[str]:
    yield from (f"qdisc {line}" for line in end.qdiscs)
    yield from end.filters


def _native(line: str) -> bool:
    what, *words = line.split()
    kind = _kind(words, _PLACE_OF_FILTER if what == "filter" else _PLACE)
    if any(second in FOREIGN_AFTER.get(first, ()) for first, second in pairwise(words)):
        return False
    if what == "filter":
        actions = {second for first, second in pairwise(words) if first == "action" != second}
        return kind in FILTERS and FOREIGN_WORDS.isdisjoint(words) and actions <= ACTIONS | CONTROLS
    return kind in (CLASSES if what == "class" else QDISCS)


def _kind(words: list[str], place: dict[str, int]) -> str | None:
    """The kind a line names: the first word that does not say where."""
    rest = iter(words)
    for word in rest:
        if word not in place:
            return word
        for _ in range(place[word]):
            next(rest, None)
    return None
