"""A history in the terminal: a line for each series, the points of a single one, and every change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from rushhour.quantities.words import NONE, quantity, scale_for
from rushhour.report.figure import screen
from rushhour.report.grid import Grid
from rushhour.report.history.figure import figure
from rushhour.report.history.said import (
    certainty,
    common,
    headings,
    kernels,
    named,
    ranked,
    scattered,
    size,
    tone,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from rushhour.history import Change, Point, Series

_TONES = {"good": "green", "bad": "red", "plain": "yellow"}
_LEAST = 0.04
"""A line of marks spans at least so much of its level: what is nearly flat looks flat."""
_ROWS = 60
"""Points of a single series that are listed: the last ones."""
_LUCK = 5
"""Changes within the scatter of the seeds that are listed."""


def show(found: Sequence[Series], console: Console) -> None:
    """Print series and their changes."""
    names = headings(found)
    if len(found) == 1:
        _one(found[0], names[0], console)
    else:
        _many(found, names, console)
    _changes(found, names, console)


def _one(series: Series, name: str, console: Console) -> None:
    better = "" if series.better == "none" else f", {series.better} is better"
    console.print(Text.assemble((f"{series.metric}{better}", "bold"), f"  {name}"))
    plot = figure(series, name)
    if plot is not None and len(series.points) > 1:
        console.print(*screen.points(plot, plot.facets[0], console.width), sep="\n")
    start = max(0, len(series.points) - _ROWS)
    if start:
        console.print(Text(f"  … {start} before", "dim"))
    console.print(Padding(_points(series, start), (0, 0, 0, 2)))


def _points(series: Series, start: int) -> Grid:
    """The points from this one on; where there is little room names and times are broken, no number is."""
    scale = scale_for([value for point in series.points for value in point.known], series.unit)
    changes = {change.at: change for change in series.changes}
    called = kernels(series.points)
    told = all(point.release in name for point, name in zip(series.points, called, strict=True))
    mean = f"mean, {scale.unit}" if scale.unit else "mean"
    rows = [
        (
            called[place], *(() if told else (point.release,)), point.made[:16].replace("T", " "),
            _mark(series, changes.get(place)), str(len(point.known)),
            *(scale.text(value) for value in (point.mean, *_ends(point))),
        )
        for place, point in enumerate(series.points[start:], start)
    ]  # fmt: skip
    table = Grid()
    for heading in ("kernel", *(() if told else ("release",)), "first run"):
        table.add_column(heading)
    for place, heading in enumerate(("", "runs", mean, "least", "most"), -5):
        longest = max(len(heading), *(len(row[place]) for row in rows))
        table.add_column(heading, justify="right" if heading else "left", min_width=longest)
    for row in rows:
        table.add_row(*row)
    return table


def _ends(point: Point) -> tuple[float | None, float | None]:
    return min(point.known, default=None), max(point.known, default=None)


def _mark(series: Series, change: Change | None) -> Text:
    if change is None:
        return Text("")
    style = _TONES[tone(series, change)] if change.shift else "dim"
    return Text(f"{'◀' if change.shift else '·'} {size(series, change)}", style)


def _many(found: Sequence[Series], names: Sequence[str], console: Console) -> None:
    table = Grid()
    table.add_column("", ratio=1)
    for heading in ("points", "", "first", "last", "changes"):
        table.add_column(heading, no_wrap=True, justify="left" if not heading else "right")
    for series, name in zip(found, names, strict=True):
        means = [point.mean for point in series.points]
        small = len(series.changes) - len(named(series))
        count = f"{len(named(series))}{f' + {small} small' if small else ''}" if series.changes else NONE
        table.add_row(
            name, str(len(means)), marks(means[-40:]), quantity(means[0], series.unit),
            quantity(means[-1], series.unit), count,
        )  # fmt: skip
    better = found[0].better
    head = found[0].metric + ("" if better == "none" else f", {better} is better")
    console.print(Text.assemble((head, "bold"), f"  {common(found)}"))
    console.print(Padding(table, (0, 0, 0, 2)))


def _changes(found: Sequence[Series], names: Sequence[str], console: Console) -> None:
    table = Grid(show_header=False)
    for justify in ("left", "right", "left", "left"):
        table.add_column(justify=justify)
    rows = ranked(found)
    luck = sum(scattered(found[place], change) for place, change in rows)
    kept = rows[: len(rows) - max(0, luck - _LUCK)]
    for place, change in kept:
        series = found[place]
        table.add_row(
            Text(_sides(series, change), "bold"), Text(size(series, change), _TONES[tone(series, change)]),
            Text(certainty(series, change), "dim"), Text(names[place] if len(found) > 1 else "", "dim"),
        )  # fmt: skip
    if rows:
        console.print(Text("\nchanged", "bold"))
        console.print(Padding(table, (0, 0, 0, 2)))
        if len(kept) < len(rows):
            console.print(
                Text(f"  … and {len(rows) - len(kept)} more within the scatter of the seeds", "dim")
            )
        return
    small = sum(len(series.changes) for series in found)
    console.print(
        Text(f"\n{'no change worth a line; ' + str(small) + ' small ones' if small else 'no change'}")
    )


def _sides(series: Series, change: Change) -> str:
    before, after = (kernels(series.points)[place] for place in (change.at - 1, change.at))
    if before != after:
        return f"{before} → {after}"
    return f"{after}, {series.points[change.at].made[:16].replace('T', ' ')}"


def marks(values: Sequence[float | None]) -> str:
    """Values as a line of eight heights; a space where there is none."""
    known = [value for value in values if value is not None]
    if not known:
        return ""
    low, high = min(known), max(known)
    span = _LEAST * max(abs(low), abs(high)) or 1.0
    # What is nearly flat stands in the middle of the fourth height.
    start = (low + high) / 2 - span * 3.5 / 8 if high - low < span else low
    span = max(span, high - low)
    letters = "▁▂▃▄▅▆▇█"
    return "".join(
        " " if value is None else letters[min(7, max(0, int(8 * (value - start) / span)))] for value in values
    )
