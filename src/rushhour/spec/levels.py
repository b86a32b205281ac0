"""What the values of a factor are worth: numbers of one unit, or words.

Takes the values as a scenario writes them, gives numbers that an axis can carry.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from rushhour.quantities.units import Buffer, Duration, Probability, Rate, Size, UnitError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Worth(NamedTuple):
    """Numbers in one unit: `s`, `bit/s`, `bytes`, `packets`, `BDP`, `1` (a probability) or none at all."""

    values: list[float]
    unit: str


_UNITS: tuple[tuple[str, Callable[[Any], float]], ...] = (
    ("", lambda word: float("nan" if isinstance(word, bool) else word)),
    ("1", lambda word: Probability.parse(word).p),
    ("s", lambda word: Duration.parse(word).ns / 1e9),
    ("bit/s", lambda word: float(Rate.parse(word).bps)),
    ("bytes", lambda word: float(Size.parse(word).bytes)),
    ("packets", lambda word: _given(Buffer.parse(word).packets)),
    ("BDP", lambda word: _given(Buffer.parse(word).bdp)),
)


def worth(levels: Sequence[Any]) -> Worth | None:
    """Give what all levels are worth in one unit; None where they are no numbers of one kind."""
    for unit, read in _UNITS:
        try:
            found = [read(level) for level in levels]
        except (UnitError, ValueError, TypeError):
            continue
        if all(math.isfinite(value) for value in found):
            return Worth(found, unit)
    return None


def _given(value: float | None) -> float:
    return math.nan if value is None else float(value)
