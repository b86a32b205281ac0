"""Which cells of a large set figures are made of: those of evenly chosen levels, so that a page is small."""

from __future__ import annotations

import json
from math import prod
from typing import TYPE_CHECKING

from rushhour.summary import index

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.record.result_set import ResultSet

MOST_CELLS = 2000
"""Cells that the figures of a large set are made of."""
_LIMITS = (40, 20, 10, 7, 5, 4, 3, 2)
"""Levels of one factor, tried in this order."""


class Thin:
    """The levels that figures show: all of a set that is not large."""

    def __init__(self, results: ResultSet) -> None:
        self._kept: dict[str, frozenset[str]] = {}
        self.notes: tuple[str, ...] = ()
        """What a reader of the figures must know."""
        if len(results) > index.WHOLE:
            self._choose(results)

    def has(self, factors: Mapping[str, object]) -> bool:
        """Whether a cell with these factors is shown."""
        return all(_spelled(factors.get(name)) in kept for name, kept in self._kept.items())

    def _choose(self, results: ResultSet) -> None:
        levels: dict[str, dict[str, None]] = {}
        for cell in results.about.cells:
            for name, level in cell.factors.items():
                levels.setdefault(name, {})[_spelled(level)] = None
        for limit in _LIMITS:
            if prod(min(limit, len(found)) for found in levels.values()) <= MOST_CELLS:
                break
        many = {name: [*found] for name, found in levels.items() if len(found) > limit}
        for name, found in many.items():
            self._kept[name] = frozenset(
                found[place * (len(found) - 1) // (limit - 1)] for place in range(limit)
            )
        self.notes = tuple(
            f"Of {len(found)} levels of {name} {limit} are drawn, evenly chosen."
            for name, found in many.items()
        )


def _spelled(level: object) -> str:
    return json.dumps(level, sort_keys=True, default=str)
