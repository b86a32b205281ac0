"""Fixtures for live experiments in the `uml` lab.

Virtual runs are exact, so tolerances are those of the law, not of the measurement; where a test allows
more, it says why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import cpus
import pytest
from known_runs import record_of

from rushhour.lab import kernel as kernels
from rushhour.lab.base import Job
from rushhour.lab.uml import UmlLab
from rushhour.plan import lower
from rushhour.spec.load import load_scenario

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.lab.kernel import Kernel
    from rushhour.record.record import Record

KERNELS = ("debian-6.1", "debian-6.12")


class Experiment(Protocol):
    """Runs a scenario and gives its record; a run that is known only if it need not be `fresh`."""

    def __call__(
        self, text: str, *, seed: int = 1, kernel: str | None = None, fresh: bool = False
    ) -> Record: ...


@pytest.fixture(params=KERNELS)
def kernel(request: pytest.FixtureRequest) -> Kernel:
    """Both kernels that must hold every law."""
    return kernels.find(request.param)


@pytest.fixture
def experiment(kernel: Kernel, tmp_path: Path) -> Experiment:
    lab = UmlLab()
    runs = iter(range(1_000_000))

    def run(text: str, *, seed: int = 1, kernel: str | None = None, fresh: bool = False) -> Record:
        number = next(runs)
        scenario = tmp_path / f"scenario-{number}.toml"
        scenario.write_text('title = "Truth"\nquestion = "Does the law hold?"\n' + text)
        lowered = lower(load_scenario(str(scenario)), seed)
        chosen = kernels.find(kernel) if kernel else default
        job = Job(lowered.plan, lowered.context, chosen, {})
        record = record_of(lab, job, tmp_path / f"run-{number}", cpus.own(), fresh=fresh)
        assert record.manifest["valid"], record.manifest["invalid_reasons"]
        return record

    default = kernel
    return run


def metric(record: Record, name: str, scope: str = "total") -> float:
    """A metric's value, which must be defined."""
    values = {(value.metric, value.scope): value.value for value in record.metrics()}
    found = values[name, scope]
    assert found is not None
    return found
