"""`rushhour compare`: is a candidate the same as the base, better, or worse?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rushhour.cli import INTERRUPTED, SETTINGS
from rushhour.cli.on import elsewhere, executing
from rushhour.cli.screen import console, tell_json
from rushhour.export.formats import FORMATS


@click.command(context_settings=SETTINGS, short_help="Judge a kernel or results against others.")
@click.argument("base")
@click.argument("candidate")
@click.option(
    "--scenario", "scenarios", multiple=True, metavar="SCENARIO",
    help="What kernels run; default: the standard suite, or what the other side has. May be repeated.",
)  # fmt: skip
@click.option("--quick", is_flag=True, help="A quick look at the scenarios.")
@click.option(
    "--seeds", type=click.IntRange(1), default=5, show_default=True, metavar="N",
    help="Runs of a cell that differs.",
)  # fmt: skip
@click.option(
    "--max-seeds", type=click.IntRange(1), default=20, show_default=True, metavar="N",
    help="Runs of a cell at most, while it cannot be decided.",
)  # fmt: skip
@click.option("--minimum", metavar="5%", help="Least change that matters, unless the scenario has its own.")
@click.option(
    "--variable", "variables", multiple=True, metavar="NAME",
    help="What may differ; default: kernel. Also agent, scenario, lab, tools, rushhour; may be repeated.",
)  # fmt: skip
@click.option("--stop", is_flag=True, help="End at the first cell that is worse.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the verdict; default: results/compare/…",
)
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Runs at once; default: one per CPU.")
@click.option("--fresh", is_flag=True, help="Run also cells whose results are known.")
@click.option("--db", metavar="URL", help="Store the verdict there, too: a path, or postgresql://…")
@click.option(
    "--to", "forms", type=click.Choice([*FORMATS]), multiple=True,
    help="Also write the verdict in this format, into its folder. May be repeated.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="The verdict as one JSON document on standard output.")
@elsewhere
def compare(
    base: str,
    candidate: str,
    *,
    variables: tuple[str, ...],
    out: Path | None,
    db: str | None,
    forms: tuple[str, ...],
    as_json: bool,
    on: str | None,
    audit: float,
    **options: Any,
) -> int:
    """Judge CANDIDATE against BASE, cell by cell, seed by seed.

    BASE and CANDIDATE are folders of results, names of baselines, or names of kernels. Kernels run
    what is missing; known runs come from the cache. A cell whose traces are equal to the byte is the same;
    one that differs runs with more seeds until chance and change can be distinguished (docs/verdict.md).

    \b
    Exit code:
        0    the same, or better
        1    worse
        2    they cannot be compared
        3    inconclusive: the runs cannot tell
        4    invalid: runs failed, or their links were not what was asked
        130  interrupted

    Example: rushhour compare debian-6.12 my-kernel --quick
    """  # noqa: D301 - click wants the letter itself
    from rushhour import verdict
    from rushhour.cli.progress import display
    from rushhour.cli.run import can_store, store_all
    from rushhour.cli.screen import printer
    from rushhour.report.verdict import output, terminal
    from rushhour.running.runner import point_latest
    from rushhour.verdict.comparing import make_lab

    words = console(stderr=True)
    can_store(db)
    # Of records alone nothing is run, and no machine has to be one for virtual kernels.
    lab = None if on is None else make_lab()
    try:
        with executing(on, audit, lab, words, jobs=options["jobs"]) as executor, display(words) as watch:
            made = verdict.compare(
                base, candidate, variables=variables or ("kernel",), out=out, watch=watch, lab=lab,
                executor=executor, **options,
            )  # fmt: skip
    except KeyboardInterrupt:
        words.print("interrupted; what has run is known. To go on: the same command")
        return INTERRUPTED
    assert made.folder is not None
    document = output.write(made, made.folder)
    point_latest(made.folder)
    _export(document, forms, made.folder)
    store_all([made.folder], db, words)
    if as_json:
        tell_json(document)
    else:
        printer().print(terminal(document))
        printer().print(f"\n{made.folder / 'report.html'}", highlight=False, soft_wrap=True, markup=False)
    return made.exit


def _export(document: dict[str, object], forms: tuple[str, ...], folder: Path) -> None:
    if not forms:
        return
    from rushhour.export.gather import of_verdict
    from rushhour.files import finished as files

    report = of_verdict(document)
    for form in dict.fromkeys(forms):
        files.put(FORMATS[form].write(report), folder / FORMATS[form].file)
