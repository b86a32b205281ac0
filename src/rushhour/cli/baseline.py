"""`rushhour baseline`: keep runs under a name to judge others by."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

import click

from rushhour.cli import SETTINGS
from rushhour.cli.screen import echo, tell_json
from rushhour.lab import clock
from rushhour.plain import harmless
from rushhour.quantities.words import plural

if TYPE_CHECKING:
    from rushhour.baseline import Baseline, Doomed, Kept

_KERNEL = click.option("--kernel", metavar="K", help="Only the results of this kernel.")


@click.group(context_settings=SETTINGS)
def baseline() -> None:
    """Keep runs under a name to judge others by.

    A baseline has versions; each is written once. The name stands for its current version.

    Example: rushhour baseline save stable results/suite/latest
    """


@baseline.command(short_help="Keep records under a new name.")
@click.argument("name")
@click.argument("records", metavar="RECORDS")
@click.option(
    "--slim", is_flag=True, help="Keep values and checksums only: small enough for a git repository."
)
@_KERNEL
@click.option("--reason", default="", help="Why these.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def save(name: str, records: str, *, slim: bool, kernel: str | None, reason: str, as_json: bool) -> None:
    """Keep RECORDS (a folder of results, or a baseline) under a new NAME.

    A NAME with a "/" is a folder of yours, to be made: `rushhour compare` takes it wherever it lies. The same
    records give the same bytes. Records that are kept share their files with the results by hard links.

    Example: rushhour baseline save ./ci/baseline results/suite/latest --slim
    """
    from rushhour import baseline as baselines

    made = baselines.save(name, records, time=clock.stamped(), slim=slim, kernel=kernel, reason=reason)
    _tell(made, as_json=as_json)


@baseline.command()
@click.argument("name")
@click.argument("origin", metavar="FROM")
@click.option("--reason", required=True, help="Why; it is kept.")
@click.option("--slim/--full", default=None, help="Without or with records; default: as the version before.")
@_KERNEL
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def promote(
    name: str, origin: str, *, reason: str, slim: bool | None, kernel: str | None, as_json: bool
) -> None:
    """Make FROM the current version of NAME.

    FROM is a folder of results, a comparison (its candidate), a baseline, or the
    number of a version. Earlier versions stay. A baseline in a folder of your own is replaced; its
    history is your repository's.

    Example: rushhour baseline promote stable results/compare/stable..next/latest --reason "6.12.58 released"
    """
    from rushhour import baseline as baselines

    made = baselines.promote(name, origin, reason=reason, time=clock.stamped(), slim=slim, kernel=kernel)
    _tell(made, as_json=as_json)


@baseline.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def list_baselines(*, as_json: bool) -> None:
    """List the baselines that are kept, each with its current version.

    Example: rushhour baseline list
    """
    from rushhour import baseline as baselines
    from rushhour.errors import RushHourError

    found: list[tuple[Kept, Baseline | RushHourError]] = []
    for kept in baselines.names():
        try:
            found.append((kept, kept.open()))
        except RushHourError as error:  # one that is damaged hides no other
            found.append((kept, error))
    if as_json:
        entries = [
            {"name": kept.name, "current": kept.current, "versions": [*kept.versions]}
            | ({"error": str(one)} if isinstance(one, RushHourError) else _facts(one))
            for kept, one in found
        ]
        tell_json(entries)
    elif found:
        _table(found)
    else:
        echo("no baseline is kept yet; to keep one: rushhour baseline save NAME RECORDS", err=True)


@baseline.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def show(name: str, *, as_json: bool) -> None:
    """Show one baseline: NAME, NAME@VERSION, or a folder.

    Example: rushhour baseline show stable@1
    """
    from rushhour import baseline as baselines

    _tell(baselines.find(name), as_json=as_json)


@baseline.command("delete", short_help="Delete a name with all its versions, or an older version.")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def delete(names: tuple[str, ...], *, yes: bool, as_json: bool) -> int:
    """Delete each NAME with all its versions, or NAME@VERSION, which is not the current one.

    A terminal is asked before anything goes; elsewhere say --yes. The results that a baseline was made of
    stay, and so does a baseline in a folder of your own.

    \b
    Exit code:
        0    all are deleted
        1    you said no to one
        2    one is not there, or cannot be deleted

    Example: rushhour baseline delete old-stable --yes
    """  # noqa: D301 - click wants the letter itself
    from rushhour import baseline as baselines

    found = [baselines.doomed(name) for name in dict.fromkeys(names)]
    gone = [one for one in found if yes or _may_go(one)]
    for one in gone:
        baselines.delete(one)
        echo(f"deleted {_called(one)}", err=True)
    if as_json:
        tell_json([{"name": one.name, "versions": [*one.versions], "whole": one.whole} for one in gone])
    return int(len(gone) < len(found))


def _may_go(one: Doomed) -> bool:
    from rushhour.errors import UsageError

    if not sys.stdin.isatty():
        raise UsageError(f"{_called(one)} would be deleted, and nobody can be asked", hint="say --yes")
    return click.confirm(f"delete {harmless(_called(one))}?", err=True)


def _called(one: Doomed) -> str:
    runs = "of which one is damaged" if one.runs is None else f"with {plural(one.runs, 'run')}"
    if one.whole:
        return f"the baseline {one.name}, {plural(len(one.versions), 'version')} {runs}"
    return f"version {one.versions[0]} of the baseline {one.name}, {runs}"


def _facts(one: Baseline) -> dict[str, Any]:
    about = one.about
    return {
        "name": one.name,
        "version": one.version,
        "folder": str(one.path),
        "slim": one.slim,
        "reason": about.reason,
        "kernel": one.kernel,
        "agent": about.agent,
        "lab": about.lab,
        "scenarios": [
            {"name": entry.name, "sha256": entry.sha256, "quick": entry.quick, "sets": [*entry.sets]}
            for entry in one.scenarios
        ],
        "cells": len({(run.scenario, run.cell) for run in one.runs}),
        "seeds": sorted({run.seed for run in one.runs}),
        "runs": len(one.runs),
        "invalid": sum(not run.valid for run in one.runs),
        "failures": sum(len(entry.failures) for entry in one.scenarios),
        "skipped": sum(len(entry.skipped) for entry in one.scenarios),
        "bytes": sum(path.stat().st_size for path in one.path.glob("*.*")),
    }


def _tell(one: Baseline, *, as_json: bool) -> None:
    from rushhour.baseline.shelf import history

    facts = _facts(one)
    promotions = history(one)
    if as_json:
        facts["promotions"] = [
            {"version": entry.version, "time": entry.time, "reason": entry.reason} for entry in promotions
        ]
        tell_json(facts)
        return
    holds = "values and checksums" if one.slim else "values, checksums and records"
    kernel = one.kernel
    said = {
        "invalid": f"{facts['invalid']} invalid",
        "failures": plural(facts["failures"], "failure"),
        "skipped": f"{facts['skipped']} skipped",
    }
    doubts = [text for word, text in said.items() if facts[word]]
    asked = [
        f"{entry.name} with " + shlex.join(word for text in entry.sets for word in ("--set", text))
        for entry in one.scenarios
        if entry.sets
    ]
    rows = {
        "baseline": f"{click.style(one.name, bold=True)} version {one.version}  {facts['reason']}".rstrip(),
        "kernel": f"{kernel.get('name')}  {kernel.get('release')}",
        "holds": f"{plural(facts['runs'], 'run')}: {plural(len(one.scenarios), 'scenario')}, "
        f"{plural(facts['cells'], 'cell')}, "
        f"{plural(len(facts['seeds']), 'seed')}; {holds}",
        **({"asked": "; ".join(asked)} if asked else {}),
        **({"doubtful": ", ".join(doubts)} if doubts else {}),
        "folder": f"{one.path} ({facts['bytes'] / 1e3:.0f} kB without records)",
    }
    for heading, text in rows.items():
        click.echo(f"{heading:<9} {text if heading == 'baseline' else harmless(text)}")
    for entry in promotions:
        echo(f"  {entry.time}  version {entry.version} became the current one  {entry.reason}".rstrip())
    echo(f"to judge by it: rushhour compare {shlex.quote(_word(one))} KERNEL", err=True)


def _word(one: Baseline) -> str:
    from rushhour.baseline.shelf import place

    return one.name if one.path.parent == place(one.name) else str(one.path)


def _table(found: list[tuple[Kept, Any]]) -> None:
    from rich.text import Text

    from rushhour.cli.screen import print_table, printer
    from rushhour.errors import RushHourError

    rows: list[tuple[str | Text, ...]] = []
    for kept, one in found:
        version = f"{kept.current} of {len(kept.versions)}"
        last = kept.promotions[-1]
        if isinstance(one, RushHourError):
            rows.append((kept.name, version, "-", "-", Text("damaged", "red"), last.time, one.message))
            continue
        kernel = f"{one.kernel.get('name')} {one.kernel.get('release')}"
        holds = "values" if one.slim else "records"
        rows.append((kept.name, version, kernel, str(len(one.runs)), holds, last.time, last.reason))
    headings = ("name", "version", "kernel", "runs", "holds", "since", "reason")
    print_table(printer(), headings, rows, wordy=("reason",), right=("runs",))
