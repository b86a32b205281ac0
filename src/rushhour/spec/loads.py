"""Loads: what else a node's computer does while its network is measured.

[[load]]
node = "s1"
share = 0.5       # of each of the node's processors

Computing takes no time in a virtual kernel, so loads are for labs in real time.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rushhour.quantities.units import Duration, Size
from rushhour.spec.model import Count, Model, Name

MAX_WORKERS = 256


class Load(Model):
    """Work that takes processors or memory away from one node."""

    name: Name | None = Field(None, description="name for factors: load.NAME.KEY; default its kind")
    node: Name = Field(description="whose processors or memory it takes")
    kind: Literal["cpu", "memory"] = Field(
        "cpu", description='"cpu": computes; "memory": writes to every page again and again'
    )
    generator: Literal["agent", "stress-ng"] | None = Field(
        None, description='program that makes it: "agent" (default) or "stress-ng", from this machine'
    )
    share: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = Field(
        None, description="cpu: part of the time that each worker computes; default 1"
    )
    workers: Annotated[Count, Field(le=MAX_WORKERS)] | None = Field(
        None, description="how many; default cpu: one for each processor of the node, memory: 1"
    )
    size: Size | None = Field(None, description="memory: how much is in use, all workers together")
    limit: Size | None = Field(
        None,
        description="memory: how much of it may be in memory (a control group's limit); the rest is swapped",
    )
    start: Duration = Field(Duration(0), description="when it begins, from the start of the experiment")
    duration: Duration | None = Field(
        None, description="how long it lasts; default to the end of the experiment"
    )

    @property
    def label(self) -> str:
        """The load's name, given or its kind."""
        return self.name or self.kind
