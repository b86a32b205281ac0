"""Which line has which look, and what stands in the legend."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rushhour.report.figure.description import LegendEntry, Style
from rushhour.report.figure.titles import name_of, spoken
from rushhour.spec.levels import worth

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rushhour.report.figure.description import Facet, Trace
    from rushhour.report.figure.places import CellLayout, Key

_RAMP = 3
"""Levels of numbers from which on colours run with them."""


@dataclass(frozen=True)
class Looks:
    """The lines in order with their looks, which number their styles."""

    of_line: Mapping[Key, int]
    names: tuple[str, ...]
    styles: tuple[Style, ...]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, where: CellLayout, lines: Iterable[Key], most: int) -> Looks:
        """Give every line a look; at most `most` of them."""
        every = where.sorted(where.lines, lines)
        found = worth([key[0] for key in every]) if len(where.lines) == 1 and len(every) >= _RAMP else None
        if found is not None:
            every = [key for _, key in sorted(zip(found.values, every, strict=True))]
        kept = every[:most]
        notes = (f"The first {most} of {len(every)} lines.",) if len(every) > most else ()
        return cls({key: look for look, key in enumerate(kept)}, where.lines, _styles(kept), notes)

    @property
    def title(self) -> str:
        """The factors that tell the lines apart."""
        return " · ".join(name_of(name) for name in self.names) if len(self.of_line) > 1 else ""

    def label(self, line: Key) -> str:
        """A line's levels in words."""
        return " · ".join(spoken(level) for level in line if level) or "measured"

    def group(self, line: Key) -> str:
        """The entry of the legend of a line."""
        return f"line:{self.of_line[line]}"


def _styles(lines: Sequence[Key]) -> tuple[Style, ...]:
    """Colours along a ramp for levels that are numbers, one each for words; dashes for the other factor.

    Lines of one factor, or of more than two, have a number each for both.
    """
    levels = [list(dict.fromkeys(column)) for column in zip(*lines, strict=True)]
    numbers = [_ascending(column) if len(column) >= _RAMP else None for column in levels]
    ramps = [place for place, known in enumerate(numbers) if known is not None]
    if len(levels) == 2 and (ramps or max(len(column) for column in levels) < len(lines)):
        colours = ramps[0] if ramps else int(len(levels[1]) > len(levels[0]))
        return tuple(
            Style(
                levels[colours].index(line[colours]),
                (numbers[colours] or {}).get(line[colours]),
                *2 * (levels[1 - colours].index(line[1 - colours]),),
            )
            for line in lines
        )
    if len(levels) == 1 and ramps:
        return tuple(Style(look, (numbers[0] or {}).get(line[0]), 0, look) for look, line in enumerate(lines))
    return tuple(Style(look, None, look, look) for look in range(len(lines)))


def _ascending(levels: Sequence[str]) -> dict[str, float] | None:
    """Places from 0 to 1 of levels that are numbers, by rank; None for words."""
    found = worth(levels)
    if found is None:
        return None
    order = [level for _, level in sorted(zip(found.values, levels, strict=True))]
    return {level: rank / (len(order) - 1) for rank, level in enumerate(order)}


def model_group(name: str) -> str:
    """The entry of the legend of a model."""
    return f"model:{name}"


def neutral(traces: Sequence[Trace]) -> list[Trace]:
    """The traces of a model: one of no line's colour where all lines have the same."""
    if not traces:
        return []
    first = traces[0]
    same = all(_equal(first, trace) for trace in traces)
    return [replace(first, look=None)] if same else list(traces)


def entries(looks: Looks, facets: Sequence[Facet]) -> tuple[LegendEntry, ...]:
    """The legend: lines, then theory, then published numbers; lines alone need none where there is one."""
    lines = [
        LegendEntry(looks.group(line), looks.label(line), "measured", look)
        for line, look in looks.of_line.items()
    ]
    others: dict[tuple[str, str], LegendEntry] = {}
    for facet in facets:
        for trace in facet.traces:
            if trace.role == "measured":
                continue
            known = others.get((trace.group, trace.role))
            look = trace.look if known is None or known.look == trace.look else None
            label = f"{trace.label}, outside its range" if trace.role == "doubtful" else trace.label
            others[trace.group, trace.role] = LegendEntry(trace.group, label, trace.role, look)
    # Theory in its range before theory outside of it.
    told = sorted(
        others.values(), key=lambda entry: (entry.role == "published", entry.group, entry.role == "doubtful")
    )
    return (*(lines if len(lines) > 1 or others else []), *told)


def _equal(one: Trace, other: Trace) -> bool:
    return (
        one.role == other.role
        and np.array_equal(one.x, other.x)
        and np.array_equal(one.y, other.y, equal_nan=True)
    )
