"""`python -m mutants`: put small faults into a kernel, and see whether the standard suite notices."""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

from rushhour.cli.on import elsewhere, executing, keeping
from rushhour.coverage import index_file
from rushhour.errors import RushHourError
from rushhour.lab import kernel as kernels
from rushhour.lab.kernel import store as kernel_store
from rushhour.running import runner
from rushhour.verdict.comparing import make_lab

from . import page, patches, results
from .cells import Place
from .judge import BASE, Court, Scope
from .source import Source, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rushhour.coverage.index import Index
    from rushhour.lab.kernel import Kernel

    from .judge import Built
    from .patches import Mutant
    from .results import Judgement

say = Console(stderr=True, highlight=False)


@click.command(help=__doc__)
@click.argument("names", nargs=-1)
@click.option("--list", "only_list", is_flag=True, help="Say what there is and what is known; judge nothing.")
@click.option("--scenario", "scenarios", multiple=True, help="Judge by this one only; may be repeated.")
@click.option("--quick", is_flag=True, help="Judge by the quick suite only.")
@click.option("--no-stop", is_flag=True, help="Judge every cell, also after the first that is worse.")
@click.option("--fresh", is_flag=True, help="Judge also what is known.")
@click.option("--write", is_flag=True, help="Put the tables into docs/mutants.md and mutants/found.csv.")
@elsewhere
@keeping
def main(
    names: tuple[str, ...],
    *,
    only_list: bool,
    scenarios: tuple[str, ...],
    quick: bool,
    no_stop: bool,
    fresh: bool,
    write: bool,
    on: str | None,
    audit: float,
    keep: str | None,
    store: str | None,
) -> None:
    """NAMES: mutants, areas, `faults`, `harmless` or `mechanical`; all if there are none."""
    failed: list[Judgement] = []
    try:
        mutants = patches.load()
        chosen = patches.select(mutants, names)
        if not only_list:
            lab = make_lab()
            wanted = runner.keeping("uml", keep, store)
            # Beside the cache, for records are shared with it by hard links.
            room = TemporaryDirectory(prefix="room-", dir=kernel_store.cache("mutants", "any").parent)
            with room as folder, executing(on, audit, lab, say, wanted=wanted) as executor:
                place = Place(lab, executor, wanted, Path(folder))
                court = Court(Source(the_base()), place, the_index())
                scope = Scope(not no_stop, quick, scenarios)
                failed = _judge(chosen, court, scope, fresh=fresh)
    except RushHourError as error:
        raise click.ClickException(str(error)) from error
    rows = [(mutant, results.recall(mutant)) for mutant in chosen]
    Console(width=160 if not sys.stdout.isatty() else None).print(_table(rows))
    if write:
        page.write([(mutant, results.recall(mutant)) for mutant in mutants])
    if not only_list and (failed or any(_wrong(mutant, found) for mutant, found in rows)):
        sys.exit(1)


def the_base() -> Kernel:
    there = any(kernel.name == BASE for kernel in kernels.installed())
    return kernels.find(BASE) if there else kernels.build("debian:6.12")


def the_index() -> Index | None:
    """What cells of the quick suite execute, as the program knows it."""
    with resources.as_file(resources.files("rushhour.coverage").joinpath("suite.json.xz")) as place:
        return index_file.read(place) if place.is_file() else None


def _judge(chosen: Sequence[Mutant], court: Court, scope: Scope, *, fresh: bool) -> list[Judgement]:
    """Judge what is not known; gives what could not be judged."""
    # What is asked of one scenario, or without a stop, is no question that a kept judgement answers.
    every = fresh or not scope.stop or bool(scope.scenarios)
    going = [mutant for mutant in sorted(chosen, key=_order) if every or not _known(mutant, court, scope)]
    if len(going) < len(chosen):
        say.print(f"{len(chosen) - len(going)} of {len(chosen)} are known; --fresh judges them again")
    failed, begun = [], _spent()
    for built, left in _built(_groups(going, scope), court):
        for mutant, one in _apart(built, court, scope, f"{left} to go: "):
            if one.verdict == "failed":
                failed.append(one)
            elif not results.keep(mutant, one):
                say.print(f"  kept is what the whole suite said of {mutant.name}, not this", soft_wrap=True)
    wall, busy = (now - then for now, then in zip(_spent(), begun, strict=True))
    if going:
        say.print(f"{len(going)} judged in {wall:.0f} s, with {busy:.0f} s of processor time")
    return failed


def _spent() -> tuple[float, float]:
    """Seconds on the clock, and of the processors by this process and all that it waited for."""
    return time.monotonic(), sum(os.times()[:4])


def _apart(built: Built, court: Court, scope: Scope, head: str) -> Iterator[tuple[Mutant, Judgement]]:
    """A judgement of each: of all at once if they are quiet together, else of each half.

    Where a cell differs, if by less than matters, which of several faults it shows is not known.
    """
    mutants = built.mutants
    found = _judge_group(built, court, scope, f"{head}{name_of(mutants)}")
    quiet = all(
        one.equal or (one.quiet and not mutant.fault) for mutant, one in zip(mutants, found, strict=True)
    )
    if len(mutants) == 1 or quiet:
        yield from zip(mutants, found, strict=True)
        return
    middle = len(mutants) // 2
    for half in (mutants[:middle], mutants[middle:]):
        yield from _apart(court.build(half), court, scope, head)


def _groups(going: Sequence[Mutant], scope: Scope) -> list[list[Mutant]]:
    """Faults would hide each other; of harmless changes there is nothing to hide.

    Nor is there of faults of which no cell so far wrote another byte, before the whole suite: that two of
    them hide each other would need two effects in one cell that cancel.
    """
    if scope.scenarios:
        return [[mutant] for mutant in going]
    harmless = [mutant for mutant in going if not mutant.fault]
    calm = [
        mutant for mutant in going if mutant.fault and scope.whole and scope.stop and _equal_so_far(mutant)
    ]
    alone = [[mutant] for mutant in going if mutant not in harmless and mutant not in calm]
    return [*alone, *(group for group in (harmless, calm) if group)]


def _equal_so_far(mutant: Mutant) -> bool:
    """Whether a part of the suite ran, and wrote what it writes on the base."""
    found = results.recall(mutant)
    return found is not None and found.equal and found.cells > 0 and not found.whole


def _built(groups: Sequence[list[Mutant]], court: Court) -> Iterator[tuple[Built, int]]:
    """Kernels one after the other; the next is built while one is judged."""
    with ThreadPoolExecutor(1) as builder:
        coming = [builder.submit(court.build, group) for group in groups[:1]]
        try:
            for place in range(len(groups)):
                built = coming.pop().result()
                coming += [builder.submit(court.build, group) for group in groups[place + 1 : place + 2]]
                yield built, len(groups) - place
        finally:
            for one in coming:
                if (left := one.result().kernel) is not None:
                    kernels.remove(left.folder.name)


def _judge_group(built: Built, court: Court, scope: Scope, head: str) -> list[Judgement]:
    begun = time.monotonic()
    with say.status(head) as status:
        found = court.judge(built, lambda text: status.update(f"{head} {text}"), scope)
    one = found[0]
    ran = f"{one.cells} cells ran, {one.differ} differ, " if one.cells else ""
    reason = f"\n{one.reason}" if one.verdict == "failed" else ""
    said = " ".join(filter(None, (page.caught(one), page.by(one))))
    seconds = f"{built.seconds:.0f} + {time.monotonic() - begun:.0f} s"
    say.print(f"{head}: {said} ({ran}{seconds}){reason}", markup=False, soft_wrap=True)
    return found


def _known(mutant: Mutant, court: Court, scope: Scope) -> bool:
    found = results.recall(mutant)
    return found is not None and court.holds(found, mutant, whole=scope.whole)


def _order(mutant: Mutant) -> tuple[bool, bool, str]:
    """What was never judged comes first, then what people wrote."""
    return results.recall(mutant) is not None, mutant.kind == "mechanical", mutant.name


def _wrong(mutant: Mutant, found: Judgement | None) -> bool:
    """A fault that was missed for no known reason, or an alarm about a harmless change."""
    if found is None:
        return True
    if mutant.kind == "mechanical":  # chosen by nobody: their share is told, none of them is demanded
        return False
    return not (found.caught or mutant.missed) if mutant.fault else not found.quiet


def _table(rows: page.Rows) -> Table:
    table = Table(title="Mutants", title_justify="left")
    for heading in ("mutant", "kind", "area", "", "by", "build s", "judge s"):
        table.add_column(heading, overflow="fold")
    for mutant, found in rows:
        seconds = (f"{found.build_s:.0f}", f"{found.judge_s:.0f}") if found else ("", "")
        table.add_row(mutant.name, mutant.kind, mutant.area, page.caught(found), page.by(found), *seconds)
    return table


if __name__ == "__main__":
    main()
