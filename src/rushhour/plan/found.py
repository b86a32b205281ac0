"""Nodes whose sockets are followed although no flow of the scenario is theirs (docs/plan-format.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushhour.plan.graph import Graph


def followed(nodes: Sequence[str], graph: Graph) -> tuple[str, ...]:
    """The nodes in the graph's order, each once.

    Raises:
        PlanError: a node is not there, or there is only one: it has nobody to talk to.
    """
    if unknown := [name for name in nodes if name not in graph.by_name]:
        raise PlanError(
            f"there is no node {unknown[0]}, whose sockets are to be followed",
            where="found",
            hint=f"nodes: {', '.join(graph.by_name)}",
        )
    wanted = tuple(name for name in graph.by_name if name in nodes)
    if len(wanted) == 1:
        raise PlanError(
            f"sockets of {wanted[0]} are to be followed, and of no other node: what they are connected to "
            "would have no path",
            where="found",
            hint="name the nodes that it talks to, as well",
        )
    return wanted
