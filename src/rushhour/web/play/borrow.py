"""Scenarios of the catalogue that the playground can show, exactly or shortened to what it gives.

A cell is borrowed if the playground has a control for everything in it. That is not believed but tried: the
setup's plan must be the cell's, but for what is read and how often. A cell that is longer than the server
allows is shortened, and that is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from rushhour import spec
from rushhour.errors import RushHourError
from rushhour.plan import expand, lower
from rushhour.quantities.units import Duration
from rushhour.web.play.scenario import lowered, packets, scenario
from rushhour.web.play.setup import Setup, address, read

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.spec import Flow, Scenario
    from rushhour.web.settings import Bounds

MOST_CELLS = 200
"""Cells of a sweep that are looked at."""


@dataclass(frozen=True)
class Borrowed:
    """A cell as an address's query, and whether it is shorter than in the catalogue."""

    label: str
    query: str
    shortened: bool


@dataclass(frozen=True)
class Lender:
    """A scenario of the catalogue: its words, its first cell, and how many cells it has."""

    name: str
    title: str
    question: str
    first: Borrowed
    cells: int

    @property
    def words(self) -> str:
        """The words that a search looks at."""
        return f"{self.name} {self.title} {self.question}".lower()


def setup_of(cell: Scenario) -> Setup | None:
    """The setup that is the cell's own experiment; None where there is none."""
    if cell.topology is None or cell.node or cell.link or cell.pattern or not cell.flow:
        return None
    try:
        setup = read(_document(cell))
        same = _experiment(lowered(setup)[1].plan) == _experiment(lower(cell, cell.seed).plan)
    except RushHourError:
        return None
    return setup if same else None


def shortened(setup: Setup, bounds: Bounds) -> Setup:
    """The setup, not longer than the bounds allow; flows that would end later go on to its end."""
    per_second = packets(setup) / setup.duration.seconds
    whole = int(min(bounds.duration.seconds, bounds.packets / per_second))
    if whole < 1 or setup.duration.seconds <= whole:
        return setup
    end = Duration(whole * 10**9)
    flows = [
        flow.model_copy(update={"duration": None})
        if flow.duration is not None and flow.start.ns + flow.duration.ns >= end.ns
        else flow
        for flow in setup.flow
    ]
    return setup.model_copy(update={"duration": end, "flow": tuple(flows)})


@cache
def lenders(bounds: Bounds) -> tuple[Lender, ...]:
    """Every scenario of the catalogue that the playground can open, in the catalogue's order."""
    found = []
    for file in spec.catalogue().values():
        whole = spec.load_scenario(file)
        values = next(whole.sweep.combinations(), {})
        first = _borrow("", spec.with_values(whole, values), bounds)
        if first is not None:
            found.append(Lender(file.name, whole.title or file.stem, whole.question, first, whole.sweep.size))
    return tuple(found)


def borrowed(name: str, bounds: Bounds) -> list[Borrowed]:
    """The cells of a scenario that can be borrowed.

    Raises:
        UsageError: the catalogue has no such scenario.
    """
    whole = spec.load_scenario(spec.find_in_catalogue(name)[0])
    found = (_borrow(cell.label, cell.scenario, bounds) for cell in expand(whole)[:MOST_CELLS])
    return [one for one in found if one is not None]


def _borrow(label: str, cell: Scenario, bounds: Bounds) -> Borrowed | None:
    setup = setup_of(cell)
    if setup is None:
        return None
    shown = shortened(setup, bounds)
    try:
        scenario(shown, bounds)
    except RushHourError:
        return None
    return Borrowed(label, address(shown), shown != setup)


def _experiment(plan: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in plan.items() if key not in ("readings", "sample_ns")}


def _document(cell: Scenario) -> dict[str, object]:
    """What the playground can say of a cell; what it cannot is left out, and the plans will differ."""
    topology = cell.topology
    assert topology is not None
    words = topology.model_dump(mode="json", exclude_none=True)
    document: dict[str, object] = {
        key: words[key]
        for key in ("preset", "rate", "rtt", "buffer", "loss", "jitter", "queue")
        if key in words
    }
    document |= {
        "size": topology.size,
        "duration": str(cell.span),
        "seed": cell.seed,
        "ecn": cell.ecn is True,
    }
    flows = [_flow(flow, copy) for flow in cell.flow for copy in range(flow.count)]
    for flow, rtt in zip(flows, words.get("rtts", ()), strict=False):
        flow["rtt"] = rtt
    return document | {"flow": flows}


def _flow(flow: Flow, copy: int) -> dict[str, object]:
    words = flow.model_dump(mode="json", by_alias=True, exclude_none=True)
    keys = ("name", "kind", "cc", "start", "duration", "rate", "rcvbuf", "interval")
    found = {key: words[key] for key in keys if key in words}
    return found | ({"name": f"{flow.name}.{copy + 1}"} if flow.count > 1 else {})
