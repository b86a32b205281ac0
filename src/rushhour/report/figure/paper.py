"""Figures for papers: PNG, SVG and PDF by matplotlib, text as text, the same bytes for the same records."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogFormatterSciNotation, LogLocator, NullFormatter

from rushhour.report.figure.description import THEORETICAL, Matrix, Style
from rushhour.report.figure.ticks import apart
from rushhour.report.figures import COLOURS, DASHES, STEPS, STYLE, categories, encoded, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rushhour.report.figure.description import Drawing, Entry, Facet, Plot, Sheet, Trace

RAMP = ("#440f57", "#3b528b", "#21788c", "#2a9d7f", "#6bb83d", "#d1a10f")
"""Colours of levels that are numbers, from the least to the greatest; lightness rises along them."""
MARKERS = "os^Dv<>p"
THEORY = ((0, (5, 2.5)), (0, (5, 1.5, 1, 1.5)), (0, (2.5, 1.5)), (0, (8, 2, 1, 2, 1, 2)))
"""Dashes of models, one after the other."""
_NEUTRAL = "#63656b"
_DOUBT = ((0, (1, 2)), (0, (1, 2, 4, 2)), (0, (1, 5)), (0, (1, 1, 1, 5)))
"""Dots of models outside their range."""
_THEORIES = (_NEUTRAL, "#9d174d", "#3f6212", "#6d28d9")
"""Colours of theories that say the same of every line."""
_DOTS: dict[str, Any] = {"linestyle": "", "marker": ".", "markersize": 5}
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


def colour(look: int | None, plot: Plot) -> str:
    """The colour of a line: along the ramp, or its own; neutral without a look."""
    if look is None:
        return _NEUTRAL
    style = plot.styles[look]
    return COLOURS[style.colour % len(COLOURS)] if style.place is None else along(RAMP, style.place)


def along(stops: tuple[str, ...], place: float) -> str:
    """The colour at a place from 0 to 1 between stops."""
    at = place * (len(stops) - 1)
    left = min(int(at), len(stops) - 2)
    low, high = (tuple(int(stop[k : k + 2], 16) for k in (1, 3, 5)) for stop in stops[left : left + 2])
    mixed = (round(a + (b - a) * (at - left)) for a, b in zip(low, high, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


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
        figure.supxlabel(plain("\n".join(lines)), fontsize=7.5, x=0.01, ha="left", color=_NEUTRAL)


def _handle(entry: Entry, plot: Plot) -> Line2D:
    style = _style(entry, plot)
    mine = [trace for facet in plot.facets for trace in facet.traces if trace.group == entry.group]
    if plot.over_time and entry.role == "measured" and all(trace.shape == "points" for trace in mine):
        style |= _DOTS
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


def _style(drawn: Entry | Trace, plot: Plot) -> dict[str, Any]:
    """How a trace is drawn: solid or dashed by its look; theory thin and dashed; published hollow."""
    paint = colour(drawn.look, plot)
    style = Style(0, None, 0, 0) if drawn.look is None else plot.styles[drawn.look]
    mark, dash = MARKERS[style.mark % len(MARKERS)], DASHES[style.dash % len(DASHES)]
    if drawn.role == "published":
        joined = "-" if plot.over_time else ""
        hollow = {"marker": mark, "markersize": 6, "markerfacecolor": "none", "linewidth": 0.8}
        return {"color": paint, "linestyle": joined, **hollow}
    if drawn.role in THEORETICAL:
        return _theory(drawn, plot)
    if plot.over_time or plot.distribution:
        return {"color": paint, "linestyle": dash, "linewidth": 1.0}
    line = dash if plot.x.numeric else ""
    return {"color": paint, "linestyle": line, "linewidth": 1.2, "marker": mark, "markersize": 4}


def _theory(drawn: Entry | Trace, plot: Plot) -> dict[str, Any]:
    """Each theory in its own dashes, dotted outside its range; in its own colour where lines have none."""
    models = list(dict.fromkeys(entry.group for entry in plot.entries if entry.role in THEORETICAL))
    number = models.index(drawn.group)
    paint = _THEORIES[number % len(_THEORIES)] if drawn.look is None else colour(drawn.look, plot)
    ways = _DOUBT if drawn.role == "doubtful" else THEORY
    return {"color": paint, "linestyle": ways[number % len(ways)], "linewidth": 0.9}


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
    axes.set_xlim(-0.05, 1.05)
    if not plot.x.numeric:
        categories(axes, plot.x.ticks, width / _LETTER)
        return
    ticks = apart(plot.x.ticks, width, _LETTER)
    axes.set_xticks([place for place, _ in ticks], [plain(word) for _, word in ticks])


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
        style |= _DOTS | {"markersize": 2}
    if not plot.over_time and trace.shape == "points" and trace.role in THEORETICAL:
        half = 0.3 / max(1, len(plot.x.ticks))
        axes.hlines(
            values, trace.x - half, trace.x + half, color=style["color"], linestyle=style["linestyle"]
        )
        return
    axes.plot(trace.x, values, **style)


def _matrix(drawing: Matrix, form: str) -> bytes:
    with mpl.rc_context({**STYLE, "axes.grid": False}):
        size = (1.1 + 0.62 * len(drawing.columns), 0.55 + 0.36 * len(drawing.names))
        across = max(1, min(3, len(drawing.sheets), int(_WIDEST // size[0])))
        down = -(-len(drawing.sheets) // across)
        width = max(4.2, size[0] * across)
        caption = _caption(drawing, width)
        height = 0.7 + size[1] * down + 0.13 * len(caption)
        figure = Figure(figsize=(width, height), layout="constrained")
        grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
        for place, axes in enumerate(grid.flat):
            axes.set_visible(place < len(drawing.sheets))
            if place < len(drawing.sheets):
                _sheet(axes, drawing, drawing.sheets[place])
                last = place + across >= len(drawing.sheets)
                axes.tick_params(labelbottom=last)
                axes.set_xlabel(plain(drawing.across) if last else "")
        _title(figure, drawing)
        figure.supylabel(plain(drawing.down), fontsize=9)
        _put_caption(figure, caption)
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
