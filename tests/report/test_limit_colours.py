"""The bars of what limited a flow: each limit is told from all others by its colour, in either theme."""

from __future__ import annotations

import re
from importlib.resources import files
from itertools import combinations

import pytest

from rushhour.explain import LIMITS

CSS = (files("rushhour.report") / "assets" / "report.css").read_text(encoding="utf-8")
LIGHT, DARK = CSS.split("@media")[0], CSS.partition("(prefers-color-scheme: dark) {")[2].partition("\n}")[0]
FILLS = {
    limit: colour
    for limits, colour in re.findall(r"((?:\.w-\w+(?:, )?)+) \{ fill: var\(--([\w-]+)\); \}", CSS)
    for limit in re.findall(r"w-(\w+)", limits)
}
ALIKE = {frozenset({"receiver", "sndbuf"}), frozenset({"reader", "application"})}
"""Those that say the same of two ends."""
APART = 20
"""Distance in CIELAB (1976) from which two colours side by side are told apart in a bar of 9 pixels."""


def lab(colour: str) -> tuple[float, float, float]:
    """A colour of sRGB in CIELAB, under D65."""
    red, green, blue = (
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    )
    x, y, z = (
        value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116
        for value in (
            (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047,
            0.2126 * red + 0.7152 * green + 0.0722 * blue,
            (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883,
        )
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def distance(one: str, other: str) -> float:
    return float(sum((a - b) ** 2 for a, b in zip(lab(one), lab(other), strict=True)) ** 0.5)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_no_two_limits_look_alike(theme: str) -> None:
    known = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", theme))
    assert set(FILLS) == set(LIMITS)
    near = {
        (one, other): round(found, 1)
        for one, other in combinations(FILLS, 2)
        if (found := distance(known[FILLS[one]], known[FILLS[other]])) < APART
    }
    assert {frozenset(pair) for pair in near} == ALIKE, near
    assert min(distance(known[colour], known["paper"]) for colour in FILLS.values()) > APART
