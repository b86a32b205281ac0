"""Paths with exactly one fault each: the right cause comes first, the bottleneck is in the right layer.

And sound paths draw no warning. Several diagnoses at a time, and other tests in real time beside them: what
matters are ranks of causes, not figures.
Where the first is not right, the path gets another by itself, when no other diagnosis takes its processors.
"""

from __future__ import annotations

import os
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from beds.faults import FAULTS, Fault
from beds.path import Wanted

from rushhour.diagnosis import run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rushhour.diagnosis.diagnosis import Diagnosis

pytestmark = [pytest.mark.host, pytest.mark.alone(beside=True)]

# One waits more than it works: it takes 0.3 of a processor.
AT_ONCE = 2 * len(os.sched_getaffinity(0))
AGAIN = 2
SOUND = {
    "fast": Wanted(rate="500mbit", rtt=None, buffer="5ms"),
    "usual": Wanted(),
    "far": Wanted(rate="10mbit", rtt="100ms", buffer="100ms"),
    "near": Wanted(rate="50mbit", rtt="2ms", buffer="10ms"),
    "jumbo": Wanted(rate="100mbit", rtt="10ms", mtu=9000),
}
OF_THE_MACHINE = {"machine-busy", "cpu-busy", "cpu-limited", "backlog-overflow", "stolen-time"}
"""What a test may not blame on the path: other tests, linters and compilers use the same processors."""


class Ward:
    """Where each path is, or is going to be, diagnosed."""

    def __init__(self, futures: dict[str, Future[Diagnosis]], folder: Path) -> None:
        self.futures, self.folder = futures, folder
        self.again: Counter[str] = Counter()

    def diagnosis(self, name: str, right: Callable[[Diagnosis], bool]) -> Diagnosis:
        """Of the path of this name; while it is not right another, twice at most, when all others are done.

        A machine that stands still for a moment lets a path's queue run empty, and then fills it at once.
        """
        found = self.futures[name].result(timeout=200)
        while not right(found) and self.again[name] < AGAIN:
            for future in self.futures.values():
                future.exception()
            self.again[name] += 1
            another: Future[Diagnosis] = Future()
            another.set_result(_diagnose(name, self.folder / f"again-{self.again[name]}"))
            self.futures[name] = another
            found = another.result()
        return found


@pytest.fixture(scope="module")
def ward(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ward]:
    """All paths that are asked for, some at a time; those that need all of the machine come last."""
    asked: list[str] = []
    for item in request.session.items:
        parameters: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
        if item.path == request.path and (name := parameters.get("name")) not in {None, *asked}:
            asked.append(str(name))
    folder = tmp_path_factory.mktemp("diagnoses")
    with ThreadPoolExecutor(AT_ONCE) as several, ThreadPoolExecutor(1) as one:
        together = [name for name in asked if not _patient(name).alone]
        futures = {name: several.submit(_diagnose, name, folder) for name in together}

        def wait() -> None:
            for future in futures.values():
                future.exception()

        one.submit(wait)
        later = {name: one.submit(_diagnose, name, folder) for name in asked if name not in together}
        yield Ward(futures | later, folder)


def _patient(name: str) -> Fault:
    return FAULTS.get(name) or replace(FAULTS["none"], wanted=SOUND[name], alone=name == "fast")


def _diagnose(name: str, folder: Path) -> Diagnosis:
    with _patient(name).path() as p:
        return run(p.a, p.b, quick=True, out=folder / name)


def _told(found: Diagnosis) -> str:
    lines = [f"{one.severity} {one.key} at {one.where} ({one.layer}): {one.title}" for one in found.findings]
    return "\n".join([str(found.bottleneck), *map(str, found.failed.items()), *lines])


def _of_the_path(fault: Fault, found: Diagnosis) -> Diagnosis:
    """What the hypervisor or other programs do to this machine meanwhile is true, and no part of the path."""
    others = OF_THE_MACHINE - fault.first
    return replace(found, findings=[one for one in found.findings if one.key not in others])


def _named(fault: Fault, found: Diagnosis) -> bool:
    """Whether the right finding stands where it belongs."""
    if not fault.grave:
        allowed = fault.first | OF_THE_MACHINE
        return bool(fault.first & {one.key for one in found.findings}) and allowed.issuperset(
            one.key for one in found.faults
        )
    first = _of_the_path(fault, found).findings[0]
    return first.key in fault.first and first.severity != "note" and fault.where in {None, first.where}


@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if fault.first])
def test_the_cause_comes_first(name: str, ward: Ward) -> None:
    fault = FAULTS[name]
    found = ward.diagnosis(name, lambda found: _named(fault, found))
    assert _named(fault, found), _told(found)
    named = next(one for one in found.findings if one.key in fault.first)
    assert named.source
    assert named.evidence
    assert found.exit == int(fault.grave) or not fault.grave


@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if fault.layer])
def test_the_bottleneck_is_in_its_layer(name: str, ward: Ward) -> None:
    fault = FAULTS[name]

    def right(found: Diagnosis) -> bool:
        limit = _of_the_path(fault, found).bottleneck
        return limit is not None and (limit.layer == fault.layer or limit.finding in fault.first)

    found = ward.diagnosis(name, right)
    assert right(found), _told(found)
    limit = found.bottleneck
    assert limit is not None
    assert 0 < limit.limited <= 1


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_path_draws_no_warning(name: str, ward: Ward) -> None:
    found = ward.diagnosis(name, lambda found: not found.faults)
    assert not [one for one in found.faults if one.key not in OF_THE_MACHINE], _told(found)
    assert found.bottleneck is not None
    assert not found.failed
