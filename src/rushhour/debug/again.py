"""What is to be made again: the run of a record, or one of a set that failed and left nothing but words."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rushhour.errors import RecordError, UsageError
from rushhour.lab.base import Job
from rushhour.plan import expand
from rushhour.plan.lower import Lowering
from rushhour.plan.programs import root_places
from rushhour.record.context_file import ContextFile
from rushhour.record.document import read
from rushhour.record.manifest import VIRTUAL
from rushhour.record.record import Record
from rushhour.record.result_set import ResultSet
from rushhour.spec import Scenario
from rushhour.verdict.cell import KERNELS_FAULT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rushhour.lab.base import Tested
    from rushhour.plan import Cell
    from rushhour.record.manifest import Kernel
    from rushhour.record.plan_file import PlanFile
    from rushhour.record.set_file import SetFile, Unrun

_BEGIN_NS = 64_000_000_000
"""When an experiment begins in the kernel's own time, if its set-up is no longer (docs/labs.md)."""


@dataclass(frozen=True)
class Again:
    """A run that is made again.

    Attributes:
        path: The folder that was named.
        plan: What its agent was given.
        context: What that means.
        labels: What the run was for.
        kernel: Its kernel.
        begin_ns: When the experiment began, in ns since the kernel's start.
        record: What it left; None of a run that failed.
        failed: What it failed with: the first line.
        places: Of tools of the plan, where they are on this machine.
    """

    path: Path
    plan: PlanFile
    context: ContextFile
    labels: Mapping[str, Any]
    kernel: Kernel
    begin_ns: int
    record: Record | None = None
    failed: str = ""
    places: Mapping[str, str] = field(default_factory=dict)

    def job(self, kernel: Tested) -> Job:
        """The job for a lab, with this kernel."""
        return Job(self.plan, self.context, kernel, self.labels, places=self.places)


def again(run: Path, *, failed: bool = False) -> Again:
    """The run in a folder; of a set without records, or if it is asked for, the first that failed.

    Raises:
        RecordError: there is none, or several.
        UsageError: it was no virtual kernel's, or none failed.
    """
    results = ResultSet(run)
    faults = [one for one in results.about.failures if one.kind in KERNELS_FAULT]
    if faults and (failed or not results.folders()):
        return _failed(run, results.about, faults[0])
    if failed:
        raise UsageError(
            "no run of this set failed by its kernel's fault", where=str(run),
            hint="name the folder of a set in which one did: it has a set.json that says so",
        )  # fmt: skip
    record = one_run(run)
    about = record.manifest
    labels = {"scenario": about.scenario, "cell": about.cell, "repetition": about.repetition}
    context = read(ContextFile, about.context, str(run))
    return Again(run, record.plan, context, labels, about.kernel, record.result.start_clock_ns, record)


def one_run(run: Path) -> Record:
    """The record in a folder.

    Raises:
        RecordError: there is none, or several.
        UsageError: it was no virtual kernel's.
    """
    results = ResultSet.open(run)
    folders = results.folders()
    if len(folders) > 1:
        raise RecordError(
            f"there are {len(folders)} runs here", where=str(run), hint=f"name one of them, as {folders[0]}"
        )
    record = Record.open(folders[0])
    if record.manifest.lab not in VIRTUAL:
        raise UsageError(
            "this run was in real time, which does not stand still", where=str(run),
            hint="debug a run of the lab uml",
        )  # fmt: skip
    return record


def _failed(run: Path, about: SetFile, one: Unrun) -> Again:
    kernel = next((kernel for kernel in about.kernels if kernel.name == one.kernel), None)
    cell = _cell(about, one)
    if kernel is None or cell is None or one.seed is None:
        raise RecordError("set.json does not say which run failed", where=str(run))
    lowering = Lowering(cell.scenario)
    lowered = lowering.of(one.seed)
    labels = {
        "scenario": {
            "name": about.scenario.name,
            "title": about.scenario.title,
            "resolved": lowering.canonical,
        },
        "cell": {"index": cell.index, "factors": cell.factors},
        "repetition": one.repetition,
    }
    message = (one.message or "it failed").splitlines()[0]
    places = root_places(cell.scenario)
    return Again(run, lowered.plan, lowered.context, labels, kernel, _BEGIN_NS, failed=message, places=places)


def _cell(about: SetFile, one: Unrun) -> Cell | None:
    """The cell of a run that failed, counted out of the set's scenario again: by its factors."""
    wanted = json.loads(json.dumps(dict(one.cell.factors)))
    cells = expand(Scenario.model_validate(about.scenario.resolved))
    return next((cell for cell in cells if json.loads(json.dumps(cell.factors)) == wanted), None)
