"""What all showings of a history say alike: how large a change is, whether it is good, which sides it has."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Literal

from rushhour.quantities.words import quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushhour.history import Change, Point, Series

Tone = Literal["good", "bad", "plain"]

# An exact change that is no shift is named if it is at least so much of the value; others are counted.
NAMED = 0.01
# From so many times on a growth is said in times.
_TIMES = 3
# A key of a label, of which the last part is said (`topology.rtt=10ms`).
_KEY = re.compile(r"(^|, )(?:[\w-]+\.)+([\w-]+=)")


def tone(series: Series, change: Change) -> Tone:
    """Whether a change is one for the better; what is within the scatter of the seeds is neither."""
    if series.better == "none" or change.before is None or change.after is None or scattered(series, change):
        return "plain"
    return "good" if (change.after > change.before) == (series.better == "higher") else "bad"


def size(series: Series, change: Change) -> str:
    """How large a change is: relative, or from what to what where that has no meaning."""
    relative = change.relative
    if relative is None:
        return f"{quantity(change.before, series.unit)} → {quantity(change.after, series.unit)}"
    if relative >= _TIMES - 1:
        return f"\N{MULTIPLICATION SIGN}{relative + 1:.3g}"
    return f"{100 * relative:+.1f}\N{NARROW NO-BREAK SPACE}%".replace("-", "\N{MINUS SIGN}")


def named(series: Series) -> list[Change]:
    """The changes worth a line: every shift, and exact changes that are not small."""
    return [
        change
        for change in series.changes
        if change.shift or change.relative is None or abs(change.relative) >= NAMED
    ]


def scattered(series: Series, change: Change) -> bool:
    """Whether there were several runs, and by these it is no shift."""
    sides = (series.points[change.at - 1], series.points[change.at])
    return not change.shift and max(len(point.known) for point in sides) > 1


def certainty(series: Series, change: Change) -> str:
    """How it is known, in words."""
    words = []
    if change.shift:
        words += ["shift of the level"]
    elif scattered(series, change):
        words += ["within the scatter of the seeds"]
    elif change.exact:
        words += ["one run each"]
    words += ["exact"] if change.exact else []
    words += ["another agent, too"] if change.agent else []
    return ", ".join(words)


def heading(series: Series, *, scenario: bool = True, scope: bool = True) -> str:
    """Scenario, cell, scope and what else tells it from its neighbours."""
    parts = [series.scenario] if scenario else []
    parts += [_KEY.sub(r"\1\2", series.label)]
    parts += [series.scope] if scope and series.scope != "total" else []
    parts += ["quick look"] if series.quick else []
    parts += [series.lab] if series.lab != "uml" else []
    return " · ".join(part for part in parts if part) or series.scenario


def common(found: Sequence[Series]) -> str:
    """What all series have in common, of scenario and scope; empty if nothing."""
    parts = [{one.scenario for one in found}, {one.scope for one in found} - {"total"}]
    return " · ".join(next(iter(part)) for part in parts if len(part) == 1)


def headings(found: Sequence[Series]) -> list[str]:
    """The headings of series: what distinguishes them, at need with the scenario's revision.

    What is `common` to several is left out.
    """
    several = len(found) > 1
    scenario, scope = (
        not several or len({getattr(one, name) for one in found}) > 1 for name in ("scenario", "scope")
    )
    plain = [heading(one, scenario=scenario, scope=scope) for one in found]
    counts = Counter(plain)
    return [
        f"{text} · {one.revision}" if counts[text] > 1 else text
        for text, one in zip(plain, found, strict=True)
    ]


def kernels(points: Sequence[Point]) -> list[str]:
    """What points are called: the kernel's name; with its release, and a number, where there are several."""
    names = _apart([(point.kernel, point.kernel_id) for point in points])
    return [
        name if name is not None else f"{point.kernel} {point.release}{number}"
        for point, name, number in zip(points, names, _numbers(points), strict=True)
    ]


def _apart(named: Sequence[tuple[str, int]]) -> list[str | None]:
    """Each name that only one kernel has; None for the others."""
    owners: dict[str, set[int]] = {}
    for name, kernel in named:
        owners.setdefault(name, set()).add(kernel)
    return [name if len(owners[name]) == 1 else None for name, _ in named]


def _numbers(points: Sequence[Point]) -> list[str]:
    """` #2` for the second kernel of the same name and release, and so on; else nothing."""
    owners: dict[tuple[str, str], list[int]] = {}
    for point in points:
        mine = owners.setdefault((point.kernel, point.release), [])
        if point.kernel_id not in mine:
            mine.append(point.kernel_id)
    found = [owners[point.kernel, point.release] for point in points]
    return [
        f" #{mine.index(point.kernel_id) + 1}" if len(mine) > 1 else ""
        for point, mine in zip(points, found, strict=True)
    ]


def ranked(found: Sequence[Series]) -> list[tuple[int, Change]]:
    """The changes worth a line with the place of their series: shifts first, luck last; large ones first."""
    every = [(place, change) for place, series in enumerate(found) for change in named(series)]

    def rank(one: tuple[int, Change]) -> tuple[bool, bool, float, int, int]:
        place, change = one
        luck = scattered(found[place], change)
        return luck, not change.shift, -abs(change.relative or 0.0), place, change.at

    return sorted(every, key=rank)
