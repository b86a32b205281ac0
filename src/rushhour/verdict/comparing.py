"""Comparing: two words become a verdict."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.errors import UsageError
from rushhour.measures import Tolerance
from rushhour.units import UnitError
from rushhour.verdict.judging import judge
from rushhour.verdict.open import open_side
from rushhour.verdict.refusal import VARIABLES
from rushhour.verdict.rule import Rule
from rushhour.verdict.side import Side

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rushhour.verdict.judging import Verdict


def compare(
    base: str | Path,
    candidate: str | Path,
    *,
    minimum: str | None = None,
    variables: Sequence[str] = ("kernel",),
) -> Verdict:
    """Judge a candidate against a base; each is a folder of results.

    Raises:
        UsageError: a word means nothing, or the sides are not comparable.
        RecordError: a folder holds no runs, or they are damaged.
    """
    begin = time.monotonic()
    rule = Rule() if minimum is None else Rule(minimum=share(minimum))
    _check(variables)
    before, after = open_side(base), open_side(candidate)
    if not isinstance(before, Side) or not isinstance(after, Side):
        raise UsageError("kernels cannot be compared yet", hint="run both and give the folders")
    verdict = judge(before, after, rule, variables=variables)
    return replace(verdict, elapsed_s=time.monotonic() - begin)


def share(word: str) -> float:
    """What `--minimum` says, as a fraction.

    Raises:
        UsageError: it is no percentage.
    """
    try:
        tolerance = Tolerance.parse(word)
    except UnitError as error:
        raise UsageError(f"--minimum: {error}") from error
    if not tolerance.relative:
        raise UsageError(
            f'--minimum is "{word}"; it takes a share of the base\'s value',
            hint='for example "2%"; amounts belong to single metrics: minimum = "1ms" in a [[judge]] table',
        )
    return tolerance.amount / 100


def _check(variables: Sequence[str]) -> None:
    for name in variables:
        if name not in VARIABLES:
            raise UsageError(f'--variable: there is no "{name}"', hint=f"there are: {', '.join(VARIABLES)}")
