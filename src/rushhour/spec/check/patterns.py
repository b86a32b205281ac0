"""Checks of patterns: what they follow, what they change, that none changes what another does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.spec.check.problem import Path, Problem
from rushhour.spec.course import CourseError, course
from rushhour.spec.graph import links
from rushhour.spec.keys import nearest
from rushhour.spec.pattern import WAYS
from rushhour.spec.trace import LARGEST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.spec.pattern import Pattern
    from rushhour.spec.scenario import Scenario

_LONGEST_NS = {"delay": 1000 * 10**9, "rtt": 1000 * 10**9, "jitter": 4 * 10**9}
_ONE_WAY = 'one of steps, sine, square, ramp, walk, trace: steps = [["0s", "100mbit"], ["5s", "20mbit"]]'


def check_patterns(scenario: Scenario) -> Iterator[Problem]:
    """Check every pattern, then what they change together."""
    names: set[str] = set()
    for index, pattern in enumerate(scenario.pattern):
        here = ("pattern", index)
        if pattern.label in names:
            yield Problem(
                (*here, "name"),
                f'"{pattern.label}" is already the name of a pattern',
                "give each one of its own",
            )
        names.add(pattern.label)
        yield from _check_way(pattern, here)
        yield from _check_place(scenario, pattern, here)
        yield from _check_course(scenario, pattern, here)
    if sum(len(text) for text in scenario.trace.values()) > LARGEST:
        yield Problem(
            ("trace",), "the traces are larger than 512 KiB", "cut them to what the experiment needs"
        )


def _check_way(pattern: Pattern, here: Path) -> Iterator[Problem]:
    given = [way for way in WAYS if getattr(pattern, way) is not None]
    if not given:
        yield Problem(here, "follows nothing", _ONE_WAY)
    for way in given[1:]:
        yield Problem((*here, way), f"stands beside {given[0]}", "a pattern follows one thing")
    for key, ways in (("every", ("trace",)), ("length", ("steps", "trace")), ("at_end", ("steps", "trace"))):
        if given and getattr(pattern, key) is not None and given[0] not in ways:
            hint = f"{given[0]} has its own" if key == "every" else f"a pattern of {given[0]} has no end"
            yield Problem((*here, key), f"means nothing to a pattern of {given[0]}", hint)


def _check_place(scenario: Scenario, pattern: Pattern, here: Path) -> Iterator[Problem]:
    names = links(scenario)
    if pattern.link is not None and pattern.link not in names:
        yield Problem((*here, "link"), f'no link is named "{pattern.link}"', nearest(pattern.link, names))
        return
    if pattern.key == "rtt":
        for key in ("link", "direction"):
            if getattr(pattern, key) is not None:
                yield Problem(
                    (*here, key), "an rtt is that of the whole path", 'key = "delay" is that of a link'
                )
        if scenario.topology is None:
            yield Problem((*here, "key"), "a graph has no rtt of its own", 'take key = "delay" and a link')
        elif scenario.topology.rtts is not None:
            yield Problem((*here, "key"), "stands beside topology.rtts", 'take key = "delay" and a link')
    elif scenario.topology is None:
        yield from _check_graph_link(scenario, pattern, here)


def _check_graph_link(scenario: Scenario, pattern: Pattern, here: Path) -> Iterator[Problem]:
    names = links(scenario)
    if not names:
        return  # said elsewhere
    if pattern.link is None and len(names) > 1:
        yield Problem((*here, "link"), "which of the links is meant?", f"one of {', '.join(names[:20])}")
        return
    link = scenario.link[names.index(pattern.link) if pattern.link else 0]
    sides = {"forward": (True,), "reverse": (False,)}.get(pattern.direction or "both", (True, False))
    for forward in sides:
        if pattern.key == "rate" and link.direction(forward=forward).rate is None:
            way = "forward" if forward else "reverse"
            yield Problem(
                (*here, "link"),
                f'"{link.label}" has no rate {way}',
                "give it the rate that its buffer is meant at",
            )


def _check_course(scenario: Scenario, pattern: Pattern, here: Path) -> Iterator[Problem]:
    if scenario.span.ns <= 0:
        return  # said elsewhere
    try:
        changes = course(pattern, scenario.span.ns, scenario.trace, scenario.seed)
    except CourseError as error:
        yield Problem((*here, *error.path), str(error), error.hint)
        return
    longest = _LONGEST_NS.get(pattern.key)
    worst = max((value for _, value in changes), default=0)
    if longest is not None and worst > longest:
        yield Problem(
            (*here, pattern.way),
            f"a {pattern.key} of {worst / 1e9:g} s is more than a wire can do",
            f"at most {longest // 10**9}s",
        )
