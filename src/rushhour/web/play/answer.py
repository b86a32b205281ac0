"""What comes back of an experiment: its numbers, its words, and its curves packed for a browser."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rushhour.record.seal import raw_digests
from rushhour.report import payload
from rushhour.report.model import kernel_name, view
from rushhour.report.tables import cells_table, flows_table
from rushhour.report.topology import topology_svg
from rushhour.summary.measured import metrics_of
from rushhour.web.play.coarse import coarser

if TYPE_CHECKING:
    from rushhour.record.record import Record
    from rushhour.report.tables import Table

FORMAT = "rushhour-play/1"
POINTS = 32_000
"""Samples of all curves together: more than a screen shows."""


@dataclass(frozen=True)
class Answer:
    """`document` is what is sent, the same in every run; `elapsed_s` the lab's own wall-clock time."""

    document: dict[str, Any]
    elapsed_s: float


def answer(record: Record) -> Answer:
    """The answer of a record."""
    manifest, metrics = record.manifest, metrics_of(record)
    shown = view(record, metrics, factors={}, points=POINTS)
    shown = replace(shown, panels=[coarser(panel, record) for panel in shown.panels])
    totals, flows = cells_table([shown]), flows_table(shown)
    document = {
        "format": FORMAT,
        "key": record.key,
        "raw_sha256": raw_sha256(record),
        "kernel": {"name": manifest.kernel.name, "release": manifest.kernel.release},
        "ran_on": kernel_name(manifest.kernel),
        "virtual_s": record.context.duration_ns / 1e9,
        "valid": record.valid,
        "invalid_reasons": shown.reasons,
        "warnings": shown.warnings,
        "conditions": shown.conditions,
        "totals": _columns(totals, totals.rows[0].values),
        "flows": [
            {"name": line.name, "cc": line.cc, "path": line.path, "when": line.when, "kind": line.kind}
            | {"numbers": _columns(flows, row.values)}
            for line, row in zip(shown.flows, flows.rows, strict=True)
        ],
        "metrics": [[value.metric, value.scope, _finite(value.value), value.unit] for value in metrics],
        "topology": topology_svg(record),
        "series": payload.packed(shown),
    }
    return Answer(document, float(manifest.elapsed_s or 0))


def raw_sha256(record: Record) -> str:
    """One checksum of all raw tables: equal wherever the same experiment runs on the same kernel."""
    lines = (f"{name} {digest}\n" for name, digest in raw_digests(record.manifest.files).items())
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _columns(table: Table, values: list[float | None]) -> list[dict[str, object]]:
    """Metric, title, value, unit and the value in words, of each column."""
    return [
        {
            "metric": column.metric,
            "title": column.title,
            "value": _finite(value),
            "unit": column.unit,
            "text": column.said(value),
        }
        for column, value in zip(table.columns, values, strict=True)
        if value is not None
    ]


def _finite(value: float | None) -> float | None:
    return value if value is not None and abs(value) != float("inf") and value == value else None  # noqa: PLR0124 - nan
