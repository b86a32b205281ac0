"""Both ends of a bisection: do they differ, and by what is the difference told best?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rushhour.bisect.mark import Mark, ends_said, find
from rushhour.bisect.measure import first_line
from rushhour.errors import UsageError
from rushhour.verdict.cell import CellVerdict, examine
from rushhour.verdict.judging import conclude_all

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rushhour.bisect.measure import Bench
    from rushhour.bisect.state import Question
    from rushhour.plan import Cell
    from rushhour.verdict.rule import Decision, Rule
    from rushhour.verdict.side import SideCell

    Tell = Callable[[str], None]


@dataclass(frozen=True)
class Ends:
    """What tells good from bad.

    Attributes:
        mark: The clearest difference.
        cell: The cell it is in: what is run of every other commit.
        others: Labels of the other cells that differ.
        looks: After how many runs a commit is judged.
        level: Greatest p of a decision, at each of them.
        values: Of the good end and of the bad one, if the mark is a value; then in words.
    """

    mark: Mark
    cell: Cell
    others: list[str]
    looks: list[int]
    level: float
    values: tuple[float | None, float | None, str]


def judge_ends(
    bench: Bench, question: Question, cells: Sequence[Cell], rule: Rule, *, improved: bool, note: Tell
) -> Ends:
    """Build and run both ends, with more seeds until they are known to differ.

    Args:
        bench: Where.
        question: What is asked.
        cells: The cells, their scenarios with what decides.
        rule: Of the verdict.
        improved: The bad end is the better one.
        note: Told what is worth keeping.

    Raises:
        UsageError: they do not differ, or the other way round.
    """
    for word, end in (("good", question.good), ("bad", question.bad)):
        note(f"{word}: {end[:12]}")
        if bench.build(end) is None:
            raise UsageError(
                f"the {word} end does not build:\n{bench.broken[end]}", hint="name another revision"
            )
    if len(cells) > 1:
        note(f"{len(cells)} cells are run of both ends, then one of them; fewer with --set, as {_set(cells)}")
    looks = sorted({cells[0].scenario.repeat, *rule.looks()})
    level = (1 - rule.confidence) / len(looks)
    wanted: tuple[Decision, ...] = ("better",) if improved else ("worse",)
    open_cells, verdicts = list(cells), dict[int, CellVerdict]()
    for look in looks:
        verdicts |= _look(bench, question, open_cells, rule, level, look)
        if find(list(verdicts.values()), wanted):
            break
        open_cells = [cell for cell in open_cells if verdicts[cell.index].verdict not in ("same", "invalid")]
    mark = find(list(verdicts.values()), wanted)
    if mark is None:
        raise _refused(list(verdicts.values()), question, improved=improved)
    cell = next(cell for cell in cells if cell.index == mark.cell)
    others = [
        one.cell.label for one in verdicts.values() if one.verdict in wanted and one.cell.index != mark.cell
    ]
    values = ends_said(mark, *(_side(bench, end, cell) for end in (question.good, question.bad)), rule)
    note(f"told by {mark}{f' in {cell.label}' if cell.label else ''}: {values[2]}")
    return Ends(mark, cell, others, looks, level, values)


def _look(
    bench: Bench, question: Question, cells: Sequence[Cell], rule: Rule, level: float, look: int
) -> dict[int, CellVerdict]:
    good, bad = (bench.run(end, cells, look) for end in (question.good, question.bad))
    for word, sides in (("good", good), ("bad", bad)):
        skipped = [side for side in sides if side.skipped]
        if len(skipped) == len(sides):
            raise UsageError(f"the {word} end lacks what the scenario asks for: {skipped[0].skipped}")
    pairs = [(one, other) for one, other in zip(good, bad, strict=True) if not one.skipped and not other.skipped]
    if not pairs:
        raise UsageError("there is no cell that both ends can run")
    failed = [first_line(one.trials) for one, _ in pairs]
    if all(failed):
        raise UsageError(f"the good end does not run: {failed[0]}", hint="name another revision as --good")
    found = [examine(one, other, rule, virtual=True) for one, other in pairs]
    concluded = conclude_all(found, level)
    return {one.cell.index: one for one in concluded}


def _refused(verdicts: Sequence[CellVerdict], question: Question, *, improved: bool) -> UsageError:
    other: tuple[Decision, ...] = ("worse",) if improved else ("better",)
    opposite = find(verdicts, other)
    if opposite is not None:
        text = f"the bad end is {other[0]}, not {'better' if improved else 'worse'}: {opposite.reason}"
        hint = "leave --improved out" if improved else "to find what made it better: --improved"
        return UsageError(text, hint=f"{hint}; or exchange what you compare")
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
        return UsageError(f"the ends cannot be compared: {invalid.reason}")
    unsure = next((verdict for verdict in verdicts if verdict.verdict == "inconclusive"), None)
    if unsure is not None:
        return UsageError(
            f"whether the ends differ is not to be told: {unsure.reason}",
            hint=f"more runs may tell: --max-seeds {2 * question.max_seeds}",
        )
    said = "equal to the byte" if all(one.identical for one in verdicts) else verdicts[0].reason
    return UsageError(
        f"good and bad do not differ: {said}",
        hint="another metric, scenario, or --minimum; metric - takes whatever the scenario is judged by",
    )


def _side(bench: Bench, commit: str, cell: Cell) -> SideCell:
    return bench.side(commit, cell)


def _set(cells: Sequence[Cell]) -> str:
    return " ".join(f"--set {key}={value}" for key, value in cells[0].factors.items())
