"""From a result set to what is drawn: one run after the other, so that memory stays flat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rushhour.record import Record
from rushhour.report.model import kernel_name, view

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rushhour.record import ResultSet
    from rushhour.report.model import RunView

POINTS = 1_200_000
"""Samples drawn in one report, all runs together; runs get equal shares, and so do the curves of a run."""
MAX_DRAWN = 400
"""Runs whose curves a report holds; of more, evenly chosen ones."""


@dataclass(frozen=True)
class About:
    """What the runs of a set have in common, read from the first: words for the head of a report."""

    title: str
    question: str
    description: str
    source: str
    runs: int
    manifest: Mapping[str, Any]


def about(results: ResultSet) -> About:
    """The head of the report."""
    first = next(iter(results)).manifest
    scenario = first.get("scenario", {})
    resolved = scenario.get("resolved") or {}
    source = resolved.get("source") or {}
    said = ", ".join(str(source[key]) for key in ("document", "section", "figures") if source.get(key))
    title = str(scenario.get("title") or resolved.get("title") or scenario.get("name") or results.path.name)
    return About(
        title,
        str(resolved.get("question") or ""),
        str(resolved.get("description") or ""),
        said,
        len(results),
        first,
    )


def views(results: ResultSet, *, curves: bool = True, total_points: int = POINTS) -> Iterator[RunView]:
    """The runs of a set, each with its metrics, factors and curves.

    A run's factors are its cell's, and `kernel` and `repetition` where these differ within the set. Without
    `curves` no series is read.
    """
    manifests = [(record.path.name, record.manifest) for record in results]
    kernels = {kernel_name(manifest) for _, manifest in manifests}
    repetitions = {manifest.get("repetition", 0) for _, manifest in manifests}
    order = sorted(range(len(manifests)), key=lambda place: _place(manifests[place][1]))
    drawn = set(order[:: -(-len(order) // MAX_DRAWN)]) if curves else set()
    share = min(80_000, total_points // max(1, len(drawn)))
    records = {record.path.name: record.path for record in results}
    for place in order:
        record = Record.open(records[manifests[place][0]])
        factors = dict(record.factors)
        if len(kernels) > 1:
            factors["kernel"] = kernel_name(record.manifest)
        if len(repetitions) > 1:
            factors["repetition"] = str(record.manifest.get("repetition", 0))
        yield view(record, record.metrics(), factors=factors, points=share if place in drawn else 0)


def _place(manifest: Mapping[str, Any]) -> tuple[int, str, int]:
    cell = manifest.get("cell", {})
    return int(cell.get("index", 0)), kernel_name(manifest), int(manifest.get("repetition", 0))
