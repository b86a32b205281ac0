"""Does a kernel boot at all? Asked when every run of it failed, to tell a broken kernel from a worse one."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import LabError
from rushhour.lab.base import Job
from rushhour.plan.probe import probe

if TYPE_CHECKING:
    from rushhour.lab.base import Lab
    from rushhour.lab.kernel import Kernel


def boots(one: Kernel, lab: Lab, folder: Path) -> bool:
    """Whether a kernel carries out the smallest of experiments; the run is not kept."""
    lowered = probe()
    with tempfile.TemporaryDirectory(prefix=".boot-", dir=folder) as place:
        try:
            lab.run(Job(lowered.plan, lowered.context, one, {}), Path(place) / "run")
        except LabError:
            return False
    return True
