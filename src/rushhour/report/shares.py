"""Shares of the goodput: who got how much, flow by flow or group by group, in every run.

Takes runs (`RunView`), gives who shares, and the share of each in a run.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

from rushhour.quantities.words import Scale

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rushhour.report.model import FlowLine, RunView

METRIC = "goodput_share"
TITLE = "Share of the goodput"
PERCENT = Scale(0.01, "%", 1)
"""How shares are shown: the metric is a ratio."""
MAX_SHARERS = 4
"""Sharers with a column of their own; of more no table could tell at a glance."""


@dataclass(frozen=True)
class Sharer:
    """One flow, or all copies of one (`together`): the name, and the kind of the flows."""

    name: str
    kind: str
    together: bool = False

    @property
    def said(self) -> str:
        """The sharer in a sentence."""
        return f"the {self.name} flows" if self.together else self.name

    def has(self, flow: FlowLine) -> bool:
        """Whether a flow is this one, or one of these."""
        return flow.kind == self.kind and self.name == (flow.group if self.together else flow.name)


def sharers(runs: Sequence[RunView], most: int = MAX_SHARERS) -> tuple[Sharer, ...]:
    """Who shares: flows of one kind, or their groups where flows have copies; empty for fewer than two.

    With several kinds of flows, TCP's are reported: shares are computed within a kind. Flows in opposite
    directions, or on paths of their own, share nothing.
    """
    known = [flow for run in runs for flow in _sharing(run)]
    kinds = dict.fromkeys(flow.kind for flow in known)
    kind = "tcp" if "tcp" in kinds else next(iter(kinds), "")
    mine = [flow for flow in known if flow.kind == kind]
    names = _unique(flow.name for flow in mine)
    groups = _unique(flow.group for flow in mine)
    if len(names) == len(groups) or len(groups) < 2:
        found = tuple(Sharer(name, kind) for name in names)
    else:
        copied = {flow.group for flow in mine if flow.name != flow.group}
        found = tuple(Sharer(name, kind, together=name in copied) for name in groups)
    return found if 2 <= len(found) <= most and _meet(found, mine) else ()


def _meet(found: Sequence[Sharer], flows: Iterable[FlowLine]) -> bool:
    """Whether they are tied by directions of links that several cross, as far as is known."""
    crossed: dict[str, set[int]] = {one.name: set() for one in found}
    for flow in {id(flow): flow for flow in flows}.values():
        for one in found:
            if one.has(flow):
                crossed[one.name] |= flow.crossed
    reached, *others = crossed.values()
    if not reached or not all(others):
        return True
    while others:
        met = [one for one in others if one & reached]
        if not met:
            return False
        reached = reached.union(*met)
        others = [one for one in others if not one & reached]
    return True


def share(run: RunView, sharer: Sharer) -> float | None:
    """The sharer's part of the goodput of all flows of its kind, 0 to 1; None where it is not defined."""
    scopes = {flow.scope for flow in run.flows if sharer.has(flow)}
    values = [value.value for value in run.metrics if value.metric == METRIC and value.scope in scopes]
    known = [value for value in values if value is not None]
    return fsum(known) if known and len(known) == len(values) else None


def _sharing(run: RunView) -> list[FlowLine]:
    scopes = {value.scope for value in run.metrics if value.metric == METRIC}
    return [flow for flow in run.flows if flow.scope in scopes]


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
