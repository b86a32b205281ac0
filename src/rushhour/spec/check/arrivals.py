"""Checks of arriving flows and on/off sources: laws without a mean, keys that belong together, numbers."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from rushhour.spec.check.problem import Path, Problem
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.spec.arrivals import Arrivals, SizeLaw, TimeLaw
    from rushhour.spec.scenario import Scenario
    from rushhour.spec.workload import Flow

_PARAMETERS = {"pareto": "shape", "lognormal": "sigma", "table": "table"}
_MEASURED = ("table", "websearch")  # laws with a mean of their own
_LARGEST = 10**12  # bytes; a single flow beyond outlives every experiment
_SHORTEST = 10_000  # ns of an on/off period; finer than this the kernel's own clock granularity shows


def check_arrivals(scenario: Scenario, flow: Flow, here: Path, most: int) -> Iterator[Problem]:
    """Check the arrivals and the on/off periods of one flow; `most` is how many flows there may be in all."""
    if (flow.arrivals is None) != (flow.size is None):
        key, other = ("size", "arrivals") if flow.arrivals is None else ("arrivals", "size")
        hints = {"arrivals": 'arrivals = { rate = "50/s" }', "size": 'size = "100kB"'}
        word = (
            hints[other] if key == "arrivals" else f'{hints[other]}; one flow of a size has bytes = "100kB"'
        )
        yield Problem((*here, key), f"stands without {other}", f"write {word}")
    if flow.arrivals is not None:
        yield from _check_together(flow, here)
        yield from _check_process(flow.arrivals, (*here, "arrivals"))
        yield from _check_number(scenario, flow, here, most)
    if flow.size is not None:
        yield from _check_size(flow.size, (*here, "size"))
    yield from _check_periods(flow, here)


def _check_together(flow: Flow, here: Path) -> Iterator[Problem]:
    for key, instead in (
        ("bytes", "each arriving flow has its `size`"),
        ("on", 'arrivals in bursts are arrivals = { process = "on-off", … }'),
        ("generator", "arriving flows are the agent's own: leave it out"),
    ):
        if getattr(flow, key) not in (None, "agent"):
            yield Problem((*here, key), "stands beside arrivals", instead)


def _check_process(arrivals: Arrivals, here: Path) -> Iterator[Problem]:
    if (arrivals.rate is None) == (arrivals.load is None):
        found = "neither rate nor load" if arrivals.rate is None else "both rate and load"
        yield Problem(here, f"has {found}", 'write rate = "50/s", or load = 0.6 of the bottleneck')
    if arrivals.rate is not None and arrivals.rate.per_s == 0:
        yield Problem((*here, "rate"), "is zero: nothing would arrive", 'for example "50/s"')
    for key in ("on", "off"):
        law = getattr(arrivals, key)
        if (law is not None) != (arrivals.process == "on-off"):
            found = "is missing" if law is None else f'has no meaning for "{arrivals.process}"'
            yield Problem((*here, key), found, 'process = "on-off" needs on and off, the others have none')
        elif law is not None:
            yield from _check_time(law, (*here, key))


def _check_number(scenario: Scenario, flow: Flow, here: Path, most: int) -> Iterator[Problem]:
    if flow.arrivals is None or flow.arrivals.rate is None:
        return  # by load: known when the path is
    stop = scenario.span.ns if flow.duration is None else flow.start.ns + flow.duration.ns
    expected = flow.arrivals.rate.per_s * (stop - flow.start.ns) / 1e9
    if expected > most:
        message = f"about {expected:.0f} flows would arrive; a cell holds {most}"
        yield Problem((*here, "arrivals", "rate"), message, "lower the rate, or shorten the flow's duration")


def _check_size(law: SizeLaw, here: Path) -> Iterator[Problem]:
    kind = law.distribution
    for name, parameter in _PARAMETERS.items():
        if (getattr(law, parameter) is not None) != (kind == name):
            found = "is missing" if kind == name else f'has no meaning for "{kind}"'
            yield Problem((*here, parameter), found, f'it belongs to distribution = "{name}"')
    if kind in _MEASURED:
        if law.mean is not None:
            yield Problem((*here, "mean"), f'stands beside "{kind}", which has its own', "leave it out")
    elif law.mean is None:
        yield Problem((*here, "mean"), "is missing", 'for example mean = "100kB"')
    elif not 1 <= law.mean.bytes <= _LARGEST:
        yield Problem((*here, "mean"), f'"{law.mean}" is not between "1B" and "1TB"', None)
    elif law.max is not None and law.max.bytes <= law.mean.bytes:
        yield Problem((*here, "max"), f'"{law.max}" is not above the mean, "{law.mean}"', "raise it")
    if law.shape is not None and kind == "pareto" and law.shape <= 1:
        message = f"{law.shape:g} is not above 1: a Pareto law of that shape has no mean"
        yield Problem((*here, "shape"), message, "measured ones lie between 1.05 and 1.5")
    if law.max is not None and kind in ("fixed", *_MEASURED):
        yield Problem((*here, "max"), f'has no meaning for "{kind}"', "leave it out")
    yield from _check_table(law, here)


def _check_table(law: SizeLaw, here: Path) -> Iterator[Problem]:
    if law.table is None:
        return
    path = (*here, "table")
    if not law.table:
        yield Problem(path, "is empty", 'for example [["1kB", 0.5], ["1MB", 1.0]]')
        return
    sizes, shares = [size.bytes for size, _ in law.table], [share for _, share in law.table]
    if sizes[0] < 1 or sizes[-1] > _LARGEST:
        yield Problem(path, 'has sizes that are not between "1B" and "1TB"')
    if any(later <= early for early, later in pairwise(sizes)):
        yield Problem(path, "has sizes that do not ascend", "each size is larger than the one before")
    if any(later < early for early, later in pairwise(shares)) or shares[0] < 0:
        yield Problem(path, "has shares that fall", "they are the shares of flows up to each size")
    if shares[-1] != 1:
        yield Problem(path, f"ends at {shares[-1]:g}, not at 1", "the largest size has all flows up to it")


def _check_periods(flow: Flow, here: Path) -> Iterator[Problem]:
    if (flow.on is None) != (flow.off is None):
        key, other = ("off", "on") if flow.on is None else ("on", "off")
        yield Problem((*here, key), f"stands without {other}", 'for example on = "500ms", off = "500ms"')
    if flow.on is not None and flow.rate is None and flow.kind in kinds.TCP_STREAMS:
        hint = 'write for example rate = "10mbit"'
        yield Problem((*here, "on"), "needs the rate at which it writes while it is on", hint)
    for key in ("on", "off"):
        law = getattr(flow, key)
        if law is not None:
            yield from _check_time(law, (*here, key))


def _check_time(law: TimeLaw, here: Path) -> Iterator[Problem]:
    if law.mean.ns < _SHORTEST:
        message = "is zero" if law.mean.ns == 0 else f'"{law.mean}" is shorter than "10us"'
        yield Problem(here, message, "for a source that never pauses leave out on and off")
