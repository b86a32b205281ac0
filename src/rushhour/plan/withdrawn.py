"""Routes that a router loses for a time: what becomes of the plan's changes.

Takes a layout, gives for each span of a direction's `withdrawn` two changes at the router's egress. A route
that goes takes the whole way with it: what the router cannot forward it answers with an ICMP error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.errors import PlanError
from rushhour.plan.graph import Hop
from rushhour.plan.stages import Change

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.plan.layout import Layout


def withdrawals(layout: Layout) -> Iterator[tuple[int, Change]]:
    """The end of each, and what changes there: 0, its routes are gone; 1, they are back.

    Raises:
        PlanError: a span that ends before it begins or meets the one before; a node that is no router.
    """
    for number, link in enumerate(layout.graph.links):
        for forward in (True, False):
            spans = link.direction(forward=forward).withdrawn
            if not spans:
                continue
            node, where = link.a if forward else link.b, f"link {link.name}"
            if not layout.graph.by_name[node].forwards:
                raise PlanError(f"{node} is no router", where=where, hint="a host keeps its routes")
            end = layout.router.steps([Hop(number, forward)])[0].end
            yield from ((end, change) for change in _of(spans, layout.scenario.span.ns, where))


def _of(spans: tuple[tuple[int, int], ...], span_ns: int, where: str) -> Iterator[Change]:
    last = -1
    for begin, end in spans:
        if not last < begin < end:
            raise PlanError(
                f"withdrawn from {begin / 1e9:g} s to {end / 1e9:g} s",
                where=where,
                hint="each span ends after it begins, and begins after the one before",
            )
        last = end
        yield from (
            Change(t_ns, "route", value) for t_ns, value in ((begin, 0.0), (end, 1.0)) if t_ns < span_ns
        )
