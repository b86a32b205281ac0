"""Figures for papers: PNG, SVG and PDF by matplotlib, text as text, the same bytes for the same records."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogFormatterSciNotation, LogLocator, NullFormatter

from rushhour.quantities.words import quantity
from rushhour.report.figure.description import THEORETICAL, Matrix
from rushhour.report.figure.over_run import figures
from rushhour.report.figure.style import (
    DOTS,
    NEUTRAL,
    STEPS,
    STYLE,
    TONES,
    categories,
    encoded,
    line_style,
    plain,
)
from rushhour.report.figure.ticks import apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rushhour.report.figure.description import (
        Drawing,
        Facet,
        LegendEntry,
        MatrixPanel,
        Plot,
        Reference,
        Trace,
    )
    from rushhour.report.model import RunView

_DECADES = 300
"""Ratio of greatest to least up to which a logarithmic axis has ticks at 2 and 5."""
_WIDEST = 11
"""Width in inches that a matrix may have at most."""
_WIDTH = 7.2
"""Width in inches: two columns of a paper."""
_LETTER = 0.075
"""Width in inches of a letter beside an axis."""


def draw(drawing: Drawing, form: str) -> bytes:
    """A figure as the bytes of a `png`, `svg` or `pdf`."""
    if isinstance(drawing, Matrix):
        return _matrix(drawing, form)
    with mpl.rc_context(STYLE):
        many = len(drawing.facets)
        across = min(3 if many == 3 or many > 4 else 2, many)
        down = -(-many // across)
        width = 4.8 if across == 1 else _WIDTH
        panel = 2.6 if across == 1 else 1.9
        columns = _columns(drawing, width)
        legend = len(columns[0]) if columns else 0
        caption = _caption(drawing, width)
        height = 0.65 + 0.17 * legend + panel * down + 0.13 * len(caption)
        figure = Figure(figsize=(width, height), layout="constrained")
        grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=drawing.same)
        for place, axes in enumerate(grid.flat):
            axes.set_visible(place < many)
            if place < many:
                _facet(axes, drawing, drawing.facets[place], width / across - 0.7)
                # The last of each column has the words of the axis.
                last = place + across >= many
                axes.tick_params(labelbottom=last)
                axes.set_xlabel(plain(drawing.x.label) if last else "")
        if columns:
            _legend(figure, drawing, columns)
        else:
            _title(figure, drawing)
        lines = textwrap.wrap(drawing.y.label, max(14, int(panel * down * 12)))
        said = plain("\n".join(lines))
        if down == 1:
            grid[0, 0].set_ylabel(said)
        else:
            figure.supylabel(said, fontsize=9)
        _put_caption(figure, caption)
        return encoded(figure, form)


def _title(figure: Figure, drawing: Drawing) -> None:
    figure.suptitle(plain(drawing.title), fontsize=10, fontweight="bold", x=0.01, ha="left")


def _caption(drawing: Drawing, width: float) -> list[str]:
    """What a reader must know, in lines that fit into the width."""
    fields = ""
    if isinstance(drawing, Matrix):
        unit = f", {drawing.scale.unit}" if drawing.scale.unit else ""
        fields = f"Fields: {drawing.quantity}{unit}."
    said = [fields, drawing.caption, *drawing.notes, f"After {drawing.source}." if drawing.source else ""]
    return textwrap.wrap(" ".join(part.strip() for part in said if part), int(width * 16.5))


def _put_caption(figure: Figure, lines: list[str]) -> None:
    if lines:
        figure.supxlabel(plain("\n".join(lines)), fontsize=7.5, x=0.01, ha="left", color=NEUTRAL)


def _handle(entry: LegendEntry, plot: Plot) -> Line2D:
    style = line_style(entry, plot)
    mine = [trace for facet in plot.facets for trace in facet.traces if trace.group == entry.group]
    if plot.over_time and entry.role == "measured" and all(trace.shape == "points" for trace in mine):
        style |= DOTS
    return Line2D([], [], **style)


def _columns(plot: Plot, width: float) -> list[list[tuple[Line2D, str]]]:
    """The legend in as many columns as fit; a legend fills its columns, but read it shall be by rows."""
    if not plot.entries:
        return []
    named = [(_handle(entry, plot), plain(entry.label)) for entry in plot.entries]
    if plot.legend:
        named = [(Line2D([], [], linestyle=""), f"{plain(plot.legend)}:"), *named]
    found = [[one] for one in named]
    for count in range(len(named), 0, -1):
        found = [named[place::count] for place in range(count)]
        if sum(0.5 + 0.066 * max(len(name) for _, name in column) for column in found) < width:
            break
    return found


def _legend(figure: Figure, plot: Plot, columns: list[list[tuple[Line2D, str]]]) -> None:
    """The legend, with the figure's title as its own: that way neither covers the other."""
    handles, names = zip(*(one for column in columns for one in column), strict=True)
    title = {"size": 10, "weight": "bold"}
    figure.legend(
        handles, names, loc="outside upper left", ncols=len(columns), handlelength=2.4, borderaxespad=0.2,
        columnspacing=1.2, title=plain(plot.title), title_fontproperties=title, alignment="left",
    )  # fmt: skip


def _facet(axes: Axes, plot: Plot, facet: Facet, width: float) -> None:
    for trace in facet.traces:
        _trace(axes, plot, trace)
    for level in facet.references:
        if level.value <= facet.top:
            _level(axes, plot, level)
    _instants(axes, plot, facet, width)
    axes.set_title(plain(facet.title), fontsize=8.5, loc="left")
    top = max(other.top for other in plot.facets) if plot.same else facet.top
    low = min(other.low for other in plot.facets) if plot.same else facet.low
    divisor = plot.y.divisor
    if plot.y.log:
        axes.set_yscale("log")
        axes.set_ylim(0.8 * low / divisor, 1.25 * top / divisor)
        few = top < _DECADES * max(low, 1e-300)
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
        axes.yaxis.set_major_formatter(FuncFormatter(_decade))
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(low / divisor, (top + 0.06 * (top - low)) / divisor)
    if plot.over_time:
        axes.set_xlim(plot.x.low, plot.x.high)
        return
    axes.set_xlim(-0.05, 1.05)
    if not plot.x.numeric:
        categories(axes, plot.x.ticks, width / _LETTER)
        return
    ticks = apart(plot.x.ticks, width, _LETTER)
    axes.set_xticks([place for place, _ in ticks], [plain(word) for _, word in ticks])


def _decade(value: float, _: object) -> str:
    return f"{value:g}" if 1e-3 <= value < 1e5 else LogFormatterSciNotation()(value)


def run(view: RunView, form: str) -> bytes:
    """All panels of a run under one another with one time axis, as the bytes of a `png`, `svg` or `pdf`."""
    plots = figures(view)
    with mpl.rc_context(STYLE):
        heights = [0.5 + 0.25 * len(plot.facets[0].traces) if plot.lanes else 2.0 for plot in plots]
        figure = Figure(figsize=(_WIDTH, 0.9 + sum(heights)), layout="constrained")
        grid = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)
        for axes, plot in zip(grid[:, 0], plots, strict=True):
            _panel(axes, plot)
        grid[-1, 0].set_xlabel("time, s")
        grid[-1, 0].set_xlim(0, view.duration_s)
        title = view.title if view.label == view.title else f"{view.title}: {view.label}"
        conditions = " · ".join([*view.conditions, view.kernel, f"{view.lab} lab", f"seed {view.seed}"])
        figure.suptitle(plain(title), fontsize=11, fontweight="bold", x=0.01, ha="left")
        state = "" if view.valid else "  INVALID RUN"
        grid[0, 0].set_title(plain(conditions) + state, fontsize=7.5, loc="left", pad=14)
        return encoded(figure, form)


def _panel(axes: Axes, plot: Plot) -> None:
    """One panel of a run: its title beside the axis, its legend above."""
    if plot.lanes:
        _lanes(axes, plot)
        return
    _facet(axes, plot, plot.facets[0], _WIDTH)
    axes.set_ylabel(f"{plot.title},\n{plot.y.unit}" if plot.y.unit else plot.title, fontsize=8)
    if plot.second is not None:
        second = plot.second
        times = second.factor * plot.y.divisor / second.divisor
        ways = (lambda y: np.asarray(y, float) * times, lambda y: np.asarray(y, float) / times)
        right = axes.secondary_yaxis("right", functions=ways)
        right.set_ylabel(f"{second.unit} {second.title}", fontsize=7.5)
        right.tick_params(length=0)
    if plot.entries:
        axes.legend(loc="lower left", bbox_to_anchor=(0, 0.98), ncols=6, handlelength=2.6, borderaxespad=0)


def _lanes(axes: Axes, plot: Plot) -> None:
    """A row for each trace: a tick at each instant with events, as high as they are many."""
    names = []
    for place, trace in enumerate(plot.facets[0].traces):
        share = trace.y / np.max(trace.y) if len(trace.y) else trace.y
        floor = -place - 0.4
        paint = line_style(trace, plot)["color"]
        axes.vlines(trace.x, floor, floor + 0.2 + 0.6 * share, color=paint, linewidth=0.9)
        names.append(f"{trace.label}: {quantity(float(np.sum(trace.y)), 'count')}")
    axes.set_yticks([-place for place in range(len(names))], [plain(name) for name in names], fontsize=7.5)
    axes.set_ylim(-len(names) + 0.5, 0.5)
    axes.grid(visible=False, axis="y")


def _instants(axes: Axes, plot: Plot, facet: Facet, width: float) -> None:
    """Vertical lines where something happened; words above those that have some and room."""
    span, free = (plot.x.high - plot.x.low if plot.over_time else 1.1), -1.0
    for one in facet.instants:
        paint = TONES[one.tone]
        if one.small:
            axes.axvline(one.x, ymax=0.04, color=paint, linewidth=2)
            continue
        axes.axvline(one.x, color=paint, linewidth=1.1, linestyle=(0, (4, 2)) if one.label else "-")
        half = len(one.label) * _LETTER / width * span / 2
        if one.label and one.x - half > free:
            style: dict[str, Any] = {"ha": "center", "va": "bottom", "fontsize": 7, "color": paint}
            axes.annotate(plain(one.label), (one.x, 1.01), xycoords=("data", "axes fraction"), **style)
            free = one.x + half


def _level(axes: Axes, plot: Plot, level: Reference) -> None:
    at = level.value / plot.y.divisor
    axes.axhline(at, color="#8f8a80", linewidth=0.9, linestyle=(0, (5, 3)))
    style: dict[str, Any] = {"ha": "right", "va": "bottom", "fontsize": 7, "color": NEUTRAL}
    axes.annotate(plain(f"{level.said} "), (1, at), xycoords=("axes fraction", "data"), **style)


def _trace(axes: Axes, plot: Plot, trace: Trace) -> None:
    style = line_style(trace, plot)
    values = trace.y / plot.y.divisor
    values = np.where(values > 0, values, np.nan) if plot.y.log else values
    if trace.low is not None and trace.high is not None:
        bars = np.abs(np.array([trace.y - trace.low, trace.high - trace.y])) / plot.y.divisor
        paint = style["color"]
        axes.errorbar(trace.x, values, bars, fmt="none", ecolor=paint, elinewidth=0.9, capsize=2.5)
    if trace.shape in STEPS:
        style["drawstyle"] = STEPS[trace.shape]
    if plot.over_time and trace.shape == "points":
        style |= DOTS | {"markersize": 2}
    if not plot.over_time and trace.shape == "points" and trace.role in THEORETICAL:
        half = 0.3 / max(1, len(plot.x.ticks))
        axes.hlines(
            values, trace.x - half, trace.x + half, color=style["color"], linestyle=style["linestyle"]
        )
        return
    axes.plot(trace.x, values, label=plain(trace.label), **style)


def _matrix(drawing: Matrix, form: str) -> bytes:
    with mpl.rc_context({**STYLE, "axes.grid": False}):
        size = (1.1 + 0.62 * len(drawing.columns), 0.55 + 0.36 * len(drawing.names))
        across = max(1, min(3, len(drawing.panels), int(_WIDEST // size[0])))
        down = -(-len(drawing.panels) // across)
        width = max(4.2, size[0] * across)
        caption = _caption(drawing, width)
        height = 0.7 + size[1] * down + 0.13 * len(caption)
        figure = Figure(figsize=(width, height), layout="constrained")
        grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
        for place, axes in enumerate(grid.flat):
            axes.set_visible(place < len(drawing.panels))
            if place < len(drawing.panels):
                _matrix_panel(axes, drawing, drawing.panels[place])
                last = place + across >= len(drawing.panels)
                axes.tick_params(labelbottom=last)
                axes.set_xlabel(plain(drawing.across) if last else "")
        _title(figure, drawing)
        figure.supylabel(plain(drawing.down), fontsize=9)
        _put_caption(figure, caption)
        return encoded(figure, form)


def _matrix_panel(axes: Axes, drawing: Matrix, panel: MatrixPanel) -> None:
    shades = [
        [np.nan if field is None or field.shade is None else field.shade for field in row]
        for row in panel.rows
    ]
    axes.imshow(np.array(shades, float), cmap="Blues", vmin=-1, vmax=10, aspect="auto")
    for y, row in enumerate(panel.rows):
        for x, field in enumerate(row):
            if field is not None:
                dark = field.shade is not None and field.shade >= 6
                paint = "white" if dark else "black"
                axes.text(x, y, field.text, ha="center", va="center", fontsize=7.5, color=paint)
    axes.set_xticks(range(len(drawing.columns)), [plain(level) for level in drawing.columns])
    axes.set_yticks(range(len(drawing.names)), [plain(level) for level in drawing.names])
    axes.set_title(plain(panel.title), fontsize=8.5, loc="left")
    axes.tick_params(length=0)
