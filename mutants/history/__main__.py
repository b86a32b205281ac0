"""`python -m mutants.history`: real faults, from what stable updates of Debian's kernel repaired."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import click
from rich.console import Console

from mutants.__main__ import the_base
from mutants.cells import Place
from mutants.judge import Court
from mutants.source import Source
from rushhour.coverage import index_file
from rushhour.errors import RushHourError
from rushhour.lab.kernel import store
from rushhour.record.slim import WHOLE
from rushhour.verdict.comparing import make_lab

from . import corpus, found, judging, page, words
from .alone import Compiler

say = Console(stderr=True, highlight=False)


@click.group(help=__doc__)
def main() -> None:
    """Commands."""


@main.command(name="list")
@click.option("--drafts", type=click.Path(path_type=Path), help="A folder for new patches, without headers.")
def list_hunks(drafts: Path | None) -> None:
    """Write hunks.csv: every hunk between the two releases, and what the suite executes of it."""
    compiler = Compiler(corpus.NEW)
    with tempfile.TemporaryDirectory(prefix="releases-") as room:
        made = list(corpus.rows(*corpus.releases(Path(room))))
    corpus.write([row for _, row in made])
    for hunk, row in made if drafts else ():
        if row.executed and not row.patch and compiler.takes(hunk):
            name = corpus.name_of(hunk, row.functions.split())
            (drafts / f"{name}.patch").write_text(hunk.patch)  # type: ignore[operator]  # given, as asked above


@main.command()
@click.argument("names", nargs=-1)
@click.option("--size", default=1000, help="At most so many in one kernel.")
def judge(names: tuple[str, ...], size: int) -> None:
    """Judge the hunks NAMES, or those that were not judged yet, and write found.csv."""
    known = found.read()
    group = [one for one in corpus.load() if (one.name in names if names else one.name not in known)]
    index = index_file.read(corpus.INDEX)
    # Beside the cache, for records are shared with it by hard links.
    with tempfile.TemporaryDirectory(prefix="room-", dir=store.cache("mutants", "any").parent) as room:
        court = Court(Source(the_base()), Place(make_lab(), None, WHOLE, Path(room)), index)
        bench = judging.Bench(court, index, say.print)
        for start in range(0, len(group), size):
            for one in judging.halves(group[start : start + size], bench):
                found.keep([one])


@main.command()
def text() -> None:
    """Look whether the changes of docs/releases.md are in the sources that have them, and in no older one."""
    with tempfile.TemporaryDirectory(prefix="releases-") as room:
        trees = {
            series: corpus.unpack(f"debian:{series}", Path(room, series), words.FOLDERS)
            for series in words.SERIES
        }
        complaints = list(words.wrong(trees))
    say.print(*complaints, sep="\n")
    sys.exit(1 if complaints else 0)


@main.command()
def write() -> None:
    """Put the tables into docs/recall.md."""
    page.write()


if __name__ == "__main__":
    try:
        main()
    except RushHourError as error:
        raise SystemExit(f"error: {error}") from error
