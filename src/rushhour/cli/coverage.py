"""`rushhour coverage`: which lines of the kernel scenarios execute."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rushhour.cli import SETTINGS
from rushhour.cli.interrupted import SAME, interruption
from rushhour.cli.screen import console, echo, tell_json
from rushhour.quantities.words import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from rushhour.coverage.index import Index
    from rushhour.coverage.totals import Share, Totals
    from rushhour.lab.kernel import Kernel
    from rushhour.record.result_set import ResultSet

_ROWS = 24
_FAILED = 1


@click.command(context_settings=SETTINGS, short_help="Say which lines of the kernel scenarios execute.")
@click.argument("what", nargs=-1, metavar="[SCENARIO|RESULTS]...")
@click.option("--kernel", metavar="K", help="A kernel with coverage; default: the one built last.")
@click.option("--quick", is_flag=True, help="A quick look at scenarios; always of the suite as a whole.")
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Runs at once; default: one per CPU.")
@click.option("--fresh", is_flag=True, help="Run also cells whose results are known.")
@click.option("--never", metavar="FILES", help="List what no cell executes of these, as net/ipv4/tcp_*.c.")
@click.option("--save", type=click.Path(path_type=Path, file_okay=False), metavar="BASELINE",
              help="Put the index also into this folder of a baseline.")  # fmt: skip
@click.option("--tree", metavar="FOLDER", default="", help="The kernel's source, for names in the tracefile.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder of what is written.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
@interruption(f"what finished is kept. {SAME}")
def coverage(
    what: tuple[str, ...],
    *,
    kernel: str | None,
    never: str | None,
    save: Path | None,
    tree: str,
    out: Path | None,
    as_json: bool,
    **how: Any,
) -> int:
    """Say which lines, functions and branches of the kernel's network stack are executed.

    SCENARIOs (files, names, studies; without any: the suite, quick) are run on a kernel that counts;
    RESULTS are folders of such runs. Covered are net/, drivers/net/, files of your own, and what they
    use of include/net.

    \b
    coverage.html      the page: each file's source, line by line, with the cells
    coverage.info      lcov's tracefile, for editors and genhtml
    coverage.json.xz   the index: of each line the cells (docs/coverage.md)

    Build such a kernel first: rushhour kernel build debian:6.12 --with coverage

    \b
    Exit code:
        0    all is as it should be
        1    a run failed; what the others executed is told
        2    nothing could be run or read
        130  interrupted

    Example: rushhour coverage suite/fixed-buffers --never 'net/ipv4/tcp_*.c'
    """  # noqa: D301 - click wants the letter itself
    from rushhour.running import covered

    sets, failed = _results(what, kernel, how, out)
    counting, folders = covered.counted(sets, kernel)
    words = console(stderr=True)
    with words.status(f"decoding {plural(len(folders), 'run')}") as status:
        index = covered.gather(
            counting, folders, lambda done: status.update(f"decoded {done} of {len(folders)} runs")
        )
    made = _write(index, counting, out or _place(sets, what), tree)
    if save is not None:
        made.append(_keep(index, save))
    if as_json:
        tell_json(_document(index, len(folders), made, never))
    else:
        _show(index, len(folders), made, never)
    return _FAILED if failed else 0


def _results(
    what: Sequence[str], kernel: str | None, how: dict[str, Any], out: Path | None
) -> tuple[list[ResultSet], int]:
    """The results that are named, or made now. And how many runs failed."""
    from rushhour.errors import UsageError
    from rushhour.record.folders import result_sets

    folders = [word for word in what if Path(word).is_dir()]
    if folders and len(folders) < len(what):
        other = next(word for word in what if word not in folders)
        raise UsageError(f"{folders[0]} is a folder of results, {other} is none", hint="name either")
    if folders:
        return [one for word in folders for one in result_sets(word)], 0
    return _run(what, kernel, how, out)


def _run(
    what: Sequence[str], kernel: str | None, how: dict[str, Any], out: Path | None
) -> tuple[list[ResultSet], int]:
    from contextlib import closing

    from rushhour.cli.progress import display
    from rushhour.running import covered, runner

    chosen, words = covered.counting(kernel), console(stderr=True)
    batches = runner.prepare(
        what or ["suite"],
        kernels=[chosen.folder.name],
        quick=how["quick"] or not what,
        out=None if out is None else out / "results",
    )
    lab = runner.make_lab("uml")
    with (
        display(words) as screen,
        closing(runner.carry_out(batches, lab, jobs=how["jobs"], fresh=how["fresh"], watch=screen)) as going,
    ):
        failures = [one for one in going if one.error is not None and not one.skipped]
    for one in failures[:8]:
        words.print(str(one.error), style="red", highlight=False, markup=False, soft_wrap=True)
    if len(batches) == 1:
        return runner.begun(batches), len(failures)
    _, sets = runner.write_study(batches, None if out is None else out / "results")
    return sets, len(failures)


def _place(sets: Sequence[ResultSet], what: Sequence[str]) -> Path:
    """Where to write: beside the results, never into a record."""
    from rushhour.running.prepare import RESULTS

    if len(what) == 1 and Path(what[0]).is_dir():
        folder = Path(what[0]).resolve()
        single = (folder / "manifest.json").is_file()
        return folder.with_name(f"{folder.name}-coverage") if single else folder
    if len(sets) == 1:
        return sets[0].path
    return RESULTS / "coverage" / sets[0].path.name


def _write(index: Index, kernel: Kernel, folder: Path, tree: str) -> list[Path]:
    from rushhour.coverage import index_file, lcov
    from rushhour.files.finished import put
    from rushhour.lab.gcov import texts_of
    from rushhour.report.coverage import page

    made = [folder / "coverage.html", folder / lcov.FILE, folder / index_file.FILE]
    put(page.render(index, texts_of(kernel)), made[0])
    put(lcov.tracefile(index, tree), made[1])
    index_file.write(index, made[2])
    return made


def _keep(index: Index, baseline: Path) -> Path:
    """Put the index beside a baseline.

    Raises:
        UsageError: there is no baseline.
    """
    from rushhour.coverage import index_file
    from rushhour.errors import UsageError

    if not (baseline / "baseline.json").is_file():
        raise UsageError(
            "there is no baseline in this folder",
            where=str(baseline),
            hint="rushhour baseline save ./FOLDER RESULTS makes one",
        )
    index_file.write(index, baseline / index_file.FILE)
    return baseline / index_file.FILE


def _document(index: Index, runs: int, made: Sequence[Path], never: str | None) -> dict[str, Any]:
    from rushhour.coverage import totals

    folders = totals.by_folder(index)
    return {
        "kernel": dict(index.kernel),
        "cells": len(index.cells),
        "runs": runs,
        "folders": [_entry(whole) for whole, _ in folders],
        "files": [_entry(one) for _, files in folders for one in files],
        **({"never": _never(index, never)} if never else {}),
        "written": [str(path) for path in made],
    }


def _entry(one: Totals) -> dict[str, Any]:
    def share(part: Share) -> dict[str, int]:
        return {"executed": part.executed, "total": part.total}

    parts = {"lines": one.lines, "functions": one.functions, "branches": one.branches}
    return {"name": one.name, **{name: share(part) for name, part in parts.items()}}


def _never(index: Index, pattern: str) -> dict[str, list[dict[str, Any]]]:
    """By file the functions that nothing executes, of the files that a pattern or a name means."""
    from rushhour.coverage import totals
    from rushhour.errors import UsageError

    chosen = [
        one for name, one in index.files.items() if fnmatch(name, pattern) or name.endswith(f"/{pattern}")
    ]
    if not chosen:
        raise UsageError(f"--never {pattern}: no covered file is called so", hint="as net/ipv4/tcp_*.c")
    return {
        one.name: [
            {"name": function.name, "first": function.first, "last": function.last}
            for function in totals.never(index, one)
        ]
        for one in chosen
    }


def _show(index: Index, runs: int, made: Sequence[Path], never: str | None) -> None:
    from rushhour.cli.screen import printer
    from rushhour.coverage import totals
    from rushhour.coverage.said import sentence

    folders = totals.by_folder(index)
    screen = printer()
    screen.print(sentence(index, runs), highlight=False, markup=False, soft_wrap=True)
    screen.print()
    _table(screen, [whole for whole, _ in folders], "folder")
    worst = sorted(
        (one for _, files in folders for one in files),
        key=lambda one: (one.lines.executed - one.lines.total, one.name),
    )
    screen.print()
    _table(screen, worst[:_ROWS], "file, most lines unexecuted first")
    if len(worst) > _ROWS:
        echo(f"and {plural(len(worst) - _ROWS, 'more file')}, on the page")
    if never:
        _show_never(_never(index, never))
    echo()
    for path in made:
        echo(path)


def _show_never(found: dict[str, list[dict[str, Any]]]) -> None:
    for name, functions in found.items():
        echo()
        never = (
            f"{plural(len(functions), 'function')} {'is' if len(functions) == 1 else 'are'} never executed"
        )
        echo(f"{name}: {never if functions else 'every function is executed'}")
        for one in functions:
            echo(f"  {one['first']:>6}  {one['name']}")


def _table(screen: Console, rows: Sequence[Totals], title: str) -> None:
    from rushhour.cli.screen import print_table

    parts = ("lines", "functions", "branches")
    shown = [(row.name, *(_share(part) for part in (row.lines, row.functions, row.branches))) for row in rows]
    print_table(screen, (title, *parts), shown, right=parts)


def _share(part: Share) -> str:
    return f"{part.executed}/{part.total}" + (f" {part.said:>5}" if part.total else "")
