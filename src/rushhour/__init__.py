"""Rush Hour: a congestion laboratory for the Linux network stack.

    results = rushhour.run("tomasov/window-scaling")
    for record in results:
        record.series("snd_cwnd", flow="long")
        record.metrics()

`open` reads a result set or a run that is already there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.record import ResultSet

__version__ = "0.1.0"


# The imports wait until they are needed: `import rushhour` and `rushhour --help` load no scientific package.
def run(scenario: str | Path, **options: Any) -> ResultSet:
    """Run a scenario (a file, or a name of the catalogue) and give its result set.

    Takes the options of `rushhour.runner.run`: `kernels`, `sets`, `repeat`, `seed`, `jobs`, `out`, `fresh`,
    `quick`.
    """
    from rushhour import runner  # noqa: PLC0415

    return runner.run(scenario, **options)


def open(path: str | Path) -> ResultSet:  # noqa: A001 - as in `rushhour.open`
    """Open a result set, or the folder of one run."""
    from rushhour.record import ResultSet  # noqa: PLC0415

    return ResultSet.open(path)
