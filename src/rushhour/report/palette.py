"""One look for one thing in a whole report: an algorithm, or a flow, has the same colour in every picture.

Flows come first, in the order of the runs. Lines of figures that are called as a flow or its algorithm take
its look; others take the looks that are free in their figure.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.report.figure.description import Plot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushhour.report.figure.description import Drawing, Style
    from rushhour.report.figure.overview import Overview
    from rushhour.report.model import FlowLine


class Palette:
    """The looks given so far: numbers from 0 on, which the styles of pages and figures turn into colours."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self._next = 0

    def flows(self, lines: Sequence[FlowLine]) -> list[FlowLine]:
        """The flows of a run with their looks.

        A flow is known by its algorithm where the run has no two of one, else by its name.
        """
        algorithms = [line.cc or line.kind for line in lines]
        alone = len(set(algorithms)) == len(algorithms)
        names = algorithms if alone else [line.name for line in lines]
        found = []
        for line, name in zip(lines, names, strict=True):
            look = self._look(name)
            for alias in (line.name, line.group):
                self._known.setdefault(alias, look)
            found.append(replace(line, look=look))
        return found

    def levels(self, labels: Sequence[str]) -> list[int]:
        """A look for each of the lines of one figure, all different."""
        given: dict[str, int] = {}
        for label in labels:
            known = self._known.get(label)
            if known is not None and known not in given.values():
                given[label] = known
        free = (look for look in range(len(labels) + len(given)) if look not in set(given.values()))
        return [given[label] if label in given else next(free) for label in labels]

    def figure(self, drawing: Drawing) -> Drawing:
        """A figure with the looks of the report; lines along a ramp of numbers keep theirs."""
        return self._plot(drawing) if isinstance(drawing, Plot) else drawing

    def _plot(self, drawing: Plot) -> Plot:
        if any(style.place is not None for style in drawing.styles):
            return drawing
        names = _lines(drawing)
        groups: dict[int, list[str]] = {}
        for look, style in enumerate(drawing.styles):
            groups.setdefault(style.colour, []).append(names.get(look, ""))
        given = self.levels([self._called(group) for group in groups.values()])
        looks = dict(zip(groups, given, strict=True))
        # Dashes and marks follow where they said the same as the colour.
        same = all(style.dash == style.mark == style.colour for style in drawing.styles)
        styles = [_painted(style, looks[style.colour], same=same) for style in drawing.styles]
        return replace(drawing, styles=tuple(styles))

    def overview(self, overview: Overview) -> Overview:
        """An overview with the looks of the report."""
        plot = overview.plot
        return overview if plot is None else replace(overview, plot=self._plot(plot))

    def _look(self, name: str) -> int:
        if name not in self._known:
            self._known[name] = self._next
            self._next += 1
        return self._known[name]

    def _called(self, labels: Sequence[str]) -> str:
        """What lines of one colour are called: `cubic`, if all of them have that part and it is known."""
        parts = [label.split(" · ") for label in labels]
        shared = [part for part in parts[0] if all(part in other for other in parts)]
        return next((part for part in shared if part in self._known), " · ".join(labels))


def _lines(plot: Plot) -> dict[int, str]:
    """What each look of a figure is the line of."""
    traces = [trace for facet in plot.facets for trace in facet.traces if trace.role == "measured"]
    return {trace.look: trace.label for trace in traces if trace.look is not None}


def _painted(style: Style, look: int, *, same: bool) -> Style:
    """A style in another colour, and with its dashes and marks if they are the `same` as the colour."""
    painted = replace(style, colour=look)
    return replace(painted, dash=look, mark=look) if same else painted
