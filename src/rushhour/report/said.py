"""Advice that several flows share, printed once with the names of these flows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.quantities.words import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushhour.report.why import Said, Why

_NAMED = 4
"""Flows that are named; of more, the first, and how many there are besides."""


def once(found: Sequence[Why]) -> tuple[Why, ...]:
    """The flows with each piece of advice at the last of those it is for; sentences stay where they are."""
    asked: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
    for one in found:
        for said in one.said:
            if said.advice:
                asked.setdefault(_key(said), []).append((one.flow, said.expected))
    last = {key: flows[-1][0] for key, flows in asked.items()}
    return tuple(
        replace(
            one, said=tuple(_told(said, asked, last=last.get(_key(said)) == one.flow) for said in one.said)
        )
        for one in found
    )


def _key(said: Said) -> tuple[str, str, str]:
    return said.advice, said.command, said.override


def _told(said: Said, asked: dict[tuple[str, str, str], list[tuple[str, str]]], *, last: bool) -> Said:
    flows = asked.get(_key(said), [])
    if len(flows) < 2:
        return said
    if not last:
        return replace(said, advice="", command="", override="", expected="", instead="")
    return replace(said, advice=f"For {_names(flows)}: {said.advice}", expected=_expected(flows))


def _names(flows: Sequence[tuple[str, str]]) -> str:
    names = [name for name, _ in flows]
    if len(names) > _NAMED:
        return f"{', '.join(names[:_NAMED])} and {plural(len(names) - _NAMED, 'more flow')}"
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _expected(flows: Sequence[tuple[str, str]]) -> str:
    """What to expect: once if it is the same for all, else flow by flow."""
    known = [(name, expected) for name, expected in flows if expected]
    if len({expected for _, expected in flows}) == 1:
        return flows[0][1]
    return ", ".join(f"{name} {expected}" for name, expected in known[:_NAMED])
