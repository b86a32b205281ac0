"""Workloads of many flows: when they arrive, how large they are, when a source is on and when off.

Laws are of intent: what is drawn from them with a run's seed is the plan's business (`plan/arrivals.py`).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from rushhour.quantities.units import Duration, Frequency, Size
from rushhour.spec.model import Model

Process = Literal["poisson", "constant", "on-off"]
SizeDistribution = Literal["fixed", "exponential", "pareto", "lognormal", "table", "websearch"]
TimeDistribution = Literal["fixed", "exponential"]
Positive = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]

# Web search: sizes in full packets of 1460 bytes and the share of flows up to them. Alizadeh et al.: Data
# Center TCP (DCTCP), SIGCOMM 2010, figure 4, in the numbers in which pFabric's simulations (SIGCOMM 2013)
# passed it on.
WEBSEARCH: tuple[tuple[int, float], ...] = tuple(
    (packets * 1460, share)
    for packets, share in (
        (6, 0.15), (13, 0.2), (19, 0.3), (33, 0.4), (53, 0.53), (133, 0.6), (667, 0.7), (1333, 0.8),
        (3333, 0.9), (6667, 0.97), (20000, 1.0),
    )
)  # fmt: skip


class SizeLaw(Model):
    """The law that sizes are drawn from; a bare size is a fixed one."""

    distribution: SizeDistribution = Field(
        description='"fixed", "exponential", "pareto", "lognormal", "table" (measured shares), or '
        '"websearch" (the web search of the DCTCP paper)'
    )
    mean: Size | None = Field(
        None, description="mean of what is drawn, `max` included; of a table and of websearch their own"
    )
    shape: Positive | None = Field(
        None, le=1000, description="pareto: tail index, above 1; the smaller the heavier"
    )
    sigma: Positive | None = Field(
        None, ge=0.001, le=10, description="lognormal: standard deviation of the logarithm"
    )
    max: Size | None = Field(None, description="largest size: what is larger is cut to it")
    table: tuple[tuple[Size, float], ...] | None = Field(
        None,
        description='sizes in ascending order, each with the share of flows up to it: [["1kB", 0.5], '
        '["1MB", 1.0]]; straight lines in between, the first share has the first size',
    )
    source: str | None = Field(None, max_length=1000, description="where the table comes from")


class TimeLaw(Model):
    """The law that times are drawn from; a bare duration is a fixed one."""

    distribution: TimeDistribution = Field(description='"fixed" or "exponential"')
    mean: Duration = Field(description="mean of what is drawn")


def _fixed(value: object) -> object:
    return {"distribution": "fixed", "mean": value} if not isinstance(value, dict | Model) else value


SizeWord = Annotated[SizeLaw, BeforeValidator(_fixed, json_schema_input_type=str | SizeLaw)]
TimeWord = Annotated[TimeLaw, BeforeValidator(_fixed, json_schema_input_type=str | TimeLaw)]


class Arrivals(Model):
    """When flows of a kind arrive: each is a connection of its own, open loop."""

    process: Process = Field(
        "poisson",
        description='"poisson": independent of each other; "constant": at equal distances, the first at the '
        'flow\'s start; "on-off": Poisson while on, none while off',
    )
    rate: Frequency | None = Field(None, description="mean arrivals, of all copies together; or give `load`")
    load: Positive | None = Field(
        None,
        description="what the data's frames take of the bottleneck's rate on average, of all copies "
        "together: 0.6; above 1 is more than it carries",
    )
    on: TimeWord | None = Field(None, description='"on-off": how long flows arrive')
    off: TimeWord | None = Field(None, description='"on-off": how long none does')
