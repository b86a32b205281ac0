"""Verdicts: is a candidate the same as the base, better, or worse?

side       result sets, baselines, kernels → Side: cells, and their runs by seed
refusal    what must not be compared
compared   two cells → quantities of both sides
rule       values → estimate → decision; in real time with realtime
cell       quantities, expectations, failures → the verdict of a cell
judging    all cells → Verdict
comparing  two words → Verdict

Of two records `divergence` finds the event at which they begin to differ.
"""

from __future__ import annotations

from rushhour.verdict.comparing import compare
from rushhour.verdict.judging import Missing, Verdict, judge
from rushhour.verdict.rule import Rule
from rushhour.verdict.side import Side, of_sets

__all__ = ["Missing", "Rule", "Side", "Verdict", "compare", "judge", "of_sets"]
