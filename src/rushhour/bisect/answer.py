"""The end of a bisection: the commit, what it changed, and where its first run begins to differ."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rushhour.errors import RushHourError
from rushhour.verdict import Side, judge, output
from rushhour.verdict.divergence import first_divergence

if TYPE_CHECKING:
    from rushhour.bisect.ends import Ends
    from rushhour.bisect.history import History
    from rushhour.bisect.measure import Bench
    from rushhour.bisect.search import Ahead
    from rushhour.bisect.state import State

VERDICT = "verdict"


def conclude(history: History, bench: Bench, last: Ahead, ends: Ends, state: State) -> dict[str, Any]:
    """What was found, as entries of the document; kernels that nobody needs any more are removed."""
    candidates = [history.about(commit) for commit in last.candidates]
    good, bad, words = ends.values
    found: dict[str, Any] = {
        "metric": {"good": good, "bad": bad, "words": words, "reason": ends.mark.reason},
        "candidates": [commit.document() for commit in candidates],
    }
    if len(candidates) > 1:
        bench.clear({state.question.good, state.question.bad})
        return found | {"state": "candidates", "answer": None, "exit": 3}
    answer = candidates[0]
    before = next((parent for parent in answer.parents if parent in bench.built), state.question.good)
    found |= {"state": "found", "answer": answer.document(), "before": before, "exit": 0}
    found |= _verdict(bench, before, answer.hash, ends, state)
    bench.clear({before, answer.hash})
    return found


def _verdict(bench: Bench, before: str, after: str, ends: Ends, state: State) -> dict[str, Any]:
    """The cell before and after the commit: its verdict, and the first divergence."""
    count = len(ends.between.good.trials)
    for commit in (before, after):
        bench.build(commit)
        bench.run(commit, [ends.cell], count)
    base, candidate = (_side(bench, commit, ends) for commit in (before, after))
    try:
        document = output.write(judge(base, candidate), state.folder / VERDICT)
    except RushHourError as error:
        return {"verdict": None, "doubt": error.message}
    cell = document["cells"][0]
    facts = {"verdict": cell["verdict"], "reason": cell["reason"]}
    return facts | _divergence(bench, before, after, ends)


def _side(bench: Bench, commit: str, ends: Ends) -> Side:
    """The cell alone, judged by all that the scenario is judged by."""
    asked = bench.side(commit, ends.cell)
    cell = replace(asked, resolved=bench.resolved(ends.cell))
    return Side(bench.built[commit].name, "kernel", {cell.key: cell}, str(bench.place(commit, ends.cell)))


def _divergence(bench: Bench, before: str, after: str, ends: Ends) -> dict[str, Any]:
    """Of the first seed at which both runs are there and differ."""
    one, other = (bench.side(commit, ends.cell).trials for commit in (before, after))
    for seed, trial in one.items():
        if seed not in other or trial.digests == other[seed].digests:
            continue
        records = trial.record(), other[seed].record()
        if records[0] is None or records[1] is None:
            continue
        try:
            found = first_divergence(records[0], records[1])
        except RushHourError as error:
            return {"divergence": None, "doubt": error.message}
        if found is not None:
            return {"divergence": found.document()}
    return {"divergence": None}
