"""`python -m mutants`: put small faults into a kernel, and see whether the standard suite notices."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

from rushhour.cli.on import elsewhere, executing, keeping
from rushhour.errors import RushHourError
from rushhour.lab import kernel as kernels
from rushhour.running import runner
from rushhour.verdict.comparing import make_lab

from . import page, patches, results
from .judge import BASE, Scope, judge
from .tree import Tree, name_of

if TYPE_CHECKING:
    from rushhour.lab.kernel import Kernel

say = Console(stderr=True, highlight=False)


@click.command(help=__doc__)
@click.argument("names", nargs=-1)
@click.option("--list", "only_list", is_flag=True, help="Say what there is and what is known; judge nothing.")
@click.option("--scenario", "scenarios", multiple=True, help="Judge by this one only; may be repeated.")
@click.option("--quick", is_flag=True, help="Judge by the quick suite only.")
@click.option("--no-stop", is_flag=True, help="Judge every cell, also after the first that is worse.")
@click.option("--fresh", is_flag=True, help="Judge also what is known.")
@click.option(
    "--write",
    is_flag=True,
    help="Put the table into docs/mutants.md, every judgement into mutants/found.csv.",
)
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
    """NAMES: mutants, areas, `faults` or `harmless`; all if there are none."""
    try:
        mutants = patches.load()
        chosen = patches.select(mutants, names)
        if not only_list:
            lab = make_lab()
            wanted = runner.keeping("uml", keep, store)
            with executing(on, audit, lab, say, wanted=wanted) as executor:
                scope = Scope(not no_stop, quick, scenarios, lab=lab, executor=executor, wanted=wanted)
                _judge(chosen, scope, fresh=fresh)
    except RushHourError as error:
        raise click.ClickException(str(error)) from error
    rows = [(mutant, results.recall(mutant)) for mutant in chosen]
    Console(width=160 if not sys.stdout.isatty() else None).print(_table(rows))
    if write:
        page.write([(mutant, results.recall(mutant)) for mutant in mutants])
    if not only_list and any(_wrong(mutant, found) for mutant, found in rows):
        sys.exit(1)


def _judge(chosen: list[patches.Mutant], scope: Scope, *, fresh: bool) -> None:
    base = kernels.build("debian:6.12") if not _has_base() else kernels.find(BASE)
    tree = Tree(say.print)
    going = [
        mutant
        for mutant in sorted(chosen, key=_cost)
        if fresh or not scope.stop or not _known(mutant, base, scope)
    ]
    calm = [mutant for mutant in going if not mutant.fault]
    # Faults would hide each other; of harmless changes there is nothing to hide.
    together = [calm] if len(calm) > 1 and scope.suite else []
    groups = [*together, *([mutant] for mutant in going if mutant.fault or not together)]
    while groups:
        group = groups.pop(0)
        found = _judge_group(group, tree, base, scope, f"{len(groups) + 1} to go: {name_of(group)}")
        if len(group) > 1 and not all(one.quiet for one in found):
            groups = [[mutant] for mutant in group] + groups
            continue
        for mutant, one in zip(group, found, strict=True):
            if one.caught or scope.suite:
                results.keep(mutant, one)


def _judge_group(
    group: list[patches.Mutant], tree: Tree, base: Kernel, scope: Scope, head: str
) -> list[results.Judgement]:
    begun = time.monotonic()
    with say.status(head) as status:
        found = judge(group, tree, base, lambda text: status.update(f"{head} {text}"), scope)
    said = f"{page.caught(found[0])} {page.by(found[0])}".strip()
    say.print(f"{head}: {said} ({time.monotonic() - begun:.0f} s)")
    return found


def _known(mutant: patches.Mutant, base: Kernel, scope: Scope) -> bool:
    found = results.recall(mutant)
    return found is not None and results.holds(found, mutant, base, whole=scope.whole)


def _cost(mutant: patches.Mutant) -> tuple[bool, list[str], str]:
    """What changes a header comes last, and what changes the same file in a row: least to compile."""
    return any(name.endswith(".h") for name in mutant.files), mutant.files, mutant.name


def _has_base() -> bool:
    return any(kernel.name == BASE for kernel in kernels.installed())


def _wrong(mutant: patches.Mutant, found: results.Judgement | None) -> bool:
    """A fault that was missed for no known reason, or an alarm about a harmless change."""
    if found is None:
        return True
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
