"""What the page's script reads: the runs by name, and each run packed with its words and curves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rushhour.quantities.words import quantity
from rushhour.report import embed
from rushhour.report.figure import over_run, page
from rushhour.report.panels import MAX_FLOWS
from rushhour.report.why import SHORT, unexplained

if TYPE_CHECKING:
    from rushhour.report.embed import Columns
    from rushhour.report.model import RunView

MAX_METRICS = 400
"""Numbers of one run that the page lists; the index of the result set has all."""


def index(runs: list[RunView]) -> str:
    """Label, factors and validity of every run, as JSON that is safe inside a script element."""
    entries = [{"label": run.label, "factors": run.factors, "valid": run.valid} for run in runs]
    # Only "</script" and "<!--" could end the text early.
    return json.dumps(entries, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def packed(run: RunView) -> str:
    """A run with its curves (`report/embed.py`)."""
    columns: Columns = []
    panels = [page.words(plot, columns) for plot in over_run.figures(run)]
    return embed.pack({**_words(run), "panels": panels}, columns)


def _words(run: RunView) -> dict[str, Any]:
    flows = [
        {key: value for key, value in vars(flow).items() if key != "crossed"}
        for flow in run.flows[:MAX_FLOWS]
    ]
    metrics = [
        [value.metric, value.scope, quantity(value.value, value.unit), value.note or ""]
        for value in run.metrics
    ]
    return {
        "label": run.label,
        "conditions": run.conditions,
        "kernel": run.kernel,
        "lab": run.lab,
        "seed": run.seed,
        "valid": run.valid,
        "reasons": run.reasons,
        "warnings": run.warnings,
        "verdicts": [[verdict.ok, verdict.message] for verdict in run.verdicts],
        "duration_s": run.duration_s,
        "flows": flows,
        "more_flows": len(run.flows) - len(flows),
        "metrics": metrics[:MAX_METRICS],
        "command": run.command,
        "why": [
            {
                "flow": one.flow,
                "parts": [[limit, SHORT[limit], share] for limit, share in one.parts],
                "said": [vars(found) for found in one.said],
            }
            for one in run.why
        ],
        "unexplained": unexplained(run),
    }
