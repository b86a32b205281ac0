"""A diagnosis as one offline HTML page: the answer, what to type, the numbers, the curves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rushhour.errors import RecordError
from rushhour.files.finished import put
from rushhour.record.record import Record
from rushhour.report import embed
from rushhour.report.diagnosis.story import counts, measured, place, rose
from rushhour.report.figure import over_run
from rushhour.report.figure import page as drawn
from rushhour.report.panels import panels_of
from rushhour.report.shell import PLOTS, digest, joined, template
from rushhour.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rushhour.diagnosis.diagnosis import Diagnosis
    from rushhour.report.embed import Columns

_SCRIPTS = (*PLOTS, "verdict.js")
_STYLES = ("uplot/uPlot.min.css", "report.css", "verdict.css", "diagnosis.css")
_TCP_PANELS = ("goodput", "rtt", "cwnd")
_PANELS = {"single": _TCP_PANELS, "several": _TCP_PANELS, "both": _TCP_PANELS, "udp": ("goodput", "owd")}
"""What is drawn of each experiment, by the word in its folder's name."""
POINTS = 6000
"""Samples drawn of one experiment."""


@dataclass(frozen=True)
class Picture:
    """One experiment drawn: its name in words, packed curves."""

    title: str
    packed: str


def write(diagnosis: Diagnosis, path: Path) -> Path:
    """Write the page, whole or not at all.

    Raises:
        ReportError: the file cannot be written.
    """
    put(html(diagnosis), path)
    return path


def html(diagnosis: Diagnosis) -> str:
    """The page as text."""
    script, style = joined(_SCRIPTS), joined(_STYLES)
    return template("diagnosis.html").render(
        version=__version__,
        diagnosis=diagnosis,
        case=diagnosis.case,
        place=lambda where: place(diagnosis.case, where),
        facts=_facts(diagnosis),
        counts=counts(diagnosis),
        measured=measured(diagnosis),
        groups=_groups(diagnosis),
        differing=[row for row in diagnosis.table if row.differs],
        rose=list(rose(diagnosis)),
        pictures=list(_pictures(diagnosis)),
        script=script,
        style=style,
        script_hash=digest(script),
        style_hash=digest(style),
    )


def _facts(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    found = [("Made", diagnosis.made.replace("T", " ").removesuffix("Z") + " UTC")]
    for end in ("a", "b"):
        facts = diagnosis.case.facts(end)
        words = [facts.host.name, facts.host.system, facts.host.kernel]
        told = " · ".join(str(word) for word in words if word)
        found.append((f"{end} = {facts.place}", told or "nothing is known of it"))
    return found


def _groups(diagnosis: Diagnosis) -> dict[str, list[object]]:
    groups: dict[str, list[object]] = {}
    for row in diagnosis.table:
        groups.setdefault(row.group, []).append(row)
    return groups


def _pictures(diagnosis: Diagnosis) -> Iterator[Picture]:
    if diagnosis.folder is None:
        return
    for folder in sorted((diagnosis.folder / "records").glob("[0-9][0-9]-*")):
        words = folder.name.split("-")
        if words[1] not in _PANELS:
            continue
        try:
            record = Record.open(folder)
            yield Picture(_title(folder.name), _packed(record, _PANELS[words[1]]))
        except RecordError:  # a damaged record is no reason to hide the diagnosis
            continue


def _title(name: str) -> str:
    kinds = {"single": "One TCP flow", "several": "8 TCP flows", "both": "Both directions", "udp": "UDP"}
    _, kind, *way = name.split("-")
    return kinds[kind] + (f", {way[0]}→{way[-1]}" if way else "")


def _packed(record: Record, names: Sequence[str]) -> str:
    duration_s = record.context.duration_ns / 1e9
    columns: Columns = []
    known = {panel.id: panel for panel in panels_of(record, POINTS)}
    chosen = [replace(known[name], note="") for name in names if name in known]
    header = {
        "label": "",
        "conditions": [],
        "duration_s": duration_s,
        "mark_s": None,
        "around_s": duration_s,
        "panels": [drawn.words(over_run.figure(panel, duration_s), columns) for panel in chosen],
    }
    return embed.pack(header, columns)
