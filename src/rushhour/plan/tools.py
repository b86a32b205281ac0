"""Programs from outside that a plan needs beside the agent.

Takes a plan, gives the names of programs. What the agent does itself
is listed here once more, because the plan must be known before an agent is: a kind that is missing here only
brings a program along that nobody calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]

NATIVE_QDISCS = frozenset(
    "pfifo bfifo pfifo_head_drop pfifo_fast noqueue ingress clsact tbf htb netem red codel fq_codel fq pie "  # noqa: SIM905 words
    "fq_pie cake sfq prio drr ets".split()
)
NATIVE_CLASSES = frozenset({"htb", "drr", "ets"})
NATIVE_FILTERS = frozenset({"matchall", "u32"})
# Words of a filter that only tc understands.
FOREIGN = frozenset(
    "action police indev offset hashkey divisor order link ht sample skip_hw skip_sw mark ether".split()  # noqa: SIM905 words
)
# Words before a kind's name, with the number of words that each takes along; `prio` is one for filters only.
_PLACE = dict.fromkeys(("root", "ingress", "egress", "stab"), 0)
_PLACE |= dict.fromkeys(("parent", "handle", "classid"), 1)
_PLACE |= dict.fromkeys(("mtu", "tsize", "mpu", "overhead", "linklayer"), 1)  # of stab
_PLACE_OF_FILTER = _PLACE | dict.fromkeys(("protocol", "prio", "pref", "priority"), 1)


def tools(plan: Json) -> list[str]:
    """The programs that a plan's links and flows need, sorted."""
    makers = (*plan["flows"], *plan.get("loads", ()))
    needed = {one["generator"] for one in makers if "generator" in one}
    ends = [*(end for link in plan["links"] for end in link["ends"]), *plan.get("ingress", ())]
    if any(not _native(line) for end in ends for line in _lines(end)):
        needed.add("tc")
    return sorted(needed)


def _lines(end: Json) -> Iterator[str]:
    yield from (f"qdisc {line}" for line in end["qdiscs"])
    yield from end["filters"]


def _native(line: str) -> bool:
    what, *words = line.split()
    kind = _kind(words, _PLACE_OF_FILTER if what == "filter" else _PLACE)
    if what == "filter":
        return kind in NATIVE_FILTERS and FOREIGN.isdisjoint(words)
    return kind in (NATIVE_CLASSES if what == "class" else NATIVE_QDISCS)


def _kind(words: list[str], place: dict[str, int]) -> str | None:
    """The kind a line names: the first word that does not say where."""
    rest = iter(words)
    for word in rest:
        if word not in place:
            return word
        for _ in range(place[word]):
            next(rest, None)
    return None
