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
    found |= _verdict(bench, before, answer, ends, state)
    bench.clear({before, answer.hash})
    return found


def _parent(bench: Bench, answer: Commit, state: State) -> str:
    """What the commit is held against: a parent, rather one that was judged, or else the good end."""
    judged = {step.commit for step in state.steps if step.decision == "good"}
    parents = sorted(answer.parents, key=lambda parent: parent not in judged)
    return next((one for one in parents if bench.build(one) is not None), state.question.good)


def _verdict(bench: Bench, before: str, answer: Commit, ends: Ends, state: State) -> dict[str, object]:
    """The cell before and after the commit: its verdict, and the first divergence."""
    after, parents = answer.hash, answer.parents
    count = len(ends.between.good.trials)
    for commit in (before, after):
        bench.build(commit)
        bench.run(commit, [ends.cell], count)
    base, candidate = (_side(bench, commit, ends, state) for commit in (before, after))
    try:
        verdict = judge(base, candidate)
        for seed in (seed for cell in slim(verdict) if (seed := differing(cell)) is not None):
            for commit in (before, after):
                bench.make_whole(commit, ends.cell, seed)
        parted = divergences(verdict, (before[:12], after[:12]))
        # Held against another than its parent, more than one commit lies between both.
        alone = after if before in parents else ""
        document = output.write(replace(parted, commit=alone), state.folder / VERDICT)
    except RushHourError as error:
        return {"verdict": None, "doubt": error.message}
    found: dict[str, object] = document["cells"][0]
    return {name: found[name] for name in ("verdict", "reason", "divergence")}


def _side(bench: Bench, commit: str, ends: Ends, state: State) -> Side:
    """The cell alone, judged by the metric that was asked for and by all that the scenario is judged by."""
    asked = bench.side(commit, ends.cell)
    own = bench.resolved(ends.cell)
    cell = replace(asked, resolved={**own, "judge": [*asked.resolved["judge"], *own["judge"]]})
    side = Side(bench.built[commit].name, "kernel", {cell.key: cell}, str(bench.place(commit, ends.cell)))
    side.sets[cell.scenario] = state.question.sets
    return side
