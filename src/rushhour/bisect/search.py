"""The search: which commit to judge next, and what can be said when none is left.

The rule is git's. A commit that is bad has the first bad one in its history (itself included); a commit that
is good has not. What cannot be judged is skipped, and stays a candidate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from rushhour.bisect.history import History

Decision = Literal["good", "bad", "skip"]


@dataclass(frozen=True)
class Position:
    """What is known so far: the oldest bad commit, the good ones, those that could not be judged."""

    bad: str
    goods: tuple[str, ...]
    skipped: frozenset[str] = frozenset()

    def after(self, commit: str, decision: Decision) -> Position:
        """With one commit more judged."""
        if decision == "bad":
            return replace(self, bad=commit)
        if decision == "good":
            return replace(self, goods=(*self.goods, commit))
        return replace(self, skipped=self.skipped | {commit})


@dataclass(frozen=True)
class Ahead:
    """What is still to do: the commits of which one is the first bad, and the next to be judged, if any."""

    candidates: list[str]
    next: str | None

    @property
    def steps(self) -> int:
        """About how many commits must still be judged."""
        return math.ceil(math.log2(len(self.candidates))) if self.next else 0


def ahead(history: History, position: Position) -> Ahead:
    """The state of the search.

    The next commit is the one that halves the candidates; where that was skipped, one further away, because
    what does not build seldom stands alone: of those left, by the power 1.5 of van der Corput's
    sequence, which prefers those that halve well.
    """
    ranked = history.between(position.bad, position.goods)
    left = [commit for commit in ranked if commit not in position.skipped and commit != position.bad]
    if not left:
        return Ahead(ranked, None)
    if left[0] == ranked[0]:
        return Ahead(ranked, left[0])
    skipped = sum(commit in position.skipped for commit in ranked)
    return Ahead(ranked, left[int(len(left) * _van_der_corput(skipped) ** 1.5)])


def search(history: History, position: Position, judge: Callable[[str, Ahead], Decision]) -> Ahead:
    """Judge commits until one candidate is left, or none that can be judged.

    Args:
        history: The commits.
        position: What is known at the beginning.
        judge: Told a commit and how far the search is, says what the commit is.
    """
    while (now := ahead(history, position)).next:
        position = position.after(now.next, judge(now.next, now))
    return now


def _van_der_corput(k: int) -> float:
    """The bits of k behind the point, the last first: 1/2, 1/4, 3/4, 1/8."""
    value, place = 0.0, 0.5
    while k:
        value += place * (k & 1)
        k, place = k >> 1, place / 2
    return value
