"""The verdict as one offline HTML page: what is worse first, with both sides drawn over each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushhour.errors import RecordError
from rushhour.report.definitions import of_metrics
from rushhour.report.shell import PLOTS, digest, joined, template
from rushhour.report.verdict.cell import REACH
from rushhour.report.verdict.overlay import picture
from rushhour.report.verdict.rows import rows
from rushhour.report.verdict.story import story
from rushhour.verdict.vocabulary import DEPARTS, DIFFERS, SHOWN, title

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rushhour.report.verdict.cell import Bar, Cell
    from rushhour.report.verdict.overlay import Picture
    from rushhour.report.verdict.rows import Rows

_SCRIPTS = (*PLOTS, "verdict.js")
_PICTURED = (DIFFERS, "worse", DEPARTS, "better", "inconclusive")
_STYLES = ("uplot/uPlot.min.css", "report.css", "verdict.css")
MAX_PICTURES = 20
"""Cells that are drawn; the worst come first."""
MAX_TOLD = 80
"""Cells that are told in full; of more, the table has them."""
MAX_METRICS = 12
"""Metrics of a cell that stand open; more are folded."""
MAX_FOLDED = 40
_WIDTH, _HEIGHT = 132, 12


@dataclass(frozen=True)
class Told:
    """A cell told in full: with its picture and the rows around its divergence, where there are."""

    cell: Cell
    picture: Picture | None
    rows: Rows | None


def html(document: Mapping[str, object], folder: Path) -> str:
    """The page as text; the same verdict and records give the same text.

    Args:
        document: `verdict.json`.
        folder: Where it lies; the folders of runs in it are relative to this.

    Raises:
        ReportError: this is no verdict's document, or one of a newer version.
    """
    whole = story(document)
    told = _told(whole.cells, folder)
    script, style = joined(_SCRIPTS), joined(_STYLES)
    names = {metric.name for one in told for metric in one.cell.metrics}
    return template("verdict.html").render(
        whole=whole,
        title=title(whole.verdict),
        meanings=_meanings(beside=whole.beside),
        told=told,
        shown={one.cell.number for one in told},
        bar_svg=bar_svg,
        max_metrics=MAX_METRICS,
        max_folded=MAX_FOLDED,
        definitions=of_metrics(names),
        script=script,
        style=style,
        script_hash=digest(script),
        style_hash=digest(style),
    )


def _meanings(*, beside: bool) -> dict[str, str]:
    """What the words mean, those of one meaning together; a comparison of runs has one more."""
    found: dict[str, list[str]] = {}
    for name, word in SHOWN.items():
        if beside or name != DIFFERS:
            found.setdefault(word.means, []).append(name)
    return {", ".join(names): means for means, names in found.items()}


def _told(cells: Sequence[Cell], folder: Path) -> list[Told]:
    """The cells in full; pictures go to those that are worse, then better, then open."""
    chosen = list(cells[:MAX_TOLD])
    wanted = sorted(
        chosen,
        key=lambda cell: _PICTURED.index(cell.verdict) if cell.verdict in _PICTURED else len(_PICTURED),
    )
    pictures: dict[int, Picture] = {}
    for cell in wanted:
        if len(pictures) == MAX_PICTURES:
            break
        made = _drawn(cell, folder)
        if made is not None:
            pictures[cell.number] = made
    return [Told(cell, pictures.get(cell.number), rows(cell.divergence)) for cell in chosen]


def _drawn(cell: Cell, folder: Path) -> Picture | None:
    try:
        return picture(cell.source, folder)
    except RecordError:  # a damaged record is no reason to hide the verdict
        return None


def bar_svg(bar: Bar, verdict: str) -> str:
    """A change against the least that matters (the shaded band), with its interval."""

    def x(value: float) -> float:
        return _WIDTH / 2 * (1 + value / (REACH * 1.04))

    middle = _HEIGHT / 2
    band = f'<rect class="v-band" x="{x(-1):.1f}" y="0" width="{x(1) - x(-1):.1f}" height="{_HEIGHT}"/>'
    zero = f'<line class="v-zero" x1="{x(0):.1f}" x2="{x(0):.1f}" y1="0" y2="{_HEIGHT}"/>'
    spread = ""
    if bar.low is not None and bar.high is not None:
        span = f'x1="{x(bar.low):.1f}" x2="{x(bar.high):.1f}"'
        spread = f'<line class="v-spread" {span} y1="{middle}" y2="{middle}"/>'
    ends = {end for end in (bar.low, bar.high, bar.at) if end is not None and abs(end) >= REACH}
    cut = "".join(_arrow(x(end), end > 0) for end in ends)
    dot = "" if bar.at in ends else f'<circle cx="{x(bar.at):.1f}" cy="{middle}" r="3.4"/>'
    return (
        f'<svg class="v-bar v-{verdict}" viewBox="0 0 {_WIDTH} {_HEIGHT}" aria-hidden="true">'
        f"{band}{zero}{spread}{dot}{cut}</svg>"
    )


def _arrow(x: float, right: bool) -> str:  # noqa: FBT001 - which way it points
    step = 8 if right else -8
    middle = _HEIGHT / 2
    return f'<path d="M{x - step:.1f} {middle - 5}l{step} 5l{-step} 5"/>'
