"""Many hunks judged by few kernels: together first, and in halves where something was noticed.

Most repairs of stable updates change nothing that a cell sees. If nothing is noticed of all, nothing is
noticed of one: the argument of `mutants.judge` for harmless changes. That two of them hide each other would
need two effects in one cell that cancel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mutants import results
from mutants.judge import Scope
from rushhour.coverage.index import cells_calling

from . import corpus, found

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mutants.judge import Court
    from mutants.patches import Mutant
    from rushhour.coverage.index import Index

    from .found import Found


@dataclass(frozen=True)
class Bench:
    """What judging needs: a court, what the suite executes, and who is told."""

    court: Court
    index: Index
    tell: Callable[[str], None]


def halves(group: Sequence[Mutant], bench: Bench) -> Iterator[Found]:
    """A judgement of each: of all at once if they are quiet together, else of each half."""
    scope = Scope(quick=True, scenarios=scenarios(group, bench.index))
    bench.tell(f"{len(group)} together, by {len(scope.scenarios)} scenarios")
    made = bench.court.judge(bench.court.build(group), bench.tell, scope)
    if len(group) == 1 or all(one.quiet for one in made):
        yield from (found.of(one, len(group)) for one in made)
        return
    first = made[0]
    bench.tell(f"{first.verdict}: {first.scenario} {first.cell} {first.metric} {first.reason[:200]}")
    middle = len(group) // 2
    for half in (group[:middle], group[middle:]):
        yield from halves(half, bench)


def scenarios(group: Sequence[Mutant], index: Index) -> tuple[str, ...]:
    """The scenarios of which a cell executes a function of these hunks, and those newer than the index."""
    wanted = {one.name for one in group}
    rows = [row for row in corpus.read() if row.patch in wanted]
    cells = [cell for row in rows for cell in cells_calling(index, row.file, row.functions.split())]
    known = {cell.scenario.rpartition("/")[2] for cell in index.cells}
    newer = {name for name in results.scenarios() if name not in known}
    return tuple(sorted({cell.scenario for cell in cells} | newer))
