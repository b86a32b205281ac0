"""Patterns: what of a link changes over time, and how.

[[pattern]]
key = "rate"                                                     # of the preset's common link
steps = [["0s", "100mbit"], ["5s", "20mbit"], ["15s", "100mbit"]]

A pattern says what it follows in exactly one way: `steps`, `sine`, `square`, `ramp`, `walk` or `trace`.
`spec/course.py` turns it into instants and values.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StrictFloat, StrictInt

from rushhour.quantities.units import Duration
from rushhour.spec.model import Model, Name

Value = Annotated[str, Field(max_length=40)] | StrictFloat | StrictInt
Seconds = Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)]
Key = Literal["rate", "delay", "rtt", "jitter", "loss"]
TraceName = Annotated[str, Field(min_length=1, max_length=200)]

_EVERY = "time between two changes; default a fiftieth of the period, at least 1ms"


class Sine(Model):
    """mean + amplitude · sin(2π (t/period + phase)), held for `every`; each value is that of its middle."""

    mean: Value = Field(description="what it swings around")
    amplitude: Value = Field(description="how far it swings, at most the mean")
    period: Duration = Field(description="length of one swing")
    phase: Seconds = Field(0.0, description="where in the swing it begins, in periods; default 0: upwards")
    every: Duration | None = Field(None, description=_EVERY)


class Square(Model):
    """High for `duty` of each period, then low."""

    high: Value = Field(description="first value of each period")
    low: Value = Field(description="second value of each period")
    period: Duration = Field(description="length of one period")
    duty: Annotated[float, Field(gt=0, lt=1)] = Field(0.5, description="part of a period that is high")


class Ramp(Model):
    """From one value to another in equal steps, then held; each value is that of its middle."""

    from_: Value = Field(alias="from", description="value at the beginning")
    to: Value = Field(description="value at the end")
    over: Duration | None = Field(None, description="how long it takes; default the whole experiment")
    every: Duration | None = Field(
        None, description="time between two changes; default a fiftieth of the ramp, at least 1ms"
    )


class Walk(Model):
    """A seeded random walk: every step is uniform between -step and +step, reflected at the bounds."""

    start: Value = Field(description="first value")
    step: Value = Field(description="largest step")
    min: Value = Field(description="lower bound")
    max: Value = Field(description="upper bound")
    every: Duration = Field(description="time between two changes")


SHAPES: dict[str, type[Model]] = {"sine": Sine, "square": Square, "ramp": Ramp, "walk": Walk}
WAYS = ("steps", *SHAPES, "trace")


class Pattern(Model):
    """One key of one or more link directions that changes during the experiment."""

    name: Name | None = Field(None, description="name for factors: pattern.NAME.KEY; default its key")
    key: Key = Field(
        description='what changes: "rate", "delay", "jitter" or "loss"; "rtt" (of a preset) is half in each '
        "direction. Until the first instant, and for a buffer in BDPs or time, the link's own value holds"
    )
    link: Name | None = Field(
        None, description="name of the link; default the preset's common link(s), or a graph's only link"
    )
    direction: Literal["forward", "reverse", "both"] | None = Field(
        None,
        description='default "both", for loss of a preset "forward", as with the key of that name',
    )
    steps: tuple[tuple[Duration, Value], ...] | None = Field(
        None, description='instants and values: [["0s", "100mbit"], ["5s", "20mbit"]]'
    )
    sine: Sine | None = Field(None, description="a sine: mean, amplitude, period, phase, every")
    square: Square | None = Field(None, description="two values in turn: high, low, period, duty")
    ramp: Ramp | None = Field(None, description="from one value to another: from, to, over, every")
    walk: Walk | None = Field(None, description="a seeded random walk: start, step, min, max, every")
    trace: TraceName | None = Field(
        None,
        description="a file beside the scenario: lines of time and value under a header with units "
        "(`time_s,rate_mbit`), or a millisecond a line for each packet of 1504 bytes that the link can "
        "carry then (Mahimahi)",
    )
    every: Duration | None = Field(
        None, description='trace of packets: time over which they are counted; default "100ms"'
    )
    length: Duration | None = Field(
        None, description="steps, trace: length of one pass; default of a trace: as long as it is"
    )
    at_end: Literal["hold", "repeat", "error"] | None = Field(
        None,
        description="a pattern shorter than the experiment: hold its last value, repeat it, or refuse; "
        'default "error", of steps without a length "hold"',
    )

    @property
    def label(self) -> str:
        """The pattern's name, given or its key."""
        return self.name or self.key

    @property
    def way(self) -> str:
        """Which of `steps`, `sine`, … the pattern uses: the first one given, else `steps`."""
        return next((way for way in WAYS if getattr(self, way) is not None), "steps")
