"""Where an axis has its ticks, and which of their words find room; for every drawer alike."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_WIDE = 15
"""From this ratio of greatest to least number on, an axis is logarithmic."""


def wide(values: Sequence[float]) -> bool:
    """Whether ascending numbers need a logarithmic axis."""
    known = [value for value in values if value > 0]
    return len(known) > 1 and values[0] >= 0 and known[-1] / known[0] >= _WIDE


def rounds(low: float, high: float) -> list[float]:
    """Round numbers from `low` to `high`, four to eight of them."""
    span = high - low
    power = 10.0 ** math.floor(math.log10(span))
    step = next(step for step in (0.1, 0.2, 0.25, 0.5, 1, 2) if span / (step * power) <= 8) * power
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]


def decades(low: float, high: float) -> list[float]:
    """Ticks of a logarithmic axis: powers of ten, with 2 and 5 up to three decades."""
    steps = (1, 2, 5) if high / low < 1_000 else (1,)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = [float(f"{step}e{power}") for power in powers for step in steps]
    return [tick for tick in every if low <= tick <= high]


def apart(ticks: Sequence[tuple[float, str]], width: float, letter: float) -> list[tuple[float, str]]:
    """The ticks whose words do not touch on an axis of this width; the first and the last stay."""
    kept = list(ticks[:1])
    for place, word in ticks[1:]:
        last, before = kept[-1]
        if (place - last) * width >= letter * (len(word) + len(before) + 2) / 2:
            kept.append((place, word))
    if len(kept) > 1:
        kept[-1] = ticks[-1]
    return kept


def in_lines(words: Sequence[str], letters: float) -> list[list[str]] | None:
    """Each level that is a text broken into lines of so many letters; None where a single word is longer."""
    if any(len(part) > letters for word in words for part in word.split()):
        return None
    return [textwrap.wrap(word, max(1, int(letters))) for word in words]
