"""CPUs for tests: two workers of one session do not share one."""

from __future__ import annotations

import os


def own() -> int:
    """The CPU that this worker of the tests pins virtual kernels to."""
    there = sorted(os.sched_getaffinity(0))
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    return there[int(worker) % len(there)]
