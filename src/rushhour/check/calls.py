"""Where gdb stops best in a cell that differs: in a function that differs, at its last call before both part.

Where both part may be a late sign of what was done otherwise: a packet arrives later than it was sent. But
until a cell calls a function that differs, both kernels run the same instructions. So where nothing but
functions differs, and gdb can stop at each of them that the cell executes, one of them was called by then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushhour.report.verdict.advice import stopping

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from rushhour.check.change import Change
    from rushhour.check.reach import Reach
    from rushhour.record.verdict_file import VerdictFile
    from rushhour.verdict.side import Key

_MOST = 8  # functions of a command; with more it would say little


def calls(
    change: Change, reached: Reach, own: Callable[[], Collection[str]]
) -> Callable[[Key], Sequence[str]]:
    """By cell the functions that differ and that it executes, where one of them is called before both part.

    None where that is not certain: where declarations, macros, headers or files differ that the index does
    not know, or where the compiler put one of these functions into its callers.

    Args:
        change: What differs.
        reached: What is known of that.
        own: Gives the functions that the candidate has as code of their own.
    """

    def of(key: Key) -> Sequence[str]:
        executed = {name: None for (_, name), cells in reached.executed.items() if key in cells}
        if not 0 < len(executed) <= _MOST or not _is_in_functions(change, reached):
            return ()
        return [*executed] if executed.keys() <= {*own()} else ()

    return of


def _is_in_functions(change: Change, reached: Reach) -> bool:
    """Whether all that differs is in functions of files that the index knows."""
    code = [one for one in change.files if one.code and reached.compiled.get(one.path) is not False]
    return all(reached.compiled.get(one.path) and not one.outside for one in code)


def debugging(document: VerdictFile, worst: Mapping[str, Any] | None, folder: Path) -> dict[str, Any]:
    """The command that stops in the worst cell where both part, and the functions that it names; or nothing.

    Args:
        document: The verdict's.
        worst: What is said of the worst cell.
        folder: Of the verdict.
    """
    wanted = worst and (worst["scenario"], worst["label"])
    for cell in document.cells:
        if (cell.scenario, cell.label) == wanted and (step := stopping(cell, document)):
            return {"debug": f"{step.outside(folder)} --build", "calls": [*cell.calls]}
    return {}


def told(one: Mapping[str, Any]) -> Iterator[str]:
    """Lines of a terminal about a commit whose worst cell is worse: how to see in gdb where both part."""
    worst = one.get("worst") or {}
    if one["verdict"] == worst.get("verdict") == "worse" and "debug" in worst:
        names = " or ".join(worst["calls"])
        where = f"at the last call of {names} before both part" if names else "just before both part"
        yield f"Under gdb, {where} (compiles the kernel's symbols first, once):"
        yield f"  {worst['debug']}"
