"""`rushhour db`: the results database."""

from __future__ import annotations

import json
from pathlib import Path

import click

from rushhour.cli import SETTINGS
from rushhour.cli.screen import console, echo, tell_json

DB = click.option(
    "--db",
    metavar="URL",
    help="Path (SQLite) or postgresql://…; default: RUSHHOUR_DB, or ~/.local/share/rushhour/results.db.",
)


@click.group(context_settings=SETTINGS)
def db() -> None:
    """Keep runs, metrics and verdicts in a database.

    Example: rushhour db import results/suite/latest --tag nightly
    """


@db.command("import")
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FOLDER...")
@DB
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Mark what is imported; may be repeated.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def import_(folders: tuple[Path, ...], *, db: str | None, tags: tuple[str, ...], as_json: bool) -> None:
    """Store FOLDERs: result sets, studies, comparisons, baselines.

    Known runs are not stored again. After an interruption the same command continues. The records stay where
    they are; the database remembers where.

    Example: rushhour db import results/suite/* --db postgresql://lab@db.example/rushhour
    """
    from dataclasses import asdict

    from rushhour.cli.waiting import watched
    from rushhour.store import Store

    entries = []
    words = console(stderr=True)
    with Store.open(db) as store:
        for folder in folders:
            with watched(words) as tell:
                done = store.import_folder(folder, tags=tags, tell=tell)
            entries.append({"folder": str(folder), **asdict(done)})
            if not as_json:
                echo(f"{folder}: {_words(entries[-1])}")
        if as_json:
            tell_json({"where": store.where, "imported": entries})
        else:
            echo(f"in {store.where}; to look at one metric: rushhour history METRIC SCENARIO", err=True)


@db.command(short_help="Show where the database is, and how much is in it.")
@DB
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def info(*, db: str | None, as_json: bool) -> None:
    """Show where the database is and how much is in it; it is made if it is not there.

    Example: rushhour db info
    """
    from rushhour.store import Store

    with Store.open(db) as store:
        facts = store.info()
    if as_json:
        echo(json.dumps(facts, indent=1))
        return
    echo(f"{facts['kind']}, version {facts['version']}: {facts['where']}")
    for name in ("runs", "measurements", "cells", "kernels", "sets", "comparisons", "baselines"):
        echo(f"{facts[name]:>10} {name[:-1] if facts[name] == 1 else name}")


def _words(entry: dict[str, int]) -> str:
    parts = [
        f"{entry[name]} {name[:-1] if entry[name] == 1 else name}"
        for name in ("sets", "runs", "comparisons", "baselines")
        if entry[name]
    ]
    return f"{', '.join(parts) or 'nothing'}; {entry['new'] or 'nothing'} new"
