"""The words of a figure on paper: how much room they take; titles, captions and legends that fit."""

from __future__ import annotations

from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.textpath import text_to_path

from rushhour.report.figure.paper.fonts import FONTS, lacking
from rushhour.report.figure.paper.style import DOTS, NEUTRAL, STYLE, line_style, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.figure import Figure

    from rushhour.report.figure.description import Drawing, LegendEntry, Plot

TITLE, AXIS, PANEL, CAPTION = 10.0, 9.0, 8.5, 7.5
"""Sizes in points of a figure's title, of what axes are called, of a panel's title, of what stands below."""
_LEGEND: dict[str, Any] = {
    "handlelength": 2.4,
    "handletextpad": 0.8,
    "columnspacing": 1.2,
    "labelspacing": 0.35,
    "alignment": "left",
}
"""Of every legend; lengths are multiples of a letter's size."""
_LETTERS: float = STYLE["legend.fontsize"]
_POINTS = 72
"""An inch has so many points."""
_MARGINS: float = _LEGEND["handlelength"] + _LEGEND["handletextpad"] + _LEGEND["columnspacing"]
_BESIDE = _MARGINS * _LETTERS / _POINTS
"""Width in inches of what an entry of a legend has beside its words."""
_SPARE = 0.97
"""Share of the room that words may take: the letters of a PNG stand on its dots and differ a little."""
_LINE = 1.35
"""Height of a line of text as a multiple of its letters' size."""
_EDGE = 0.1
"""Inches that stay free beside a title and a caption."""

Named = tuple[Line2D, str]


@cache
def _font(*, bold: bool) -> FontProperties:
    return FontProperties(family=FONTS[0], weight="bold" if bold else "normal", size=_POINTS)


@cache
def inches(text: str, size: float, *, bold: bool = False) -> float:
    """Width in inches of a line of text in letters of `size` points."""
    foreign = lacking(text)
    own = "".join(letter for letter in text if letter not in foreign)
    width, _, _ = text_to_path.get_text_width_height_descent(own, _font(bold=bold), ismath=False)
    # Letters of another font, such as Chinese ones, are as wide as they are high.
    return (float(width) + (len(text) - len(own)) * _POINTS) * size / _POINTS**2


def high(lines: int, size: float) -> float:
    """Height in inches of so many lines in letters of `size` points."""
    return lines * size * _LINE / _POINTS


def lines_of(text: str, width: float, size: float, *, bold: bool = False) -> list[str]:
    """The text in lines of at most `width` inches; a word that is wider is cut."""

    def fits(words: str) -> bool:
        return inches(words, size, bold=bold) <= width * _SPARE

    lines: list[str] = []
    for word in text.split():
        if lines and fits(f"{lines[-1]} {word}"):
            lines[-1] += f" {word}"
            continue
        rest = word
        while len(rest) > 1 and not fits(rest):
            most = next((count for count in range(len(rest) - 1, 1, -1) if fits(rest[:count])), 1)
            lines.append(rest[:most])
            rest = rest[most:]
        lines.append(rest)
    return lines


def joined(lines: Sequence[str]) -> str:
    """The lines as matplotlib takes them."""
    return plain("\n".join(lines))


def broken(text: str, width: float, size: float) -> str:
    """The text in lines that fit into `width` inches, as matplotlib takes it."""
    return joined(lines_of(text, width, size))


def widest(words: Iterable[Sequence[str]], size: float) -> float:
    """Width in inches of the longest of all lines."""
    return max((inches(line, size) for lines in words for line in lines), default=0.0)


def title_lines(text: str, width: float) -> list[str]:
    """The title of a figure of so many inches, in lines."""
    return lines_of(text, width - _EDGE, TITLE, bold=True)


def caption_lines(text: str, width: float) -> list[str]:
    """What stands below a figure of so many inches, in lines."""
    return lines_of(text, width - _EDGE, CAPTION)


def below(drawing: Drawing, first: str = "") -> str:
    """What a reader of a figure must know."""
    source = f"After {drawing.source}." if drawing.source else ""
    said = [first, drawing.caption, *drawing.notes, source]
    return " ".join(part.strip() for part in said if part)


def put_title(figure: Figure, lines: list[str], colour: str = "black") -> None:
    """The title above everything."""
    figure.suptitle(joined(lines), fontsize=TITLE, fontweight="bold", x=0.01, ha="left", color=colour)


def put_caption(figure: Figure, lines: list[str]) -> None:
    """The caption below everything."""
    if lines:
        figure.supxlabel(joined(lines), fontsize=CAPTION, x=0.01, ha="left", color=NEUTRAL)


def named(one: LegendEntry, plot: Plot) -> Named:
    """The line and the words of an entry of the legend."""
    style = line_style(one, plot)
    mine = [trace for facet in plot.facets for trace in facet.traces if trace.group == one.group]
    if plot.over_time and one.role == "measured" and all(trace.shape == "points" for trace in mine):
        style |= DOTS
    return Line2D([], [], **style), one.label


def legend(entries: Sequence[Named], width: float, tells: str = "") -> list[list[Named]]:
    """Entries in as many columns as fit into so many inches, and before them what they tell apart.

    matplotlib fills one column after the other, but read it shall be by rows.
    """
    every = [(Line2D([], [], linestyle=""), f"{tells}:"), *entries] if tells and entries else entries
    fitting = [(line, broken(said, width - _BESIDE, _LETTERS)) for line, said in every]
    found = [[one] for one in fitting]
    for count in range(len(fitting), 0, -1):
        found = [fitting[place::count] for place in range(count)]
        if (
            sum(_BESIDE + widest((said.split("\n") for _, said in column), _LETTERS) for column in found)
            <= width
        ):
            break
    return found


def as_drawn(columns: list[list[Named]]) -> dict[str, Any]:
    """A legend as matplotlib takes it."""
    handles, labels = zip(*chain(*columns), strict=True)
    return {"handles": handles, "labels": labels, "ncols": len(columns), **_LEGEND}


def rows_of(columns: list[list[Named]]) -> float:
    """Height in inches of a legend."""
    lines = max((sum(said.count("\n") + 1 for _, said in column) for column in columns), default=0)
    return high(lines, _LETTERS) if lines else 0.0
