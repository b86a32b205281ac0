"""Figures that a scenario asks for: which cells are compared, over what, and with which theory."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from rushhour.quantities.units import Duration
from rushhour.spec.model import Model, shown

Words = Annotated[str, Field(min_length=1, max_length=200)]
Text = Annotated[str, Field(max_length=2_000), AfterValidator(shown)]
Scale = Literal["linear", "log"]

FLOW, END = "flow", "end"
OWN = (FLOW, END, "kernel")
"""What tells samples apart beside the factors: the flow, the link end, the kernel under test."""


class Figure(Model):
    """One figure that compares cells (docs/figures.md)."""

    title: Words = Field(description="what the figure shows")
    source: Text | None = Field(None, description="figure or table of the document that it shows again")
    caption: Text | None = Field(None, description="what to look at, in a sentence or two")
    kind: Literal["lines", "matrix", "cdf"] = Field(
        "lines",
        description='"lines"; "matrix": `metric` as colour and number over the factors `x` and `y`; '
        '"cdf": the distribution of `y`',
    )
    y: Words = Field(
        description="a metric over the factor `x`, or a series over time; of a matrix: the factor down; of a "
        'cdf: a series, "flow_completion_time_us" or "slowdown"'
    )
    x: Words | None = Field(None, description="a factor; absent: time")
    metric: Words | None = Field(None, description="of a matrix: the metric in its fields")
    lines: tuple[Words, ...] = Field(
        (), description='factors whose values are the lines; also "flow", "end", "kernel"'
    )
    panels: tuple[Words, ...] = Field((), description="factors whose values are small multiples; likewise")
    where: dict[str, Any] = Field(
        default_factory=dict, description="cells shown: a value, or a list of values, for each factor named"
    )
    model: tuple[Words, ...] = Field((), description="theory drawn as lines (docs/figures.md names all)")
    x_scale: Scale | None = Field(
        None, description='"linear" or "log"; default "log" where the levels span a wide range'
    )
    y_scale: Scale | None = Field(None, description='"linear" (default) or "log"')
    begin: Duration | None = Field(
        None,
        alias="from",
        description="time axis: where it begins; default 0 s, of a cdf the end of the warm-up",
    )
    end: Duration | None = Field(
        None, alias="to", description="time axis: where it ends; default the experiment's end"
    )
    flow: Words | None = Field(None, description="of this flow only")
    scope: Words | None = Field(
        None, description="of this scope only: a queue, a direction, total; default total, else every scope"
    )

    @property
    def quantity(self) -> str:
        """The metric or series that is drawn."""
        return self.metric or "" if self.kind == "matrix" else self.y

    @property
    def over_time(self) -> bool:
        """Whether time is along x."""
        return self.kind == "lines" and self.x is None

    @property
    def factors(self) -> tuple[tuple[str, str], ...]:
        """Every factor that the figure names, with the key that names it."""
        axes = [("x", self.x)] + ([("y", self.y)] if self.kind == "matrix" else [])
        named = [(key, factor) for key, factor in axes if factor is not None]
        return (*named, *(("lines", one) for one in self.lines), *(("panels", one) for one in self.panels))
