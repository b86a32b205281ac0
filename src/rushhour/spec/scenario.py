"""The scenario: one question, frozen, portable, the same on every machine."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from itertools import count
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from rushhour.quantities.units import Duration, UnitError
from rushhour.spec.expectation import table_of
from rushhour.spec.figure import Figure
from rushhour.spec.judge import Judge
from rushhour.spec.loads import Load
from rushhour.spec.model import Model, Sysctls, flatten, shown
from rushhour.spec.pattern import Pattern, TraceName
from rushhour.spec.programs import Program, name_programs
from rushhour.spec.sweep import Sweep
from rushhour.spec.topology import Link, Node, Topology
from rushhour.spec.workload import Flow

if TYPE_CHECKING:
    from collections.abc import Iterator

Text = Annotated[str, Field(max_length=20_000), AfterValidator(shown)]
Lab = Literal["uml", "netns", "hosts"]
_SAMPLES = 200  # readings in an experiment, where the scenario does not say how often
_FINEST, _COARSEST = 1_000_000, 100_000_000  # ns
_MOST_SAMPLES = 3600  # of a long experiment, which may be idle for hours


class Readings(Model):
    """What is recorded. All but `tcp_probe` cost the experiment nothing in virtual time (docs/labs.md)."""

    tcp_probe: bool = Field(default=True, description="one row per ACK that reaches a sender")
    events: bool = Field(default=True, description="retransmissions and changes of the congestion state")
    tcp_info: bool = Field(default=True, description="one row per socket and sample")
    qdisc: bool = Field(default=True, description="one row per queue discipline and sample")
    interface: bool = Field(default=True, description="one row per device and sample")
    sojourn: bool = Field(default=False, description="one row per packet that leaves a queue: its time in it")


class Source(Model):
    """Where a catalogue scenario comes from, and what was published."""

    document: Text = Field(description="author, title, place, year")
    section: Text | None = Field(None, description="section that describes the experiment")
    figures: tuple[str, ...] = Field((), description="figures and tables reproduced")
    statements: tuple[str, ...] = Field((), description="what the document says came out")


class Expect(Model):
    """What must hold, for use as a test."""

    metric: str = Field(
        min_length=1, max_length=200, description="name of a metric: utilization, goodput_bps, …"
    )
    min: float | None = Field(None, allow_inf_nan=False, description="smallest value that passes")
    max: float | None = Field(None, allow_inf_nan=False, description="largest value that passes")
    above: float | None = Field(None, allow_inf_nan=False, description="greater values pass, this one not")
    below: float | None = Field(None, allow_inf_nan=False, description="smaller values pass, this one not")
    equals: float | None = Field(
        None, allow_inf_nan=False, description="value that passes, within `tolerance`"
    )
    tolerance: float | None = Field(
        None, ge=0, allow_inf_nan=False, description="how far from `equals`; default 0"
    )
    flow: str | tuple[Annotated[str, Field(min_length=1)], ...] | None = Field(
        None, description="of this flow only, or of each of a list; the name of copies means each of them"
    )
    scope: str | None = Field(
        None, description="of this scope of the metric only: a queue, a direction, total"
    )
    where: dict[str, Any] = Field(
        default_factory=dict,
        description="in these cells only: a value, or a list of values, for each factor named",
    )


def _table(value: object) -> object:
    """An expectation that is a text, where nobody has read it before: its names are taken as they are."""
    if not isinstance(value, str):
        return value
    try:
        return table_of(value)
    except UnitError as error:
        raise PydanticCustomError("unit", "{message}", {"message": str(error)}) from error


Expectation = Annotated[Expect, BeforeValidator(_table, json_schema_input_type=str | Expect)]


def _flat(value: object) -> object:
    return flatten(value) if isinstance(value, dict) else value


class Scenario(Model):
    """One question put to the network: topology, flows, what varies, what must hold."""

    title: Text = Field("", description="a few words")
    question: Text = Field("", description="what the experiment answers")
    description: Text = Field("", description="the long version")
    guards: Text | None = Field(
        None,
        description="one sentence: what a change here would mean, and which function or RFC it watches; "
        "`{FACTOR}` stands for the cell's value",
    )
    duration: Duration | None = Field(
        None, description="length of the experiment; required unless every flow's own end is known"
    )
    warmup: Duration = Field(Duration(0), description="excluded from steady-state metrics")
    sample: Duration | None = Field(
        None,
        description="interval of the periodic readings; default duration/200 within 1ms..100ms, "
        "beyond six minutes duration/3600",
    )
    seed: Annotated[int, Field(strict=True, ge=0, lt=2**63)] = Field(
        1, description="what the seeded elements start from"
    )
    repeat: Annotated[int, Field(strict=True, ge=1, le=10_000)] = Field(
        1, description="runs per cell, with seeds derived from `seed`"
    )
    family: Literal["ipv4", "ipv6"] = Field("ipv4", description="address family of the flows")
    labs: tuple[Lab, ...] = Field(
        (),
        exclude_if=lambda labs: not labs,
        description='labs in which it means something; default all. ["netns", "hosts"]: in real time only, '
        "for processors, memory and cards are what is measured",
    )
    ecn: bool | None = Field(
        None, description="explicit congestion notification on all hosts; default the kernel's"
    )
    timestamps: Literal["ms", "us"] | None = Field(
        None,
        description="what TCP's timestamps count on all hosts, by a feature of their routes: milliseconds "
        "(default) or, since Linux 6.7, microseconds",
    )
    sysctl: Sysctls = Field(default_factory=dict, description="sysctls of all nodes")
    readings: Readings = Field(default_factory=Readings, description="what is recorded")
    source: Source | None = Field(None, description="where a catalogue scenario comes from")
    topology: Topology | None = Field(None, description="a preset and its common link")
    node: tuple[Node, ...] = Field((), description="nodes of a free graph")
    link: tuple[Link, ...] = Field((), description="links of a free graph")
    flow: tuple[Flow, ...] = Field((), description="the conversations")
    pattern: tuple[Pattern, ...] = Field((), description="what of the links changes over time")
    load: tuple[Load, ...] = Field(
        (),
        # A scenario without any keeps the hash that it has always had.
        exclude_if=lambda loads: not loads,
        description="what else the nodes' computers do; in real time only",
    )
    program: tuple[Program, ...] = Field(
        (),
        exclude_if=lambda programs: not programs,
        description="what else runs on the nodes and uses their network",
    )
    file: dict[TraceName, str] = Field(
        default_factory=dict,
        exclude_if=lambda files: not files,
        description="texts of the files that programs bring; filled in from their files",
    )
    root: dict[str, str] = Field(
        default_factory=dict,
        exclude_if=lambda roots: not roots,
        description="whole paths of the roots that programs name; filled in from `root` of programs",
    )
    trace: dict[TraceName, str] = Field(
        default_factory=dict, description="texts of the traces that patterns name; filled in from their files"
    )
    sweep: Sweep = Field(default_factory=Sweep, description="what varies")
    quick: Annotated[dict[str, Any], BeforeValidator(_flat)] = Field(
        default_factory=dict, description="what `--quick` changes"
    )
    expect: tuple[Expectation, ...] = Field(
        (), description='what must hold: tables, or texts as `expect = ["goodput of tcp1 > 1mbit"]`'
    )
    judge: tuple[Judge, ...] = Field(
        (), description="what decides a comparison; default every metric that has a better side"
    )
    figure: tuple[Figure, ...] = Field((), description="figures that compare cells")

    @model_validator(mode="before")
    @classmethod
    def _name_flows(cls, value: object) -> object:
        return name_programs(name_flows(value))

    @property
    def virtual(self) -> bool:
        """Whether it may run in virtual time."""
        return not self.labs or "uml" in self.labs

    @property
    def span(self) -> Duration:
        """Length of the experiment: as given, or until the last flow's own end."""
        if self.duration is not None:
            return self.duration
        ends = [flow.ends_by_itself() for flow in self.flow]
        return max((end for end in ends if end is not None), default=Duration(0))

    @property
    def sample_interval(self) -> Duration:
        """Interval of the periodic readings, given or by default."""
        coarsest = max(_COARSEST, self.span.ns // _MOST_SAMPLES)
        return self.sample or Duration(min(coarsest, max(_FINEST, self.span.ns // _SAMPLES)))

    def canonical(self) -> dict[str, Any]:
        """Everything that determines the experiment, as JSON values with units as canonical words."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    def sha256(self) -> str:
        """Hash of the canonical form; equal for files that differ only in how they are written."""
        text = json.dumps(self.canonical(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


def name_flows(document: Any) -> Any:
    """Give the document with flows that have no name called by kind and number: tcp1, tcp2, ping1."""
    flows = document.get("flow") if isinstance(document, dict) else None
    if not isinstance(flows, list | tuple) or not all(isinstance(flow, dict) for flow in flows):
        return document
    taken = {str(flow["name"]) for flow in flows if "name" in flow}
    numbers: dict[str, Iterator[int]] = defaultdict(lambda: count(1))
    named = []
    for flow in flows:
        kind = str(flow.get("kind", "tcp"))
        free = (f"{kind}{number}" for number in numbers[kind] if f"{kind}{number}" not in taken)
        named.append(flow if "name" in flow else {"name": next(free)} | flow)
    return document | {"flow": named}
