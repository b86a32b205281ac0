"""What came of a series: the commit that decides, and a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushhour.check.telling import RANK, word
from rushhour.quantities.words import plural
from rushhour.verdict.vocabulary import DEPARTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def deciding(commits: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The commit that decides of a series: the worst of those that do not go back to a kernel before.

    That kernel, as all before it, has been judged; the same as the base cannot be worse than it. One that
    only departs decides where no other is worse.
    """
    onward = [one for one in commits if not _goes_back(one)]
    return max(onward or commits, key=lambda one: (RANK[one["verdict"]], word(one) != DEPARTS))


def _goes_back(found: Mapping[str, Any]) -> bool:
    earlier = found.get("restores")
    return bool(earlier and earlier["whole"])


def sentence(commits: Sequence[dict[str, Any]]) -> str:
    """What came of all commits, in a sentence."""
    if len(commits) == 1:
        return str(commits[0]["sentence"])
    onward = [one for one in commits if not _goes_back(one)]
    words = [word(one) for one in onward]
    counts = [f"{words.count(kind)} {kind}" for kind in (*RANK, DEPARTS) if kind in words]
    if back := len(commits) - len(onward):
        counts.append(f"{back} back at a kernel before")
    worst = deciding(commits)
    at = f"; the first that is: {worst['commit'][:12]} {worst['subject']}" if worst["exit"] else ""
    ends = _goes_back(commits[-1]) and commits[-1]["restores"]["base"]
    end = ". At its end the kernel is the base's" if ends else ""
    said = f"{word(worst).capitalize()}: {plural(len(commits), 'commit')}, {', '.join(counts)}{at}"
    return f"{said}{end}."
