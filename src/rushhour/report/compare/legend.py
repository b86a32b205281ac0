"""Which line has which look, and what stands in the legend."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rushhour.report.compare.plot import Entry
from rushhour.report.compare.titles import name_of, spoken
from rushhour.spec.levels import worth

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rushhour.report.compare.places import Key, Layout
    from rushhour.report.compare.plot import Facet, Trace

_RAMP = 3
"""Levels of numbers from which on colours run with them."""


@dataclass(frozen=True)
class Looks:
    """The lines in order with their looks; `ramp`: they are levels of one factor, numbers in order."""

    of_line: Mapping[Key, int]
    names: tuple[str, ...]
    ramp: bool
    notes: tuple[str, ...]

    @classmethod
    def of(cls, where: Layout, lines: Iterable[Key], most: int) -> Looks:
        """Give every line a look; at most `most` of them."""
        every = where.sorted(where.lines, lines)
        found = worth([key[0] for key in every]) if len(where.lines) == 1 and len(every) >= _RAMP else None
        if found is not None:
            every = [key for _, key in sorted(zip(found.values, every, strict=True))]
        kept = every[:most]
        notes = (f"The first {most} of {len(every)} lines.",) if len(every) > most else ()
        return cls({key: look for look, key in enumerate(kept)}, where.lines, found is not None, notes)

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


def entries(looks: Looks, facets: Sequence[Facet]) -> tuple[Entry, ...]:
    """The legend: lines, then theory, then published numbers; lines alone need none where there is one."""
    lines = [
        Entry(looks.group(line), looks.label(line), "measured", look) for line, look in looks.of_line.items()
    ]
    others: dict[tuple[str, str], Entry] = {}
    for facet in facets:
        for trace in facet.traces:
            if trace.role == "measured":
                continue
            known = others.get((trace.group, trace.role))
            look = trace.look if known is None or known.look == trace.look else None
            label = f"{trace.label}, outside its range" if trace.role == "doubtful" else trace.label
            others[trace.group, trace.role] = Entry(trace.group, label, trace.role, look)
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
