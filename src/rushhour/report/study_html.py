"""A study's report as one HTML file: no network, no server; figures are drawn when they come into sight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.files.finished import put
from rushhour.report.shell import FIGURES, digest, joined, template
from rushhour.report.study import gathered

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rushhour.record.result_set import ResultSet
    from rushhour.report.study import Whole

_SCRIPTS = (*FIGURES, "study.js")
_STYLES = ("uplot/uPlot.min.css", "report.css", "study.css")
MAX_ROWS = 24
"""Rows of a scenario's table that stand open; a longer one is folded."""


def write(sets: Sequence[ResultSet], path: Path) -> Whole:
    """Write the report of several sets to `path`, whole or not at all; what it says.

    Raises:
        RecordError: a record cannot be read.
        ReportError: the file cannot be written.
    """
    whole = gathered(sets, path.parent)
    put(render(whole), path)
    return whole


def render(whole: Whole) -> str:
    """The page as text; the same records give the same text."""
    script, style = joined(_SCRIPTS), joined(_STYLES)
    return template("study.html").render(
        whole=whole,
        max_rows=MAX_ROWS,
        script=script,
        style=style,
        script_hash=digest(script),
        style_hash=digest(style),
    )
