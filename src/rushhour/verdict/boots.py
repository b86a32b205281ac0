"""Does a kernel boot at all? Asked when every run of it failed, to tell a broken kernel from a worse one."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import LabError
from rushhour.plan.probe import probe
from rushhour.running.batch import of_one
from rushhour.running.conductor import Conductor

if TYPE_CHECKING:
    from rushhour.lab.base import Lab
    from rushhour.lab.kernel import Kernel
    from rushhour.running.executor import Executor


def boots(one: Kernel, lab: Lab, folder: Path, executor: Executor | None = None) -> bool:
    """Whether a kernel carries out the smallest of experiments; the run is not kept.

    Raises:
        CancelledError: the run was stopped.
        RushHourError: nothing can be run here, whatever the kernel.
    """
    with (
        tempfile.TemporaryDirectory(prefix=".boot-", dir=folder) as place,
        # That it booted before is no answer: it is to boot now.
        Conductor(lab, 1, fresh=True, keep=False, executor=executor) as conductor,
    ):
        outcome = conductor.one(*of_one("boot", probe(), one, Path(place)))
    if outcome.error is not None and not isinstance(outcome.error, LabError):
        raise outcome.error
    return outcome.error is None
