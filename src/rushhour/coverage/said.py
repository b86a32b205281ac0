"""What is said first of an index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.coverage import totals
from rushhour.quantities.words import plural

if TYPE_CHECKING:
    from rushhour.coverage.index import Index
    from rushhour.coverage.totals import Share


def sentence(index: Index, runs: int | None = None) -> str:
    """How many cells execute how much of what."""
    whole = totals.together("", (part for part, _ in totals.by_folder(index)))
    cells, scenarios = len(index.cells), len({cell.scenario for cell in index.cells})
    who = f"{plural(cells, 'cell')} of {plural(scenarios, 'scenario')}"
    again = f" in {plural(runs, 'run')}" if runs not in (None, cells) else ""
    return (
        f"{who}{again} {'executes' if cells == 1 else 'execute'} {_percent(whole.lines)} of the lines, "
        f"{_percent(whole.functions)} of the functions and {_percent(whole.branches)} of the branches "
        f"that are covered of {index.kernel.get('name', 'the kernel')}."
    )


def _percent(part: Share) -> str:
    return f"{100 * part.fraction:.0f}\N{NO-BREAK SPACE}%"
