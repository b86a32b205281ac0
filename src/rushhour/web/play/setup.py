"""What a visitor asks for: one experiment of the playground, as a page, an address and a program say it.

A `Setup` is read from JSON (`read`) or from an address's query (`from_query`), written back as a query of
what differs from the default (`to_query`), and becomes a scenario (`scenario.py`). Its keys are the
scenario's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlencode

from pydantic import Field, ValidationError
from starlette.datastructures import QueryParams

from rushhour.errors import Fault, ScenarioError
from rushhour.quantities.units import Buffer, Duration, Probability, Rate, Size
from rushhour.spec.explain import explain
from rushhour.spec.load import show_key
from rushhour.spec.model import Model, Name, Words
from rushhour.spec.topology import Preset
from rushhour.spec.workload import Algorithm

if TYPE_CHECKING:
    from collections.abc import Mapping

WHERE = "playground"
MOST_FLOWS = 64
"""Flows that are read at all; how many may run is a bound of the server."""
SEED_MAX = 2**31 - 1


class SetupFlow(Model):
    """One flow; by default TCP with the kernel's algorithm, from beginning to end."""

    name: Name | None = Field(None, description="name of the flow; default its algorithm")
    kind: Literal["tcp", "udp", "ping"] = Field(
        "tcp", description='"tcp" or "udp": a stream; "ping": ICMP echo'
    )
    cc: Algorithm | None = Field(None, description="congestion control; default the kernel's")
    start: Duration = Field(Duration(0), description="when it begins")
    duration: Duration | None = Field(None, description="how long it sends; default to the end")
    rate: Rate | None = Field(
        None, description="udp: at which it sends; tcp: at which the application writes"
    )
    rtt: Duration | None = Field(None, description="its own base round-trip time; default the path's")
    rcvbuf: Size | None = Field(None, description="SO_RCVBUF of the receiver; default tuned by the kernel")
    interval: Duration | None = Field(None, description="ping: time between two; default 100ms")


class Setup(Model):
    """One experiment."""

    kernel: Name | None = Field(None, description="name of a built kernel; default the latest version")
    preset: Preset = Field("dumbbell", description='"dumbbell", "chain" or "star"')
    size: Annotated[int, Field(strict=True, ge=1, le=16)] | None = Field(
        None, description="pairs (dumbbell, default one a flow), hops (chain, default 2), leaves (star)"
    )
    rate: Rate = Field(Rate(20 * 10**6), description="rate of the common link")
    rtt: Duration = Field(Duration(40 * 10**6), description="base round-trip time")
    buffer: Buffer = Field(Buffer(bdp=1.0), description="limit of the queue")
    loss: Probability = Field(Probability(0.0), description="seeded random loss")
    jitter: Duration | None = Field(
        None, description="seeded delay between 0 and this; default RTT/20, 100us at most"
    )
    queue: Words = Field("fifo", description="queue discipline in tc's words")
    ecn: bool = Field(default=False, description="explicit congestion notification on all hosts")
    duration: Duration = Field(Duration(5 * 10**9), description="length of the experiment")
    seed: Annotated[int, Field(strict=True, ge=0, le=SEED_MAX)] = Field(
        1, description="what chance starts from"
    )
    flow: tuple[SetupFlow, ...] = Field(
        (SetupFlow(cc="cubic"), SetupFlow(cc="reno", start=Duration(10**9))),
        min_length=1,
        max_length=MOST_FLOWS,
        description="the flows, one at least",
    )

    def document(self) -> dict[str, object]:
        """The setup as JSON, with everything in it that has a value."""
        return self.model_dump(mode="json", exclude_none=True)


MODELS: Mapping[tuple[str, ...], type[Model]] = {(): Setup, ("flow",): SetupFlow}
_WORD = ("start", "duration", "rate", "rtt", "rcvbuf", "interval", "name")
"""Keys of a flow's word in an address, in the order in which they are written."""
_OTHERS = ("udp", "ping")


def read(document: Any) -> Setup:
    """Read the setup from a JSON document.

    Raises:
        ScenarioError: with every fault in it.
    """
    try:
        return Setup.model_validate(document)
    except ValidationError as error:
        found = explain(error, MODELS)
    shown = document if isinstance(document, dict) else {}
    raise ScenarioError([Fault(WHERE, None, show_key(p.path, shown), p.message, p.hint) for p in found])


def from_query(query: QueryParams | str) -> Setup:
    """The setup that an address's query describes; what it does not name has its default.

    Raises:
        ScenarioError: with every fault in it.
    """
    params = query if isinstance(query, QueryParams) else QueryParams(query)
    document: dict[str, Any] = {}
    faults = []
    for key, value in params.multi_items():
        if key == "flow":
            flow, wrong = _flow(value)
            document.setdefault("flow", []).append(flow)
            faults += wrong
        elif key in Setup.model_fields:
            document[key] = _value(key, value)
        elif key not in BESIDE:
            faults.append(Fault(WHERE, None, key, "unknown key", f"allowed: {', '.join(Setup.model_fields)}"))
    if faults:
        raise ScenarioError(faults)
    return read(document)


BESIDE = ("pin", "look", "v")
"""What an address of the playground has beside the setup: a pinned one, the preset it came from."""


def address(setup: Setup) -> str:
    """The query of a setup as it stands in an address, readable where it may be."""
    return urlencode(to_query(setup), safe=",=")


def to_query(setup: Setup) -> list[tuple[str, str]]:
    """The query of a setup: what differs from the default, and always the kernel and the flows."""
    standard = Setup()
    pairs = []
    for key in Setup.model_fields:
        value = getattr(setup, key)
        if key == "flow" or (value == getattr(standard, key) and key != "kernel") or value is None:
            continue
        pairs.append((key, "1" if value is True else str(value)))
    return pairs + [("flow", _flow_word(flow)) for flow in setup.flow]


def _value(key: str, value: str) -> object:
    if key in ("size", "seed") and value.isdecimal():
        return int(value)
    if key == "ecn":
        return {"1": True, "true": True, "0": False, "false": False}.get(value, value)
    return value


def _flow(word: str) -> tuple[dict[str, object], list[Fault]]:
    """A flow's word: `cubic,start=1s`, `udp,rate=2mbit`, `tcp` for the kernel's own algorithm."""
    kind, *parts = word.split(",")
    flow: dict[str, object] = {"kind": kind} if kind in _OTHERS else {}
    if kind not in (*_OTHERS, "tcp"):
        flow["cc"] = kind
    wrong = []
    for part in parts:
        key, equals, value = part.partition("=")
        if equals and key in _WORD:
            flow[key] = value
        else:
            hint = "a flow is written cubic,start=1s or udp,rate=2mbit; keys: " + ", ".join(_WORD)
            wrong.append(Fault(WHERE, None, "flow", f'"{part[:40]}" says nothing of a flow', hint))
    return flow, wrong


def _flow_word(flow: SetupFlow) -> str:
    standard = SetupFlow()
    parts = [flow.kind if flow.kind in _OTHERS else flow.cc or "tcp"]
    for key in _WORD:
        value = getattr(flow, key)
        if value is not None and value != getattr(standard, key):
            parts.append(f"{key}={value}")
    return ",".join(parts)
