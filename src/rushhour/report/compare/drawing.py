"""Figures for papers: PNG, SVG and PDF by matplotlib, text as text, the same bytes for the same records."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogFormatterSciNotation, LogLocator, NullFormatter

from rushhour.report.compare.plot import Matrix
from rushhour.report.figures import COLOURS, DASHES, STEPS, STYLE, encoded, plain
from rushhour.report.lines import apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rushhour.report.compare.plot import Drawing, Entry, Facet, Plot, Sheet, Trace

RAMP = ("#440f57", "#3b528b", "#21788c", "#2a9d7f", "#6bb83d", "#d1a10f")
"""Colours of levels that are numbers, from the least to the greatest; lightness rises along them."""
MARKERS = "os^Dv<>p"
THEORY = ((0, (5, 2.5)), (0, (5, 1.5, 1, 1.5)), (0, (2.5, 1.5)), (0, (8, 2, 1, 2, 1, 2)))
"""Dashes of models, one after the other."""
_NEUTRAL = "#63656b"
_DECADES = 300
"""Ratio of greatest to least up to which a logarithmic axis has ticks at 2 and 5."""
_WIDTH = 7.2
"""Width in inches: two columns of a paper."""


def draw(drawing: Drawing, form: str) -> bytes:
    """A figure as the bytes of a `png`, `svg` or `pdf`."""
    if isinstance(drawing, Matrix):
        return _matrix(drawing, form)
    with mpl.rc_context(STYLE):
        across = min(3 if len(drawing.facets) > 4 or len(drawing.facets) == 3 else 2, len(drawing.facets))
        down = -(-len(drawing.facets) // across)
        width = 4.6 if across == 1 else _WIDTH
        high = 2.6 if across == 1 else 2.1
        figure = Figure(figsize=(width, 0.9 + high * down), layout="constrained")
        grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=drawing.same)
        for place, axes in enumerate(grid.flat):
            axes.set_visible(place < len(drawing.facets))
            if place < len(drawing.facets):
                _facet(axes, drawing, drawing.facets[place], width / across - 0.7)
                # Where the row below is not full, this one has the words of the axis.
                axes.tick_params(labelbottom=place + across >= len(drawing.facets))
        _around(figure, drawing, [drawing.x.label, drawing.y.label])
        return encoded(figure, form)


def colour(look: int | None, looks: int, *, ramp: bool) -> str:
    """The colour of a line: along the ramp, or its own; neutral without a look."""
    if look is None:
        return _NEUTRAL
    return along(RAMP, look / max(1, looks - 1)) if ramp else COLOURS[look % len(COLOURS)]


def along(stops: tuple[str, ...], place: float) -> str:
    """The colour at a place from 0 to 1 between stops."""
    at = place * (len(stops) - 1)
    left = min(int(at), len(stops) - 2)
    low, high = (tuple(int(stop[k : k + 2], 16) for k in (1, 3, 5)) for stop in stops[left : left + 2])
    mixed = (round(a + (b - a) * (at - left)) for a, b in zip(low, high, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _around(figure: Figure, drawing: Drawing, labels: list[str]) -> None:
    """Title, legend, axis labels and caption, outside of the panels so that they cover nothing."""
    if isinstance(drawing, Matrix) or not drawing.entries:
        figure.suptitle(plain(drawing.title), fontsize=10, fontweight="bold", x=0.01, ha="left")
    else:
        _legend(figure, drawing)
    across, down = labels
    figure.supylabel(plain(down), fontsize=9)
    for axes in figure.axes:
        if axes.get_visible() and axes.xaxis.get_tick_params()["labelbottom"]:
            axes.set_xlabel(plain(across))
    what = (
        f"Fields: {drawing.quantity}{drawing.scale.unit and ', ' + drawing.scale.unit}."
        if isinstance(drawing, Matrix)
        else ""
    )
    said = [what, drawing.caption, *drawing.notes, f"After {drawing.source}." if drawing.source else ""]
    caption = " ".join(part.strip() for part in said if part)
    # What fits into the width at this size of letters.
    lines = textwrap.wrap(caption, int(figure.get_figwidth() * 19))
    figure.supxlabel(plain("\n".join(lines)), fontsize=7.5, x=0.01, ha="left", color=_NEUTRAL)


def _handle(entry: Entry, plot: Plot) -> Line2D:
    style = _style(entry, plot)
    return Line2D([], [], **style)


def _legend(figure: Figure, plot: Plot) -> None:
    """The legend, with the figure's title as its own: that way neither covers the other."""
    named = [(_handle(entry, plot), plain(entry.label)) for entry in plot.entries]
    if plot.legend:
        named = [(Line2D([], [], linestyle=""), f"{plain(plot.legend)}:"), *named]
    widest = max(len(name) for _, name in named)
    columns = max(1, min(len(named), int(figure.get_figwidth() * 14 / (widest + 8))))
    # A legend fills its columns; read it shall be by rows.
    rows = [named[place::columns] for place in range(columns)]
    handles, names = zip(*(one for row in rows for one in row), strict=True)
    title = {"size": 10, "weight": "bold"}
    figure.legend(
        handles, names, loc="outside upper left", ncols=columns, handlelength=2.4, borderaxespad=0.2,
        title=plain(plot.title), title_fontproperties=title, alignment="left",
    )  # fmt: skip


def _style(drawn: Entry | Trace, plot: Plot) -> dict[str, Any]:
    """How a trace is drawn: solid or dashed by its look; theory thin and dashed; published hollow."""
    look, role = drawn.look, drawn.role
    paint = colour(look, plot.looks, ramp=plot.ramp)
    if role == "published":
        mark = MARKERS[(look or 0) % len(MARKERS)]
        return {"color": paint, "linestyle": "", "marker": mark, "markersize": 6, "markerfacecolor": "none"}
    if role in ("model", "doubtful"):
        return {
            "color": paint,
            "linestyle": (0, (5, 2.5)) if role == "model" else (0, (1, 2)),
            "linewidth": 0.9,
        }
    if plot.over_time:
        dash = "-" if plot.ramp else DASHES[(look or 0) % len(DASHES)]
        return {"color": paint, "linestyle": dash, "linewidth": 1.0}
    mark = MARKERS[(look or 0) % len(MARKERS)]
    joined = plot.x.numeric
    return {
        "color": paint,
        "linestyle": "-" if joined else "",
        "linewidth": 1.2,
        "marker": mark,
        "markersize": 4,
    }


def _facet(axes: Axes, plot: Plot, facet: Facet, width: float) -> None:
    for trace in facet.traces:
        _trace(axes, plot, trace)
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
        axes.set_ylim(low / divisor, 1.06 * top / divisor)
    if plot.over_time:
        axes.set_xlim(plot.x.low, plot.x.high)
        return
    ticks = apart(plot.x.ticks, width, 0.075)
    axes.set_xticks([place for place, _ in ticks], [plain(word) for _, word in ticks])
    axes.set_xlim(-0.05, 1.05)


def _decade(value: float, _: object) -> str:
    return f"{value:g}" if 1e-3 <= value < 1e5 else LogFormatterSciNotation()(value)


def _trace(axes: Axes, plot: Plot, trace: Trace) -> None:
    style = _style(trace, plot)
    values = trace.y / plot.y.divisor
    values = np.where(values > 0, values, np.nan) if plot.y.log else values
    if trace.low is not None and trace.high is not None:
        bars = np.abs(np.array([trace.y - trace.low, trace.high - trace.y])) / plot.y.divisor
        paint = style["color"]
        axes.errorbar(trace.x, values, bars, fmt="none", ecolor=paint, elinewidth=0.9, capsize=2.5)
    if trace.shape in STEPS:
        style["drawstyle"] = STEPS[trace.shape]
    if plot.over_time and trace.shape == "points":
        style |= {"linestyle": "", "marker": ".", "markersize": 2}
    if not plot.over_time and trace.shape == "points" and trace.role in ("model", "doubtful"):
        half = 0.3 / max(1, len(plot.x.ticks))
        axes.hlines(
            values, trace.x - half, trace.x + half, color=style["color"], linestyle=style["linestyle"]
        )
        return
    axes.plot(trace.x, values, **style)


def _matrix(drawing: Matrix, form: str) -> bytes:
    with mpl.rc_context({**STYLE, "axes.grid": False}):
        across = min(3, len(drawing.sheets))
        down = -(-len(drawing.sheets) // across)
        size = (1.1 + 0.62 * len(drawing.columns), 0.55 + 0.36 * len(drawing.names))
        figure = Figure(figsize=(max(4.2, size[0] * across), 0.9 + size[1] * down), layout="constrained")
        grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
        for place, axes in enumerate(grid.flat):
            axes.set_visible(place < len(drawing.sheets))
            if place < len(drawing.sheets):
                _sheet(axes, drawing, drawing.sheets[place])
        _around(figure, drawing, [drawing.across, drawing.down])
        return encoded(figure, form)


def _sheet(axes: Axes, drawing: Matrix, sheet: Sheet) -> None:
    shades = [
        [np.nan if field is None or field.shade is None else field.shade for field in row]
        for row in sheet.rows
    ]
    axes.imshow(np.array(shades, float), cmap="Blues", vmin=-1, vmax=10, aspect="auto")
    for y, row in enumerate(sheet.rows):
        for x, field in enumerate(row):
            if field is not None:
                dark = field.shade is not None and field.shade >= 6
                paint = "white" if dark else "black"
                axes.text(x, y, field.text, ha="center", va="center", fontsize=7.5, color=paint)
    axes.set_xticks(range(len(drawing.columns)), [plain(level) for level in drawing.columns])
    axes.set_yticks(range(len(drawing.names)), [plain(level) for level in drawing.names])
    axes.set_title(plain(sheet.title), fontsize=8.5, loc="left")
    axes.tick_params(length=0)
