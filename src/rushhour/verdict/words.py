"""What a verdict says: one sentence for a metric, one for a cell, one for the whole."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.quantities.words import quantity, scale_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushhour.verdict.compared import Compared
    from rushhour.verdict.judged import Judged


def of_metric(judged: Judged) -> str:
    """Why a metric has its verdict."""
    what, found = judged.what, judged.estimate
    name = f"{what.metric} of {what.scope}"
    if what.unread:
        return f"{name} cannot be compared: one of the kernels gives no such reading"
    if found is None:
        return f"{name} is undefined on both sides"
    if judged.presence:
        lost = found.difference < 0
        why = f": {what.note}" if what.note else ""
        change = "is no longer defined" if lost else "is defined now, and was not"
        if judged.verdict == "inconclusive":
            change += f"; {_runs(judged)} cannot tell whether that is chance"
        return f"{name} {change}{why}"
    if judged.equal:
        return f"{name} is {quantity(found.base, what.unit)} on both sides"
    moved = f"{name} {_verb(judged)} {_amount(judged)} ({_both(judged)})"
    return f"{moved}, {_sureness(judged)}"


# By which words a kernel's log tells what it died of.
_DEATH = re.compile(r"Kernel panic - not syncing|\b(?:BUG|Oops|WARNING)\b|general protection fault")


def of_failure(error: str | None) -> str:
    """A run's error in one line: what happened and, of a kernel that died, its own word for it."""
    first, *log = (error or "no reason was given").splitlines()
    cause = next((line.strip() for line in reversed(log) if _DEATH.search(line)), "")
    said = first.removesuffix("; its last console lines:")
    return f"{said}: {cause}" if cause and cause not in said else said  # of a splat it is the title


def of_broken(text: str, found: str, times: tuple[int, int]) -> str:
    """Why an expectation makes a cell worse."""
    kept = "" if times[0] == times[1] else f" in {times[0]} of {times[1]} runs"
    return f"the expectation {text} is broken{kept}" + (f": {found}" if found else "")


def and_more(reason: str, others: int, what: str = "metric") -> str:
    """A reason with the number of others like it."""
    if others < 1:
        return reason
    return f"{reason}; {others} more {what}{'s' if others > 1 else ''} with the same verdict"


def _verb(judged: Judged) -> str:
    assert judged.estimate is not None
    up = judged.estimate.difference > 0
    if judged.verdict == "inconclusive":
        return "seems to " + ("rise by" if up else "fall by")
    if judged.verdict == "worse" and judged.what.better == "none":
        return "departs: it rose by" if up else "departs: it fell by"
    return "rose by" if up else "fell by"


def _amount(judged: Judged) -> str:
    found = judged.estimate
    assert found is not None
    change = found.relative(found.difference)
    if change is None or not judged.what.minimum.relative or abs(change) >= 10:
        return quantity(abs(found.difference), judged.what.unit) or "0"
    return f"{abs(change) * 100:.3g} %"


def _both(judged: Judged) -> str:
    found, unit = judged.estimate, judged.what.unit
    assert found is not None
    values = [found.base, found.base + found.difference]
    scale = scale_for(values, unit)
    return f"{scale.text(values[0])} → {scale.with_unit(values[1])}"


def _sureness(judged: Judged) -> str:
    found = judged.estimate
    assert found is not None
    matters = least_words(judged.what, judged.least, found.base)
    if judged.coarse:
        what = replace(judged.what, minimum=judged.what.within or judged.what.minimum)
        bound = least_words(what, judged.within, found.base)
        return f"less than {bound}: the runs are chaotic, and {_runs(judged)} cannot exclude {matters}"
    if judged.verdict == "same":
        return f"less than {matters}"
    if judged.verdict != "inconclusive":
        return f"more than {matters}, in {_runs(judged)}"
    endless = not math.isfinite(found.low) or (found.low < -abs(found.base) and found.high > abs(found.base))
    if endless or found.n == 1:
        return f"and {_runs(judged)} cannot tell chance from change{_enough(judged)}"
    spread = f"{_signed(found.low, judged.what.unit)} … {_signed(found.high, judged.what.unit)}"
    if found.low > judged.least or found.high < -judged.least:
        # The interval is of this quantity alone, the decision of all that were open (`rule.adjust`).
        many = "of so many quantities that are judged together one may do so by chance"
        return f"by {spread} in {_runs(judged)}, but {many}{_enough(judged)}"
    return f"but {_runs(judged)} leave open {spread}, and {matters} would matter{_enough(judged)}"


def least_words(what: Compared, least: float, base: float) -> str:
    """The least difference that matters, in words: a share, unless the floor of the unit is more."""
    share = what.minimum.relative and 0 < least <= what.minimum.around(base, what.unit)
    return f"{what.minimum} of it" if share else quantity(least, what.unit)


def _signed(value: float, unit: str) -> str:
    sign = "+" if value > 0 else "\N{MINUS SIGN}" if value < 0 else ""
    return sign + quantity(abs(value), unit)


def _runs(judged: Judged) -> str:
    count = 0 if judged.estimate is None else judged.estimate.n
    noun = "seed" if judged.paired else "repetition"
    return f"one {noun}" if count == 1 else f"{count} {noun}s"


def _enough(judged: Judged) -> str:
    return "" if judged.needed is None else f"; about {judged.needed} repetitions of each side would tell"


def listed(items: Sequence[str], most: int = 3) -> str:
    """A few items, and how many more."""
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(items[:most]) + more
