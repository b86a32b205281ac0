"""Patterns on a graph: which directions they change, and what each stage then becomes when.

Takes a `Graph` as the scenario's own keys make it, gives one whose queues and wires know their courses.
A queue's buffer stays what it is at the link's own rate. A shaper whose rate changes is htb unless the
scenario says tbf: what htb has charged for a frame stays charged when its rate changes, tbf fills its bucket
at every change and lets a frame pass.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.errors import PlanError
from rushhour.plan.graph import Graph, Link, Wire
from rushhour.spec.course import CourseError, course

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.spec.course import Course
    from rushhour.spec.pattern import Pattern
    from rushhour.spec.scenario import Scenario


def with_patterns(graph: Graph, scenario: Scenario, seed: int) -> Graph:
    """Give the graph with every pattern of the scenario on its directions.

    Raises:
        PlanError: two patterns change the same, or one changes what is not there.
    """
    links = list(graph.links)
    for pattern in scenario.pattern:
        try:
            changes = course(pattern, scenario.span.ns, scenario.trace, seed)
        except CourseError as error:
            raise PlanError(str(error), where=f"pattern {pattern.label}", hint=error.hint) from error
        found = list(_targets(graph, scenario, pattern))
        if not found:
            raise PlanError(
                f"no link has a {pattern.key} that could change",
                where=f"pattern {pattern.label}",
                hint="name a link",
            )
        for number, forward in found:
            links[number] = _changed(links[number], pattern, changes, scenario, forward=forward)
    return Graph(graph.nodes, tuple(links), graph.rtt_ns)


def _targets(graph: Graph, scenario: Scenario, pattern: Pattern) -> Iterator[tuple[int, bool]]:
    """The link directions that a pattern means: index of the link, whether forward."""
    preset = scenario.topology is not None
    default = "forward" if preset and pattern.key == "loss" else "both"
    direction = pattern.direction or default
    for number, link in enumerate(graph.links):
        if pattern.link is not None and link.name != pattern.link:
            continue
        for forward in (True, False):
            if direction != "both" and (direction == "forward") != forward:
                continue
            stages = link.direction(forward=forward)
            there = stages.queue is not None and stages.queue.rate_bps is not None
            if pattern.key != "rate":
                there = stages.wire is not None or pattern.link is not None or not preset
            if there:
                yield number, forward


def _changed(link: Link, pattern: Pattern, changes: Course, scenario: Scenario, *, forward: bool) -> Link:
    key, stages = pattern.key, link.direction(forward=forward)
    if key == "rtt":
        # As a preset's own RTT is halved: what is odd is on the way back.
        halves = [(t_ns, float(int(v) // 2 if forward else int(v) - int(v) // 2)) for t_ns, v in changes]
        key, changes = "delay", tuple(halves)
    if key == "rate" and stages.queue is not None:
        _once(stages.queue.course, link, key)
        shaper = stages.queue.shaper if _shaper_given(link, scenario, forward=forward) else "htb"
        if shaper == "tbf" and any(value == 0 for _, value in changes):
            raise PlanError(
                "tbf cannot wait for the end of an outage",
                where=f"link {link.name}",
                hint='shaper = "htb" can',
            )
        stages = replace(stages, queue=replace(stages.queue, shaper=shaper, course=changes))
    elif key != "rate":
        wire = stages.wire or Wire()
        _once(dict(wire.courses).get(key, ()), link, key)
        stages = replace(stages, wire=replace(wire, courses=(*wire.courses, (key, changes))))
    return replace(link, forward=stages) if forward else replace(link, reverse=stages)


def _once(known: Course, link: Link, key: str) -> None:
    if known:
        raise PlanError(
            f"two patterns change the {key} of link {link.name}",
            where="pattern",
            hint="give each a direction",
        )


def _shaper_given(link: Link, scenario: Scenario, *, forward: bool) -> bool:
    if scenario.topology is not None:
        return scenario.topology.shaper is not None
    drawn = next(keys for keys in scenario.link if keys.label == link.name)
    return drawn.direction(forward=forward).shaper is not None
