"""The end of a bisection: the commit, what it changed, and where its first run begins to differ."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.errors import RushHourError
from rushhour.report.verdict import output
from rushhour.verdict import Side, judge
from rushhour.verdict.follow import differing, divergences, slim

if TYPE_CHECKING:
    from rushhour.bisect.ends import Ends
    from rushhour.bisect.history import Commit, History
    from rushhour.bisect.measure import Bench
    from rushhour.bisect.search import Ahead
    from rushhour.bisect.state import State

VERDICT = "verdict"


def conclude(history: History, bench: Bench, last: Ahead, ends: Ends, state: State) -> dict[str, object]:
    """What was found, as entries of the document; kernels that nobody needs any more are removed."""
    candidates = [history.about(commit) for commit in last.candidates]
    good, bad, words = ends.values
    found: dict[str, object] = {
        "metric": {"good": good, "bad": bad, "words": words, "reason": ends.mark.reason},
        "candidates": [commit.document() for commit in candidates],
    }
    if len(candidates) > 1:
        bench.clear({state.question.good, state.question.bad})
        return found | {"state": "candidates", "answer": None, "exit": 3}
    answer = candidates[0]
    before = _parent(bench, answer, state)
    found |= {"state": "found", "answer": answer.document(), "before": before, "exit": 0}
    found |= _verdict(bench, before, answer.hash, ends, state)
    bench.clear({before, answer.hash})
    return found


def _parent(bench: Bench, answer: Commit, state: State) -> str:
    """What the commit is held against: a parent, rather one that was judged, or else the good end."""
    judged = {step.commit for step in state.steps if step.decision == "good"}
    parents = sorted(answer.parents, key=lambda parent: parent not in judged)
    return next((one for one in parents if bench.build(one) is not None), state.question.good)


def _verdict(bench: Bench, before: str, after: str, ends: Ends, state: State) -> dict[str, object]:
    """The cell before and after the commit: its verdict, and the first divergence."""
    count = len(ends.between.good.trials)
    for commit in (before, after):
        bench.build(commit)
        bench.run(commit, [ends.cell], count)
    base, candidate = (_side(bench, commit, ends) for commit in (before, after))
    try:
        verdict = judge(base, candidate)
        for seed in (seed for cell in slim(verdict) if (seed := differing(cell)) is not None):
            for commit in (before, after):
                bench.make_whole(commit, ends.cell, seed)
        document = output.write(divergences(verdict), state.folder / VERDICT)
    except RushHourError as error:
        return {"verdict": None, "doubt": error.message}
    found = {name: document["cells"][0][name] for name in ("verdict", "reason")}
    # The report is about a base and a candidate, the answer about two commits.
    told = divergences(verdict, (before[:12], after[:12])).cells[0].divergence
    return found | {"divergence": told}


def _side(bench: Bench, commit: str, ends: Ends) -> Side:
    """The cell alone, judged by the metric that was asked for and by all that the scenario is judged by."""
    asked = bench.side(commit, ends.cell)
    own = bench.resolved(ends.cell)
    cell = replace(asked, resolved={**own, "judge": [*asked.resolved["judge"], *own["judge"]]})
    return Side(bench.built[commit].name, "kernel", {cell.key: cell}, str(bench.place(commit, ends.cell)))
