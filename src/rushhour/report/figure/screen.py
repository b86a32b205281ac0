"""Figures for the terminal: braille letters for curves, a mark a line for points, numbers for a matrix.

Colour adds to what is said and says nothing alone: each curve has a chart of its own, each line its own mark.
"""

from __future__ import annotations

import math
import textwrap
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Group
from rich.constrain import Constrain
from rich.text import Text

from rushhour.report.braille import Canvas, chart
from rushhour.report.curves import Curve
from rushhour.report.figure.description import THEORETICAL, Matrix
from rushhour.report.figure.ticks import apart, in_lines
from rushhour.report.grid import HEADING, Grid
from rushhour.report.panels import MAX_FLOWS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from rich.console import RenderableType

    from rushhour.report.figure.description import Drawing, Facet, LegendEntry, MatrixPanel, Plot, Trace

COLOURS = ("blue", "red", "green", "yellow", "magenta", "cyan")
MARKS, HOLLOW = "●■▲◆▼★", "○□△◇▽☆"
"""Of what was measured, and of what was published."""
MARGIN = 9
"""Letters left of a chart, for the value at its upper edge."""
MAX_CURVES, MAX_PANELS, MAX_ROWS = 3, 2, 16
_HEIGHT = 8
_TONES = {"good": "green", "bad": "red", "plain": "yellow"}
_EDGE = 0.04
"""Room beside the first and the last level, of the width."""


def show(drawing: Drawing, width: int) -> RenderableType:
    """A figure that compares cells, with its title and what a reader must know, in so many letters."""
    label = drawing.label if isinstance(drawing, Matrix) else drawing.y.label
    if label.startswith(drawing.title):
        parts: list[RenderableType] = [Text(label, "bold")]
    else:
        parts = [Text.assemble((drawing.title, "bold"), (f"  {label}", "dim"))]
    if isinstance(drawing, Matrix):
        left = len(drawing.panels) - MAX_PANELS
        parts += [_matrix_panel(drawing, panel, width) for panel in drawing.panels[:MAX_PANELS]]
    else:
        left = len(drawing.facets) - MAX_PANELS
        # Charts over time or of distributions have their names beside them.
        parts += [] if drawing.over_time or drawing.distribution else _legend(drawing, width)
        parts += [line for facet in drawing.facets[:MAX_PANELS] for line in _panel(drawing, facet, width)]
    more = [f"In the report: {left} more {'panel' if left == 1 else 'panels'}."] if left > 0 else []
    said = Text(" ".join((*drawing.notes, *more)), "dim")
    return Group(*parts, Constrain(said, width), Text())


def curves(plot: Plot, width: int) -> Iterator[Text]:
    """A panel of a run: its title with what it is held against, and a chart for each of its first curves."""
    (facet,) = plot.facets
    notes = [*(reference.said for reference in facet.references[:2]), *_more(plot, facet)]
    yield Text(plot.y.label, "bold").append(f"  {'; '.join(notes)}" if notes else "", "not bold dim")
    yield from _charts(plot, facet, width)


def instants(begin_s: float, end_s: float, width: int) -> Text:
    """Instants under charts over time: the start, the quarters, the end."""
    quarters = (0.0, 0.25, 0.5, 0.75, 1.0)
    return _ticks([(part, f"{begin_s + part * (end_s - begin_s):g} s") for part in quarters], width)


def _panel(plot: Plot, facet: Facet, width: int) -> Iterator[Text]:
    """One panel of a figure that compares cells."""
    if not (plot.over_time or plot.distribution):
        yield from points(plot, facet, width)
        return
    title = "; ".join(part for part in (facet.title, *_more(plot, facet)) if part)
    yield from [Text(" " * MARGIN + title, "bold")] if title else []
    yield from _charts(plot, facet, width)
    if plot.over_time:
        yield instants(plot.x.low, plot.x.high, width)
    else:
        yield _ticks(apart(plot.x.ticks, width - MARGIN, 1.0), width)
        yield _ticks([(0.5, plot.x.label)], width)


def _plain(plot: Plot, facet: Facet) -> list[Trace]:
    """The curves that have charts of their own: what was measured, without companions."""
    return [
        trace for trace in facet.traces
        if trace.role == "measured" and (trace.look is None or not plot.styles[trace.look].faint)
    ]  # fmt: skip


def _more(plot: Plot, facet: Facet) -> list[str]:
    many = len(_plain(plot, facet))
    # A panel of so many curves may have been given the first of more.
    whole = f" of {many}" if many < MAX_FLOWS else ""
    return [f"first {MAX_CURVES}{whole}"] if many > MAX_CURVES else []


def _charts(plot: Plot, facet: Facet, width: int) -> Iterator[Text]:
    """A chart for each of the first curves, from 0 to the greatest value of them all."""
    traces = _plain(plot, facet)[:MAX_CURVES]
    begin, end = (plot.x.low, plot.x.high) if plot.over_time else (0.0, 1.0)
    top = max((float(np.nanmax(trace.y, initial=0.0)) for trace in traces), default=0.0)
    height = 3 if len(traces) <= 2 else 2
    for trace in traces:
        labels = [f"{top / plot.y.divisor:.4g}" if top else "", *[""] * (height - 2), "0"]
        colour = _colour(plot, trace)
        if len(traces) > 1 and len(trace.label) <= MARGIN - 2:
            labels[1] = trace.label
        elif len(traces) > 1:
            yield Text(" " * MARGIN + trace.label[: width - MARGIN], colour)
        drawn = Curve(trace.label, None, trace.x - begin, trace.y, trace.shape)
        for row, line in enumerate(chart(drawn, width - MARGIN, height, end - begin, top)):
            yield _row(labels[row], Text(line.rstrip(), colour), colour if row == 1 else "dim")


def points(plot: Plot, facet: Facet, width: int) -> Iterator[Text]:
    """One panel over a factor: marks at the points, joined where the levels are numbers."""
    room = width - MARGIN
    canvas = Canvas(room, _HEIGHT)
    low, top = _range(plot, facet)
    marks: dict[tuple[int, int], tuple[str, str]] = {}
    for trace in facet.traces:
        heights = _heights(trace.y, low, top, log=plot.y.log)
        _lines(canvas, plot, trace, heights, (low, top))
        if trace.role not in THEORETICAL and not _pale(plot, trace):
            for place, height in zip(trace.x.tolist(), heights, strict=True):
                if not math.isnan(height):
                    cell = _free(canvas.cell(_place(place), height), marks)
                    marks[cell] = (_mark(plot, trace), _colour(plot, trace))
    if facet.title:
        yield Text(" " * MARGIN + facet.title, "bold")
    columns = _instants(facet, canvas)
    yield from _above(facet, width)
    labels = {0: f"{top / plot.y.divisor:.4g}", _HEIGHT - 1: f"{low / plot.y.divisor:.4g}"}
    for row, line in enumerate(canvas.lines()):
        cells = [
            marks.get((row, at), columns.get(at, cell) if cell[0] == " " else cell)
            for at, cell in enumerate(line)
        ]
        yield _row(labels.get(row, ""), Text.assemble(*cells), "dim")
    yield from _levels(plot, width)


def _lines(
    canvas: Canvas, plot: Plot, trace: Trace, heights: Sequence[float], span: tuple[float, float]
) -> None:
    """What joins the points of a trace, and their ranges."""
    x = [_place(place) for place in trace.x.tolist()]
    pale = _pale(plot, trace)
    colour = "dim" if pale else _colour(plot, trace)
    if pale or (plot.x.numeric and trace.role != "published"):
        canvas.join(x, heights, colour)
    if trace.low is not None and trace.high is not None:
        ends = (_heights(end, *span, log=plot.y.log) for end in (trace.low, trace.high))
        for place, *bar in zip(x, *ends, strict=True):
            canvas.join([place, place], bar, colour)


def _pale(plot: Plot, trace: Trace) -> bool:
    return trace.look is not None and plot.styles[trace.look].pale


def _instants(facet: Facet, canvas: Canvas) -> dict[int, tuple[str, str]]:
    """The columns of vertical lines, each with its letter and colour."""
    return {
        canvas.cell(_place(one.x), 0.0)[1]: ("┊", _TONES[one.tone]) for one in facet.instants if not one.small
    }


def _above(facet: Facet, width: int) -> Iterator[Text]:
    """The words of instants in a line of their own; one that would touch the one before is left out."""
    kept: list[tuple[float, str]] = []
    free = -1.0
    for one in facet.instants:
        half = (len(one.label) + 1) / 2 / (width - MARGIN)
        if one.label and _place(one.x) - half >= free:
            kept.append((_place(one.x), one.label))
            free = _place(one.x) + half
    if kept:
        yield _ticks(kept, width)


def _free(cell: tuple[int, int], taken: Collection[tuple[int, int]]) -> tuple[int, int]:
    """A cell, or one beside it: of points that fall together each is seen."""
    row, column = cell
    beside = ((row, column + step) for step in (0, 1, -1, 2, -2) if column + step >= 0)
    return next((one for one in beside if one not in taken), cell)


def _range(plot: Plot, facet: Facet) -> tuple[float, float]:
    panels = plot.facets if plot.same else (facet,)
    return min(one.low for one in panels), max(one.top for one in panels)


def _heights(values: np.typing.NDArray[np.float64], low: float, top: float, *, log: bool) -> list[float]:
    """Values as parts of the height, from 0 to 1; nan where nothing is to be seen."""
    if log:
        values = np.log(np.where(values > 0, values, np.nan))
        low, top = math.log(low), math.log(top)
    parts = (values - low) / ((top - low) or 1.0)
    return [float(part) for part in np.where((parts >= -1e-9) & (parts <= 1 + 1e-9), parts, np.nan)]


_LEGIBLE = 5
"""Letters of a line from which words that are cut can be told apart."""


def _place(place: float) -> float:
    return _EDGE + (1 - 2 * _EDGE) * place


def _levels(plot: Plot, width: int) -> Iterator[Text]:
    """What stands under the axis; levels that are words all stay, broken into lines or cut."""
    room = width - MARGIN
    ticks = [(_place(place), word) for place, word in plot.x.ticks]
    if plot.x.numeric:
        yield _ticks(apart(ticks, room, 1.0), width)
    else:
        gaps = [after - before for (before, _), (after, _) in pairwise(ticks)]
        letters = max(2, int(min(gaps, default=1.0) * (room - 1)) - 1)
        words = [word for _, word in ticks]
        lines = in_lines(words, letters) or _cut(words, letters)
        for number in range(max(map(len, lines))):
            row = [
                (place, line[number])
                for (place, _), line in zip(ticks, lines, strict=True)
                if number < len(line)
            ]
            yield _ticks(row, width)
    yield _ticks([(0.5, plot.x.label)], width)


def _cut(words: Sequence[str], letters: int) -> list[list[str]]:
    """Levels in lines of so many letters with their long words cut; where there is room for few, one line."""
    if letters < _LEGIBLE:
        return [[_cut_word(word, letters)] for word in words]
    parts = (
        " ".join(part if len(part) <= letters else _cut_parts(part, letters) for part in word.split())
        for word in words
    )
    return [textwrap.wrap(part, letters) for part in parts]


def _cut_parts(word: str, letters: int) -> str:
    """A word whose parts between hyphens are cut: lines may break behind these."""
    return "-".join(_cut_word(part, letters - 1) for part in word.split("-"))


def _cut_word(word: str, letters: int) -> str:
    return word if len(word) <= letters else f"{word[: letters - 1]}…"


def _ticks(ticks: Sequence[tuple[float, str]], width: int) -> Text:
    room = width - MARGIN
    line = [" "] * room
    for place, word in ticks:
        start = min(max(0, round(place * (room - 1)) - len(word) // 2), max(0, room - len(word)))
        line[start : start + len(word)] = word
    return Text(" " * MARGIN + "".join(line[:room]).rstrip(), "dim")


def _row(label: str, line: Text, style: str) -> Text:
    line.rstrip()
    return Text.assemble((f"{label:>{MARGIN - 2}} ", style), ("│", "dim"), line)


def _colour(plot: Plot, drawn: LegendEntry | Trace) -> str:
    if drawn.look is None:
        return "dim"
    style = plot.styles[drawn.look]
    return COLOURS[style.colour % len(COLOURS)]


def _mark(plot: Plot, drawn: LegendEntry | Trace) -> str:
    letters = HOLLOW if drawn.role == "published" else MARKS
    return letters[(0 if drawn.look is None else plot.styles[drawn.look].mark) % len(letters)]


def _legend(plot: Plot, width: int) -> Iterator[Text]:
    """The entries with their marks, as many to a line as it holds; theory has dots instead of a mark."""
    line = Text(f"{plot.legend}:" if plot.legend else "", "dim")
    for entry in plot.entries:
        mark = "⠒⠒" if entry.role in THEORETICAL else _mark(plot, entry)
        word = Text.assemble((mark, _colour(plot, entry)), f" {entry.label}")
        if len(line) + len(word) + 2 > width:
            yield line
            line = Text()
        line.append("  " if len(line) else "").append_text(word)
    if len(line):
        yield line


def _matrix_panel(drawing: Matrix, panel: MatrixPanel, width: int) -> RenderableType:
    """A panel as a table of its numbers: as many columns as fit."""
    texts = [[field.text if field else "" for field in row] for row in panel.rows[:MAX_ROWS]]
    corner = f"{drawing.down} ↓ {drawing.across} →"
    most = max(HEADING, width // 3)
    names = [textwrap.wrap(name, most) for name in (corner, *drawing.names)]
    columns = [textwrap.wrap(column, HEADING) for column in drawing.columns]
    used, kept = 2 + max(len(line) for lines in names for line in lines), 0
    for lines, *values in zip(columns, *texts, strict=True):
        used += 2 + max(map(len, (*lines, *values)))
        kept += used <= width + 2
    table = Grid()
    head, *levels = ("\n".join(lines) for lines in names)
    table.add_column(Text(head))
    for lines in columns[:kept]:
        table.add_column(Text("\n".join(lines)), justify="right", no_wrap=True)
    for level, row in zip(levels, texts, strict=False):
        table.add_row(Text(level), *map(Text, row[:kept]))
    left = [
        f"{many} more {what}{'s' if many > 1 else ''}"
        for many, what in (
            (len(drawing.columns) - kept, "column"),
            (len(panel.rows) - len(texts), "row"),
        )
        if many > 0
    ]
    title = [Text(panel.title, "bold")] if panel.title else []
    return Group(*title, table, *([Text(f"In the report: {'; '.join(left)}", "dim")] if left else []))
