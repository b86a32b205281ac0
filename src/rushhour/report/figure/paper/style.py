"""What all figures on paper have in common: colours, dashes, fonts, axes of words, files without a date."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Any

from matplotlib.backend_bases import get_registered_canvas_class
from matplotlib.text import Text

from rushhour.report.figure.description import THEORETICAL, Style
from rushhour.report.figure.paper.fonts import FONTS, dress, lacking
from rushhour.report.figure.ticks import in_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rushhour.report.figure.description import LegendEntry, Plot, Trace

COLOURS = ("#1f66ad", "#d1495b", "#228833", "#b58900", "#6f4aa8", "#0f8b9d", "#8c4a2f", "#555b66")
QUEUES = ("#0f766e", "#a16207", "#86198f", "#3f3f46")
DASHES = ("-", (0, (6, 2.5)), (0, (1.5, 1.5)), (0, (7, 2, 1.5, 2)), (0, (10, 3)), (0, (4, 1.5, 1, 1.5)))
STEPS = {"hold": "steps-post", "interval": "steps-pre"}
RAMP = ("#440f57", "#3b528b", "#21788c", "#2a9d7f", "#6bb83d", "#d1a10f")
"""Colours of levels that are numbers, from the least to the greatest; lightness rises along them."""
MARKERS = "os^Dv<>p"
THEORY = ((0, (5, 2.5)), (0, (5, 1.5, 1, 1.5)), (0, (2.5, 1.5)), (0, (8, 2, 1, 2, 1, 2)))
"""Dashes of models, one after the other."""
NEUTRAL = "#63656b"
_DOUBT = ((0, (1, 2)), (0, (1, 2, 4, 2)), (0, (1, 5)), (0, (1, 1, 1, 5)))
"""Dots of models outside their range."""
_THEORIES = (NEUTRAL, "#9d174d", "#3f6212", "#6d28d9")
"""Colours of theories that say the same of every line."""
TONES = {"good": "#1b6e3c", "bad": "#b3261e", "plain": "#8a5a00"}
"""Colours of instants: for the better, for the worse, neither."""
DOTS: dict[str, Any] = {"linestyle": "", "marker": ".", "markersize": 5}
# matplotlib types each key by name; a plain dict of them is Any to it.
STYLE: Any = {
    "font.size": 9,
    "font.family": ["sans-serif"],
    "font.sans-serif": FONTS,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#8f8a80",
    "axes.grid": True,
    "grid.color": "#e6e3dc",
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": 8,
    # Element ids of an SVG come from this and the drawing alone.
    "svg.hashsalt": "rushhour",
    "svg.fonttype": "none",
    # Type 42: whole letters that an editor can still change, not outlines.
    "pdf.fonttype": 42,
}
_DPI = 160
"""Dots an inch of a PNG."""
_POINTS = 72
"""Of all other forms: they have no dots, and their unit is the point."""
# Nothing of the day or the program's version goes into the file.
_METADATA: dict[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}


def colour(look: int | None, plot: Plot) -> str:
    """The colour of a line: along the ramp, or its own; neutral without a look."""
    if look is None:
        return NEUTRAL
    style = plot.styles[look]
    if style.family == "total":
        return NEUTRAL
    if style.family == "queue":
        return QUEUES[style.colour % len(QUEUES)]
    return COLOURS[style.colour % len(COLOURS)] if style.place is None else along(RAMP, style.place)


def along(stops: tuple[str, ...], place: float) -> str:
    """The colour at a place from 0 to 1 between stops."""
    at = place * (len(stops) - 1)
    left = min(int(at), len(stops) - 2)
    low, high = (tuple(int(stop[k : k + 2], 16) for k in (1, 3, 5)) for stop in stops[left : left + 2])
    mixed = (round(a + (b - a) * (at - left)) for a, b in zip(low, high, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def line_style(drawn: LegendEntry | Trace, plot: Plot) -> dict[str, Any]:
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
    if style.pale:
        return {"color": paint, "linestyle": ":" if style.faint else "-", "linewidth": 4, "alpha": 0.3}
    if plot.over_time or plot.distribution:
        return {
            "color": paint,
            "linestyle": ":" if style.faint else dash,
            "linewidth": 0.8 if style.faint else 1.0,
        }
    line = dash if plot.x.numeric else ""
    return {"color": paint, "linestyle": line, "linewidth": 1.2, "marker": mark, "markersize": 4}


def _theory(drawn: LegendEntry | Trace, plot: Plot) -> dict[str, Any]:
    """Each theory in its own dashes, dotted outside its range; in its own colour where lines have none."""
    models = list(dict.fromkeys(entry.group for entry in plot.entries if entry.role in THEORETICAL))
    number = models.index(drawn.group)
    paint = _THEORIES[number % len(_THEORIES)] if drawn.look is None else colour(drawn.look, plot)
    ways = _DOUBT if drawn.role == "doubtful" else THEORY
    return {"color": paint, "linestyle": ways[number % len(ways)], "linewidth": 0.9}


def categories(axes: Axes, ticks: Sequence[tuple[float, str]], letters: float) -> None:
    """Levels that are words along an axis of so many letters: all stay, broken into lines or slanted."""
    words = [word for _, word in ticks]
    lines = in_lines(words, letters / max(1, len(words)))
    said = words if lines is None else ["\n".join(parts) for parts in lines]
    axes.set_xticks([place for place, _ in ticks], [plain(word) for word in said])
    if lines is None:
        for label in axes.get_xticklabels():
            label.set(rotation=40, ha="right", rotation_mode="anchor")


def plain(text: str) -> str:
    """The text as matplotlib takes it for text: a dollar sign would begin a formula."""
    return text.replace("$", r"\$")


def encoded(figure: Figure, form: str, boxes: set[str] | None = None) -> bytes:
    """The figure as the bytes of a file, without the day or a version in them.

    Letters that no font of this machine has are added to `boxes`. In an SVG words stay words, and its reader
    has other fonts.
    """
    target = io.BytesIO()
    engine = figure.get_layout_engine()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        _lay_out(figure, form)
        # Only now: before it matplotlib would make the ticks of all axes twice.
        words = [] if form == "svg" else [one for one in figure.findobj(Text) if isinstance(one, Text)]
        if any(lacking(one.get_text()) for one in words):
            rest = dress(words, STYLE["font.family"])
            if boxes is not None:
                boxes |= rest
            figure.set_layout_engine(engine)
            _lay_out(figure, form)
        figure.savefig(target, format=form, dpi=_DPI, metadata=_METADATA[form])
    return target.getvalue()


def _lay_out(figure: Figure, form: str) -> None:
    """Find the place of everything now, for which saving would draw the whole figure once more."""
    engine = figure.get_layout_engine()
    if engine is None:
        return
    # Measured as it will be drawn: letters of a PNG stand on its dots.
    get_registered_canvas_class(form)(figure)
    figure.dpi = _DPI if form == "png" else _POINTS
    engine.execute(figure)
    figure.set_layout_engine(None)
