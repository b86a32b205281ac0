"""Traffic control beyond one queue: classes that divide a link's rate, and policers.

[[topology.class]]              HTB's tree under the shaper: a class may send at its `rate`, and borrow up
name = "elephant"               to its `ceil` what others leave unused. A class without flows takes all
rate = "800mbit"                that no other class names.
ceil = "1gbit"
flows = ["long"]
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rushhour.quantities.units import Buffer, Duration, Frequency, Rate, Size
from rushhour.spec.model import Model, Name, Words

MAX_CLASSES = 1_000
MAX_BANDS = 16  # TCQ_PRIO_BANDS, TCQ_ETS_MAX_BANDS of <linux/pkt_sched.h>
Scheduler = Literal["htb", "hfsc", "drr", "qfq", "ets", "prio"]
# Which schedulers keep rates of their own; the others divide what the shaper lets through.
SHAPING: tuple[Scheduler, ...] = ("htb", "hfsc")
BANDED: tuple[Scheduler, ...] = ("ets", "prio")
# Which schedulers use a key; one that is not listed means something to all.
SCHEDULERS_OF_KEY: dict[str, tuple[Scheduler, ...]] = {
    "parent": SHAPING,
    "rate": SHAPING,
    "ceil": SHAPING,
    "curves": ("hfsc",),
    "prio": ("htb",),
    "burst": ("htb",),
    "quantum": ("htb", "drr", "ets"),
    "weight": ("drr", "qfq", "ets"),
}


class Later(Model):
    """What becomes of a class while packets pass: a key that it does not name stays as it is."""

    at: Duration = Field(description="instant, from the start of the experiment")
    gone: bool = Field(
        default=False,
        description="the class is taken away: what waits in it is lost, and its flows go where those do that "
        "no class names",
    )
    rate: Rate | None = Field(None, description="from then on, as the class's key of that name")
    ceil: Rate | None = Field(None, description="likewise")
    curves: Words | None = Field(None, description="likewise")
    prio: Annotated[int, Field(strict=True, ge=0, le=7)] | None = Field(None, description="likewise")
    burst: Size | None = Field(None, description="likewise")
    quantum: Size | None = Field(None, description="likewise")
    weight: Annotated[int, Field(strict=True, ge=1, le=1000)] | None = Field(None, description="likewise")

    @property
    def keys(self) -> dict[str, object]:
        """The class's keys that become others."""
        every = ((key, getattr(self, key)) for key in type(self).model_fields if key not in ("at", "gone"))
        return {key: value for key, value in every if value is not None}


class Class(Model):
    """One class of a direction: which flows it carries and what part of the rate is theirs."""

    name: Name = Field(description="name of the class")
    parent: Name | None = Field(None, description="class that this one is part of; default the link")
    flows: tuple[Name, ...] = Field(
        (),
        description="names of the flows whose packets it carries, data or ACKs, whichever pass here; "
        "without: what no other class names",
    )
    rate: Rate | None = Field(None, description="rate that is its own, whatever others send")
    ceil: Rate | None = Field(
        None,
        description="most it may send by borrowing what others leave; default `rate`: it borrows nothing",
    )
    curves: Words | None = Field(
        None,
        description="its service curves in tc's words, `rt m1 2mbit d 10ms m2 500kbit ls rate 500kbit`, "
        "instead of `sc rate RATE ul rate CEIL`",
    )
    prio: Annotated[int, Field(strict=True, ge=0, le=7)] | None = Field(
        None, description="who borrows first: 0 (default) before 7"
    )
    burst: Size | None = Field(
        None, description="bucket, of the ceiling likewise; default what the rate carries in 1us"
    )
    quantum: Size | None = Field(
        None, description="bytes it sends in its turn among borrowers of one priority; default a full frame"
    )
    weight: Annotated[int, Field(strict=True, ge=1, le=1000)] | None = Field(
        None, description="its share, as a number beside those of the others; default 1; ets: default strict"
    )
    queue: Words | None = Field(None, description="queue discipline of the class; default the link's `queue`")
    buffer: Buffer | None = Field(None, description="limit of its queue; default the link's `buffer`")
    then: Later | None = Field(
        None, description="what becomes of it while packets pass: { at, gone } or { at, rate, weight, … }"
    )

    @property
    def later(self) -> Class:
        """As it is in the end."""
        return self.model_copy(update=self.then.keys) if self.then else self


class Police(Model):
    """A policer: what exceeds the rate is dropped at once; there is no queue."""

    rate: Rate | None = Field(None, description="rate at which tokens come")
    burst: Size | None = Field(None, description="bucket: what passes at once after a pause")
    peak: Rate | None = Field(
        None, description="rate at which the bucket passes, packet by packet; default at once"
    )
    packets: Frequency | None = Field(
        None,
        description="how many packets may pass, of whatever size, instead of `rate`; before Linux 5.13 all "
        "pass",
    )
    packet_burst: int | None = Field(
        None, ge=1, description="with `packets`: how many pass at once after a pause"
    )
