"""What the page's script reads: the runs by name, and each run packed with its words and curves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rushhour.quantities.words import plural, quantity
from rushhour.report import embed
from rushhour.report.figure import over_run, page
from rushhour.report.panels import MAX_FLOWS
from rushhour.report.why import SHORT, unexplained
from rushhour.summary.expectations import told

if TYPE_CHECKING:
    from rushhour.report.embed import Columns
    from rushhour.report.model import RunView
    from rushhour.report.programs import ProgramLine

MAX_SAID, MAX_LETTERS = 8, 400
"""Last lines of each program in a page of several runs, and letters of a line; the record has all."""
MAX_METRICS = 400
"""Numbers of one run that the page lists; the index of the result set has all."""


def index(runs: list[RunView]) -> str:
    """Label, factors and validity of every run, as JSON that is safe inside a script element."""
    entries = [{"label": run.label, "factors": run.factors, "valid": run.valid} for run in runs]
    # Only "</script" and "<!--" could end the text early.
    return json.dumps(entries, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def packed(run: RunView, *, programs: bool = False) -> str:
    """A run with its curves (`report/embed.py`), and with its `programs` where nothing else tells of them."""
    columns: Columns = []
    panels = [page.words(plot, columns) for plot in over_run.figures(run)]
    ran = {"programs": [_program(one) for one in run.programs]} if programs and run.programs else {}
    return embed.pack({**_words(run), **ran, "panels": panels}, columns)


def _program(one: ProgramLine) -> dict[str, Any]:
    said, before = one.last(MAX_SAID)
    return {
        "name": one.name,
        "how": f"on {one.node}, {one.when}" + (f": {one.end}" if one.end else ""),
        "fault": one.fault,
        "before": f"The record has {plural(before, 'line')} before these." if before else "",
        "said": [[when, _cut(text)] for when, _, text in said],
    }


def _cut(text: str) -> str:
    return text if len(text) <= MAX_LETTERS else text[: MAX_LETTERS - 1] + "…"


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
        "verdicts": [list(one) for one in told(run.verdicts)],
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
