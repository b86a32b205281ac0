"""What 100 000 runs cost: indexed, queried, reported and compared, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.lab import kernel as kernels

from . import many
from .fleet import template as template_of
from .measure import Figure, cost

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .workshop import Workshop

RUNS, FEW, COMPARED = 100_000, 6_000, 10_000

_BEGIN = (
    "import json, resource, sys, time; begun = time.perf_counter(); folder = sys.argv[1]\nimport rushhour\n"
)
_END = """
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"wall": time.perf_counter() - begun, "cpu": time.process_time(), "peak": peak}))
"""
STEPS = {
    "index": "rushhour.open(folder).write_index()",
    "read it run by run": (
        "from rushhour.summary import index\nfor part in index.stream(rushhour.open(folder)): pass"
    ),
    "mean of a metric by cell, by pyarrow": (
        "import pyarrow.compute as pc\ndata = rushhour.open(folder).dataset()\n"
        "rows = data.to_table(columns=['cell', 'value'], filter=pc.field('metric') == 'goodput_bps')\n"
        "rows.group_by('cell').aggregate([('value', 'mean')])"
    ),
    "report": (
        "from pathlib import Path\nfrom rushhour.report import html\n"
        "html.write(rushhour.open(folder), Path(folder) / 'report.html')"
    ),
}


def hundred_thousand(shop: Workshop) -> Iterator[Figure]:
    """The whole path over a made-up set of very many runs; memory is what counts."""
    template, runs = template_of(shop), FEW if shop.quick else RUNS
    folder = shop.place()
    made = cost(lambda: many.make(template, folder, runs))
    yield Figure(f"{runs} runs made up", "s", [made.wall], [made.cpu])
    for name, code in STEPS.items():
        found = _alone(code, folder)
        yield Figure(
            f"{runs} runs: {name}", "MB", [found["peak"]], target=2000,
            note=f"{found['wall']:.0f} s, {found['cpu']:.0f} CPU s",
        )  # fmt: skip
    yield Figure("the report's size", "MB", [(folder / "report.html").stat().st_size / 1e6], target=10)
    yield from _compared(shop, template)


def _compared(shop: Workshop, template: Path) -> Iterator[Figure]:
    """Sets whose files are equal to the byte, and sets of two kernels that differ in every cell."""
    runs = FEW // 5 if shop.quick else COMPARED
    base = many.make(template, shop.place(), runs, kernel="base").path
    candidates = {"equal to the byte": many.make(template, shop.place(), runs, kernel="candidate").path}
    if other := _another(shop.kernel):
        apart = template_of(replace(shop, kernel=other))
        candidates[f"every cell differs (beside {other})"] = many.make(
            apart, shop.place(), runs, kernel=other, shift=1.1
        ).path
    for how, candidate in candidates.items():
        found = _alone(f"rushhour.compare(folder, {str(candidate)!r})", base)
        yield Figure(
            f"two sets of {runs} runs compared, {how}", "MB", [found["peak"]], target=2000,
            note=f"{found['wall']:.0f} s, {found['cpu']:.0f} CPU s",
        )  # fmt: skip


def _another(name: str) -> str | None:
    """A kernel of another release, of those that are there."""
    chosen = kernels.find(name).identity["release"]
    return next((one.name for one in kernels.installed() if one.identity["release"] != chosen), None)


def _alone(code: str, folder: Path) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", f"{_BEGIN}{code}{_END}", str(folder)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found
