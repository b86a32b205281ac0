"""`rushhour run`: carry out scenarios and show what came of them."""

from __future__ import annotations

import gc
from contextlib import closing
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rushhour.cli import SETTINGS
from rushhour.cli.interrupted import SAME, interruption
from rushhour.cli.on import elsewhere, executing, keeping
from rushhour.cli.screen import console, tell_json

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from rich.console import Console

    from rushhour.metrics.value import MetricValue
    from rushhour.record.result_set import ResultSet
    from rushhour.record.slim import Wanted
    from rushhour.report.brief import Brief
    from rushhour.running.executor import Executor
    from rushhour.running.outcomes import Outcomes
    from rushhour.running.runner import Batch, Outcome

FAILED, INVALID = 1, 4


@click.command(context_settings=SETTINGS, short_help="Run scenarios and report what came of them.")
@click.argument("scenarios", nargs=-1, metavar="SCENARIO...")
@click.option("--kernel", "kernels", multiple=True, metavar="K",
              help="Kernel under test; default: the latest version. May be repeated.")  # fmt: skip
@click.option("--lab", default="uml", show_default=True, help="Where to run: uml, netns or hosts.")
@click.option("--pin", "pins", multiple=True, metavar="NODE=CPU", help="netns: where a node's work is done.")
@click.option("--trust-programs", is_flag=True, help="netns: programs of the scenario may run here, as root.")
@click.option("--hosts", type=click.Path(path_type=Path), metavar="FILE", help="hosts: the machines.")
@click.option("--host", "places", multiple=True, metavar="NODE=PLACE", help="hosts: one machine.")
@click.option("--ssh-config", type=click.Path(path_type=Path), metavar="FILE", help="hosts: as of ssh -F.")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Override a key of the scenario.")
@click.option("--repeat", type=click.IntRange(1), metavar="N", help="Runs of each cell, with derived seeds.")
@click.option("--seed", type=click.IntRange(0), metavar="S", help="Seed of losses and jitter.")
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Runs at once; default: one per CPU.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the results; default: results/…",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
@click.option("--fresh", is_flag=True, help="Run also cells whose results are known.")
@click.option("--quick", is_flag=True, help="A quick look: no repetitions, at most 3 values of a factor.")
@click.option("--db", metavar="URL", help="Store the results there, too: a path, or postgresql://…")
@click.option("--no-report", is_flag=True, help="Do not write report.html.")
@elsewhere
@keeping
@interruption(f"what finished is kept. {SAME}")
def run(
    scenarios: tuple[str, ...],
    *,
    lab: str,
    pins: tuple[str, ...],
    trust_programs: bool,
    hosts: Path | None,
    places: tuple[str, ...],
    ssh_config: Path | None,
    jobs: int | None,
    as_json: bool,
    fresh: bool,
    no_report: bool,
    db: str | None,
    on: str | None,
    audit: float,
    keep: str | None,
    store: str | None,
    **options: Any,
) -> int:
    """Run SCENARIOs: files, names of the catalogue, or studies.

    Every cell of the sweep runs in a virtual kernel of its own, as many at once as there are CPUs.
    Results are kept as they come; after an interruption the same command continues. With --db (or
    RUSHHOUR_DB) they are stored in a results database as well; a failure to store them does not change
    the exit code.

    With --lab netns a scenario runs on this machine's kernel in real time, one run after the other. That
    needs root, and the cache is not used; an interrupted sweep continues only in the folder that --out names.
    Programs of the scenario run there as root, and only with --trust-programs.

    With --lab hosts it runs between machines that --hosts or --host name, on the path that is there. A PLACE
    is local, netns:NAME, or a name that ssh understands.

    With --on the runs are made by workers on other machines; the results are the same (docs/fleet.md).

    With --keep metrics the tables of a run are not kept once it is measured: a twentieth of the disk, and
    with --on of what is sent. Reports are without curves and causes; all else is as usual. With --store
    whoever makes a run puts its record into that folder or bucket, and it is fetched when it is asked for.

    \b
    Exit code:
        0    all went well; what the kernel lacks was skipped
        1    a run failed, or is not as the scenario expects; or all were skipped
        2    nothing could be run
        4    a run is invalid: its links were not what was asked
        130  interrupted

    Example: rushhour run window-scaling --set topology.rate=10mbit
    """  # noqa: D301 - click wants the letter itself
    from rushhour.running import runner

    _something(scenarios)
    words = console(stderr=True)
    can_store(db)
    named: dict[str, Any] = {"pins": pins, "trust_programs": trust_programs}
    named |= {"hosts": hosts, "places": places, "ssh_config": ssh_config}
    wanted = runner.keeping(lab, keep, store)
    given = runner.make_lab(lab, **named) if lab != "uml" or any(named.values()) else None
    with runner.using(given) as where:
        batches = runner.prepare(scenarios, **options, lab=lab, tested=runner.tested(where))
        used = where or runner.make_lab(lab)
        how: dict[str, Any] = {"jobs": jobs, "wanted": wanted}
        with executing(on, audit, used, words, **how) as executor:
            outcomes, stopped = _carry_out(batches, used, words, executor, fresh=fresh, **how)
    document = _tell(batches, outcomes, options["out"], as_json=as_json, report=not no_report)
    _tell_failures(outcomes, words)
    store_all([batch.folder for batch in batches], db, words)
    if stopped:
        raise KeyboardInterrupt  # told when all else is said
    return _exit_code(document)


def _something(scenarios: Sequence[str]) -> None:
    from rushhour.errors import UsageError

    if not scenarios:
        raise UsageError(
            "no scenario is named",
            hint="rushhour list has the scenarios, rushhour list WORD those about something; "
            "rushhour demo runs one, rushhour new writes one of your own",
        )


def _tell(
    batches: list[Batch], outcomes: Outcomes, out: Path | None, *, as_json: bool, report: bool
) -> list[dict[str, Any]]:
    """Print the results and write the reports; what is said of each batch as JSON."""
    from rushhour.cli.screen import printer

    screen = None if as_json else printer()
    with closing(_pages(batches, outcomes)) as pages:
        document = [_finish(batch, outcomes, screen, pages if report else None) for batch in batches]
    study = None
    if len(batches) > 1 and any((batch.folder / "set.json").is_file() for batch in batches):
        study = _finish_study(batches, out, screen, report=report)
    if as_json:
        tell_json({"sets": document} | ({"study": study} if study else {}))
    return document


def _exit_code(document: Sequence[Mapping[str, Any]]) -> int:
    runs = [one for entry in document for one in entry["runs"]]
    if runs and all(one["skipped"] for one in runs):
        return FAILED
    if any(one["error"] or not all(verdict["ok"] for verdict in one["expectations"]) for one in runs):
        return FAILED
    return 0 if all(one["valid"] for one in runs if not one["skipped"]) else INVALID


def _carry_out(
    batches: list[Batch],
    lab: Any,
    words: Console,
    executor: Executor | None,
    *,
    jobs: int | None,
    fresh: bool,
    wanted: Wanted,
) -> tuple[Outcomes, bool]:
    """Every outcome, and whether it was cut short."""
    from rushhour.cli.progress import display
    from rushhour.running.outcomes import Outcomes
    from rushhour.running.runner import carry_out

    outcomes = Outcomes()
    # Scenarios of ten thousand cells live as long as the command: garbage need not be looked for in them.
    gc.freeze()
    try:
        with (
            display(words) as screen,
            closing(
                carry_out(
                    batches, lab, jobs=jobs, fresh=fresh, wanted=wanted, executor=executor, watch=screen
                )
            ) as going,
        ):
            outcomes.extend(going)
    except KeyboardInterrupt:
        return outcomes, True
    return outcomes, False


def _pages(batches: Sequence[Batch], outcomes: Outcomes) -> Generator[str | None]:
    """The page of each batch with runs, where other processes draw them; else None for each."""
    from rushhour.report import abreast, html

    sets = [batch.results() for batch in batches if _has_runs(batch, outcomes)]
    yield from abreast.each(html.render, sets) if abreast.worth(sets) else repeat(None)


def _has_runs(batch: Batch, outcomes: Outcomes) -> bool:
    return any(outcome.folder for outcome in outcomes.of(batch))


def _finish(
    batch: Batch, outcomes: Outcomes, console: Console | None, pages: Iterator[str | None] | None
) -> dict[str, object]:
    """Print a batch's results and write its report, if pages are wanted; what is to be said of it as JSON."""
    from rushhour.cli.entries import ending, entry
    from rushhour.report.brief import named
    from rushhour.report.gather import indexed
    from rushhour.summary.comparison import compare, document

    page: Path | None = None
    metrics: Mapping[str, Sequence[MetricValue]] = {}
    published: list[dict[str, object]] = []
    briefs: Mapping[str, Brief] = {}
    if _has_runs(batch, outcomes):
        results = batch.results()
        metrics, published = results.once(indexed), document(results.once(compare))
        if pages is not None:
            from rushhour.report import html

            with _read([results]):
                page = html.write(results, batch.folder / "report.html", next(pages))
        if console is not None:
            from rushhour.report.terminal import print_results

            print_results(results, console, page)
            briefs = named(results)
    return {
        "scenario": batch.name,
        "folder": str(batch.folder),
        "report": None if page is None else str(page),
        "quick": batch.quick,
        "lab": batch.lab,
        "published": published,
        "runs": [
            entry(outcome, metrics) if console is None else ending(outcome, metrics, briefs)
            for outcome in outcomes.of(batch)
        ],
    }


def _read(sets: Sequence[ResultSet]) -> AbstractContextManager[None]:
    """People see on a terminal how far a page is."""
    from rushhour.cli.waiting import read_by

    return read_by(console(stderr=True), sets)


def _finish_study(
    batches: list[Batch], out: Path | None, console: Console | None, *, report: bool
) -> dict[str, object]:
    """Write one report of all batches and print what it says; the same as JSON."""
    from rushhour.report.study import gathered
    from rushhour.running.runner import write_study

    folder, sets = write_study(batches, out)
    page = folder / "report.html" if report else None
    if page is not None:
        from rushhour.report import study_html

        with _read(sets):
            whole = study_html.write(sets, page)
    else:
        whole = gathered(sets, folder)
    if console is not None:
        from rushhour.report.terminal import print_study

        print_study(whole, console, page)
    agreeing, measured = whole.tally
    return {
        "title": whole.title,
        "folder": str(folder),
        "report": None if page is None else str(page),
        "agreeing": agreeing,
        "measured": measured,
    }


def can_store(db: str | None) -> None:
    """Refuse a results database that cannot be written for want of a package, before anything runs.

    Raises:
        ExtraError: with the command that installs it.
    """
    from rushhour.extras import need
    from rushhour.files import places

    where = db or places.asked_database() or ""
    if where.partition("://")[0].partition("+")[0] in ("postgres", "postgresql"):
        need("postgres", "--db" if db else "RUSHHOUR_DB")


def store_all(folders: list[Path], db: str | None, words: Console) -> None:
    """Store what was written in the results database, if one is named; what goes wrong there is only told."""
    from rushhour.files import places
    from rushhour.record.folders import VERDICT

    where = db or places.asked_database()
    there = [
        folder for folder in folders if (folder / VERDICT).is_file() or any((folder / "runs").glob("[!.]*"))
    ]
    if where is None or not there:
        return
    from rushhour.store import keep

    failure = keep(there, where)
    if failure is not None:
        words.print(failure, style="yellow", highlight=False, markup=False, soft_wrap=True)


def _tell_failures(outcomes: Outcomes, words: Console) -> None:
    """Name the runs that failed, each error once."""
    from rushhour.cli import tell

    told: dict[str, int] = {}
    others = outcomes.without_record()
    failed = [outcome for outcome in others if not outcome.skipped]
    if len(others) == len(outcomes) and not failed:  # else the report says of what it lacks
        for error in {str(one.error): one.error for one in others if one.error is not None}.values():
            tell(error)
    for outcome in failed:
        assert outcome.error is not None
        if outcome.error.message not in told:
            tell(outcome.error)
        told[outcome.error.message] = told.get(outcome.error.message, 0) + 1
    if failed:
        words.print(f"{len(failed)} of {len(outcomes)} runs failed:", highlight=False)
        for outcome in failed[:20]:
            words.print(f"  {outcome.batch.name} · {outcome.run}", highlight=False, markup=False)
        if len(failed) > 20:
            words.print(f"  … and {len(failed) - 20} more; set.json has all of them", highlight=False)
        if again := _again(failed[0]):
            words.print(f"the first one again: {again}", highlight=False, markup=False, soft_wrap=True)


def _again(outcome: Outcome) -> str:
    """The command that makes a run again, alone; empty where cells have labels, which no `--set` gives."""
    from rushhour.record.asked import command
    from rushhour.spec.sweep import LABEL, set_words

    batch, run = outcome.batch, outcome.run
    labels = any(key.startswith(LABEL) for key in run.cell.factors)
    if batch.real_time or labels or "scenario" not in batch.asked:
        return ""
    words = ["run", str(batch.asked["scenario"])]
    words += [word for one in batch.asked.get("sets", ()) for word in ("--set", one)]
    words += [*set_words(run.cell.factors), "--kernel", run.kernel.name]
    words += ["--seed", str(run.seed), "--repeat", "1"]
    return command([*words, *(["--quick"] if batch.quick else [])])
