"""`rushhour compare`: is a candidate the same as the base, better, or worse?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from rushhour.cli import SETTINGS
from rushhour.cli.compare_scripts import VARIANTS, Asked, compare_scripts
from rushhour.cli.drill import drilling
from rushhour.cli.interrupted import SAME, interruption
from rushhour.cli.on import elsewhere, executing, keeping
from rushhour.cli.screen import console, tell_json
from rushhour.errors import UsageError
from rushhour.export.formats import FORMATS

if TYPE_CHECKING:
    from rushhour.record.verdict_file import VerdictFile
    from rushhour.verdict.judging import Verdict

_OF_SCRIPTS = {
    *("base", "candidate", "scripts", "binary", "source", "addresses", "minimum", "jobs"),
    *("out", "forms", "as_json"),
}


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
    "--max-seeds", type=click.IntRange(1), default=40, show_default=True, metavar="N",
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
@click.option(
    "--packetdrill", "scripts", multiple=True, type=click.Path(path_type=Path), metavar="PATH",
    help="Compare how packetdrill's scripts go: a .pkt file, or a folder of them. May be repeated.",
)  # fmt: skip
@drilling
@click.option(
    "--ip", "addresses", multiple=True, type=click.Choice(VARIANTS),
    help="With --packetdrill: only these addresses.",
)  # fmt: skip
@elsewhere
@keeping
@interruption(f"what has run is known. {SAME}")
def compare(
    base: str,
    candidate: str,
    *,
    variables: tuple[str, ...],
    out: Path | None,
    db: str | None,
    forms: tuple[str, ...],
    as_json: bool,
    scripts: tuple[Path, ...],
    binary: Path | None,
    source: str | None,
    addresses: tuple[str, ...],
    on: str | None,
    audit: float,
    keep: str | None,
    store: str | None,
    **options: Any,
) -> int:
    """Judge CANDIDATE against BASE, cell by cell, seed by seed.

    BASE and CANDIDATE are folders of results, names of baselines, or names of kernels. Kernels run
    what is missing; known runs come from the cache. A cell whose traces are equal to the byte is the same;
    one that differs runs with more seeds until chance and change can be distinguished (docs/verdict.md).

    With --keep metrics the tables of a run are not kept once it is measured; of the cells that changed most
    the two runs in which the first divergence shows are made again, here, and kept whole. With --store
    whoever makes a run puts its record into that folder or bucket.

    With --packetdrill both sides are kernels. Each script runs on both; those that changed their outcome,
    their packets or their times are told, with the first packet that differs (docs/packetdrill.md). --minimum
    is then the time by which a packet has to differ.

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
    if scripts:
        _only_scripts()
        return compare_scripts(
            Asked(base, candidate, scripts, binary, source, addresses, options["minimum"], options["jobs"],
                  out, forms, as_json)
        )  # fmt: skip
    if binary or source or addresses:
        raise UsageError(
            "--binary, --source and --ip are for packetdrill's scripts", hint="add --packetdrill PATH"
        )
    from rushhour import verdict
    from rushhour.cli.progress import display
    from rushhour.cli.run import can_store, store_all
    from rushhour.running import runner
    from rushhour.verdict.comparing import make_lab

    words = console(stderr=True)
    can_store(db)
    # Of records alone nothing is run, and no machine has to be one for virtual kernels.
    lab = None if on is None else make_lab()
    wanted = runner.keeping("uml", keep, store)
    with display(words) as watch:
        with executing(on, audit, lab, words, jobs=options["jobs"], wanted=wanted) as executor:
            made = verdict.compare(
                base, candidate, variables=variables or ("kernel",), out=out, watch=watch, tell=watch.tell,
                lab=lab, executor=executor, wanted=wanted, **options,
            )  # fmt: skip
        assert made.folder is not None
        watch.tell("writing the verdict")
        document = _written(made, made.folder, forms)
    store_all([made.folder], db, words)
    _tell(document, made.folder, as_json=as_json)
    return made.exit


def _written(made: Verdict, folder: Path, forms: tuple[str, ...]) -> VerdictFile:
    """Write the verdict in all its forms."""
    from rushhour.report.verdict import output
    from rushhour.running import runner

    document = output.write(made, folder)
    runner.point_latest(folder)
    _export(document, forms, folder)
    return document


def _tell(document: VerdictFile, folder: Path, *, as_json: bool) -> None:
    from rushhour.cli.screen import printer
    from rushhour.report.verdict import terminal

    if as_json:
        tell_json(document)
    else:
        printer().print(terminal(document, folder))
        printer().print(f"\n{folder / 'report.html'}", highlight=False, soft_wrap=True, markup=False)


def _only_scripts() -> None:
    """Refuse what says nothing about scripts."""
    context = click.get_current_context()
    for option in context.command.params:
        given = context.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE
        if given and option.name not in _OF_SCRIPTS:
            raise UsageError(
                f"{option.opts[0]} says nothing about packetdrill's scripts", hint="leave it out"
            )


def _export(document: dict[str, object], forms: tuple[str, ...], folder: Path) -> None:
    if not forms:
        return
    from rushhour.export.gather import of_verdict
    from rushhour.files import finished as files

    report = of_verdict(document)
    for form in dict.fromkeys(forms):
        files.put(FORMATS[form].write(report), folder / FORMATS[form].file)
