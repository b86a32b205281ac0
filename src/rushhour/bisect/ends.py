"""The good and the bad commit of a bisection: whether they differ, and the clearest difference."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rushhour.bisect.mark import Between, ends_said, find
from rushhour.bisect.measure import first_line
from rushhour.errors import UsageError
from rushhour.spec.sweep import set_words
from rushhour.verdict.cell import CellVerdict, examine
from rushhour.verdict.judging import conclude_all

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rushhour.bisect.mark import Mark
    from rushhour.bisect.measure import Bench
    from rushhour.bisect.state import Question
    from rushhour.plan import Cell
    from rushhour.verdict.rule import Rule
    from rushhour.verdict.side import SideCell
    from rushhour.verdict.vocabulary import Decision

    Tell = Callable[[str], None]


@dataclass(frozen=True)
class Ends:
    """What tells good from bad.

    Attributes:
        mark: The clearest difference.
        cell: The cell it is in: what is run of every other commit.
        others: Labels of the other cells that differ.
        looks: After how many runs a commit is judged.
        between: The cell at both ends.
        values: Of the good end and of the bad one, if the mark is a value; then in words.
    """

    mark: Mark
    cell: Cell
    others: list[str]
    looks: list[int]
    between: Between
    values: tuple[float | None, float | None, str]


def judge_ends(bench: Bench, question: Question, cells: Sequence[Cell], rule: Rule, note: Tell) -> Ends:
    """Build and run both ends, with more seeds until they are known to differ.

    Args:
        bench: Where.
        question: What is asked.
        cells: The cells, their scenarios with what decides.
        rule: Of the verdict.
        note: Told what is worth keeping.

    Raises:
        UsageError: they do not differ, or the other way round.
    """
    _build(bench, question, note)
    if len(cells) > 1:
        note(f"{len(cells)} cells run on both ends, then one of them; for fewer: {_set(cells)}")
    looks = sorted({cells[0].scenario.repeat, *rule.looks()})
    level = (1 - rule.confidence) / len(looks)
    wanted: tuple[Decision, ...] = ("better",) if question.improved else ("worse",)
    going, verdicts = list(cells), dict[int, CellVerdict]()
    for look in looks:
        pairs = _pairs(bench, question, going, look)
        last = look == looks[-1]
        found = [replace(examine(one, other, rule, virtual=True), last=last) for one, other in pairs]
        verdicts |= {one.cell.index: one for one in conclude_all(found, level)}
        if find(list(verdicts.values()), wanted):
            break
        going = [cell for cell in going if cell.index in verdicts and _open(verdicts[cell.index])]
        if not going:
            break
    mark = find(list(verdicts.values()), wanted)
    if mark is None:
        raise refused(list(verdicts.values()), question)
    cell = next(cell for cell in cells if cell.index == mark.cell)
    others = [
        one.cell.label for one in verdicts.values() if one.verdict in wanted and one.cell.index != mark.cell
    ]
    between = Between(bench.side(question.good, cell), bench.side(question.bad, cell), rule, level)
    values = ends_said(mark, between)
    note(f"told by {mark}{f' in {cell.label}' if cell.label else ''}: {values[2]}")
    return Ends(mark, cell, others, looks, between, values)


def _build(bench: Bench, question: Question, note: Tell) -> None:
    for word, end in (("good", question.good), ("bad", question.bad)):
        note(f"{word}: {end[:12]}")
        if bench.build(end) is None:
            raise UsageError(
                f"the {word} commit does not build:\n{bench.broken[end]}", hint="name another revision"
            )


def _pairs(
    bench: Bench, question: Question, cells: Sequence[Cell], look: int
) -> list[tuple[SideCell, SideCell]]:
    """The cells on both ends, after so many runs."""
    good, bad = (bench.run(end, cells, look) for end in (question.good, question.bad))
    for word, sides in (("good", good), ("bad", bad)):
        if all(side.skipped for side in sides):
            raise UsageError(f"the {word} commit lacks what the scenario asks for: {sides[0].skipped}")
    pairs = [pair for pair in zip(good, bad, strict=True) if not pair[0].skipped and not pair[1].skipped]
    if not pairs:
        raise UsageError("no cell can run on both commits")
    failed = [first_line(one.trials) for one, _ in pairs]
    if all(failed):
        raise UsageError(f"the good commit does not run: {failed[0]}", hint="name another revision as --good")
    return pairs


def _open(verdict: CellVerdict) -> bool:
    return verdict.verdict not in ("same", "invalid")


def refused(verdicts: Sequence[CellVerdict], question: Question) -> UsageError:
    """Why there is nothing to bisect."""
    improved = question.improved
    other: tuple[Decision, ...] = ("worse",) if improved else ("better",)
    opposite = find(verdicts, other)
    if opposite is not None:
        text = f"the bad commit is {other[0]}, not {'better' if improved else 'worse'}: {opposite.reason}"
        hint = "leave --improved out" if improved else "to find what made it better: --improved"
        return UsageError(text, hint=f"{hint}; or exchange --good and --bad")
    metrics = [entry for verdict in verdicts for entry in verdict.metrics]
    if question.metric != "-" and (not metrics or all(entry.estimate is None for entry in metrics)):
        noted = next((entry.what.note for entry in metrics if entry.what.note), "no cell has such a value")
        if any(verdict.identical for verdict in verdicts):
            noted = "and both ends are equal to the byte"
        else:
            return UsageError(
                f"{question.metric} is undefined in this scenario: {noted}",
                hint="`rushhour run` shows what is measured there",
            )
    invalid = next((verdict for verdict in verdicts if verdict.verdict == "invalid"), None)
    if invalid is not None:
        return UsageError(f"good and bad cannot be compared: {invalid.reason}")
    unsure = next((verdict for verdict in verdicts if verdict.verdict == "inconclusive"), None)
    if unsure is not None:
        return UsageError(
            f"the runs cannot tell whether good and bad differ: {unsure.reason}",
            hint=f"more runs may tell: --max-seeds {2 * question.max_seeds}",
        )
    said = "equal to the byte" if all(one.identical for one in verdicts) else verdicts[0].reason
    return UsageError(
        f"good and bad do not differ: {said}",
        hint="another metric, scenario, or --minimum; metric - takes whatever the scenario is judged by",
    )


def _set(cells: Sequence[Cell]) -> str:
    """The words that choose the first cell, as a shell takes them."""
    return shlex.join(set_words(cells[0].factors))
