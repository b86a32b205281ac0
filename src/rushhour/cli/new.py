"""`rushhour new`: a scenario to begin with."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rushhour.cli import SETTINGS
from rushhour.cli.screen import echo

if TYPE_CHECKING:
    from collections.abc import Callable

    from rushhour.plan.draft import Draft

# What is asked, in this order: the field of the draft and the question.
QUESTIONS = {
    "flows": "The congestion control of each flow",
    "rate": "The rate of the link that they share",
    "rtt": "The round trip of the idle path",
    "buffer": "The buffer before the link, or several to compare",
    "queue": "The queue there (fifo, fq_codel, cake, red, …)",
    "duration": "How long it goes on",
}


@click.command(context_settings=SETTINGS, short_help="Write a commented scenario to begin with.")
@click.argument("file", default="scenario.toml")
@click.option("--flow", "flows", multiple=True, metavar="CC", help="A flow with this congestion control.")
@click.option("--preset", type=click.Choice(("dumbbell", "chain", "star")), help="The topology.")
@click.option("--rate", metavar="RATE", help="The rate of the link that the flows share.")
@click.option("--rtt", metavar="TIME", help="The round trip of the idle path.")
@click.option("--buffer", metavar="SIZE", help="The buffer before the link: 2bdp, 500kB, 100p, 20ms.")
@click.option("--queue", metavar="QDISC", help="The queue there: fifo, fq_codel, cake, …")
@click.option("--loss", metavar="P", help="Random loss: 0.1%.")
@click.option("--duration", metavar="TIME", help="The duration.")
@click.option("--title", metavar="TEXT", help="The title.")
@click.option("--question", metavar="TEXT", help="The question it answers.")
@click.option("--vary", multiple=True, metavar="KEY=A,B,…", help="Any other key with values to compare.")
@click.option("--like", metavar="SCENARIO", help="A copy of this one instead.")
def new(file: str, *, like: str | None, vary: tuple[str, ...], **given: object) -> None:
    """Write a commented scenario into FILE (default scenario.toml; - for standard output).

    On a terminal, and without options, it asks a few questions. Several values with commas between them
    (--buffer 1bdp,4bdp) are compared with one another. An existing file is never overwritten.

    FILE can also be tcp_NAME.c or sch_NAME.c: a small congestion control or queue discipline of your own, for
    `rushhour kernel build --with`.

    Example: rushhour new mine.toml --flow bbr --flow cubic --buffer 0.5bdp,2bdp,8bdp
    """
    from rushhour.cli.pages import program
    from rushhour.plan import draft

    chosen = {name: value for name, value in given.items() if value}
    path = None if file == "-" else _free(file)
    if path is not None and path.suffix == ".c":
        _algorithm(path, given=bool(chosen or vary or like))
        return
    if like is not None:
        _alone(chosen, vary)
        content = _copy(like, path)
    else:
        asked = not chosen and not vary and sys.stdin.isatty() and sys.stderr.isatty()
        made = _ask() if asked else _draft(chosen, vary)
        content = draft.text(made, "FILE" if path is None else str(path))
    if path is None:
        echo(content, nl=False)
        return
    _write(path, content)
    echo(path)
    word = shlex.quote(str(path))
    echo(f"To look at it: {program()} show {word} · to run it: {program()} run {word}", err=True)


def _free(file: str) -> Path:
    """The file's path, which must not be there."""
    from rushhour.errors import UsageError

    path = Path(file)
    path = path if path.suffix else path.with_name(f"{path.name}.toml")
    if path.is_symlink() or path.exists():
        raise UsageError("the file exists already", where=str(path), hint="give another name")
    if not path.parent.is_dir():
        raise UsageError("there is no such folder", where=str(path.parent), hint="make it first")
    return path


def _algorithm(path: Path, *, given: bool) -> None:
    """A file of C to begin with, and how it is built."""
    from rushhour.cli.pages import program
    from rushhour.errors import UsageError
    from rushhour.lab.kernel import example

    content = example.text(path.name)
    if given:
        raise UsageError("these options are about a scenario, and this is to be a file of C", where=str(path))
    _write(path, content)
    echo(path)
    word = shlex.quote(str(path))
    echo(f"To build a kernel with it: {program()} kernel build debian:6.12 --with {word}", err=True)


def _draft(chosen: dict[str, Any], vary: tuple[str, ...]) -> Draft:
    from rushhour.errors import UsageError
    from rushhour.plan.draft import Draft

    lists = ("rate", "rtt", "buffer", "queue", "loss")
    fields: dict[str, Any] = {
        name: _several(value) if name in lists else value for name, value in chosen.items()
    }
    varied = []
    for word in vary:
        key, equals, values = word.partition("=")
        if not equals or not key.strip() or not _several(values):
            raise UsageError(f"--vary {word}: is not KEY=A,B,…", hint="for example --vary cc=cubic,reno")
        varied.append((key.strip(), _several(values)))
    return Draft(**fields, vary=tuple(varied))


def _several(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _ask() -> Draft:
    """Ask for what matters most; ask again where an answer cannot be used."""
    from rushhour.plan.draft import Draft

    known: dict[str, Any] = {}
    echo("Return keeps the value in brackets; separate several values by commas.", err=True)
    for name, question in QUESTIONS.items():
        default = getattr(Draft(), name)
        shown = default if isinstance(default, str) else ", ".join(default)
        known[name] = click.prompt(question, default=shown, value_proc=_reader(known, name), err=True)
    return Draft(**known)


def _reader(known: dict[str, Any], name: str) -> Callable[[str], Any]:
    """What makes an answer a value of the draft, or says why it is none."""
    from rushhour.errors import UsageError
    from rushhour.plan import draft

    def read(answer: str) -> Any:
        value = answer.strip() if name == "duration" else _several(answer)
        if not value:
            raise click.UsageError("one value at least is needed")
        try:
            draft.text(draft.Draft(**(known | {name: value})), "FILE")
        except UsageError as error:
            raise click.UsageError(error.message) from error
        return value

    return read


def _alone(chosen: dict[str, object], vary: tuple[str, ...]) -> None:
    from rushhour.errors import UsageError

    if chosen or vary:
        raise UsageError(
            "--like copies a scenario unchanged and takes no other options",
            hint="edit the copy, or change it for one run: rushhour run … --set KEY=VALUE",
        )


def _copy(like: str, path: Path | None) -> str:
    """The scenario's own text with its comments; resolved where that needs files beside it."""
    from rushhour import spec
    from rushhour.errors import ScenarioError
    from rushhour.metrics.vocabulary import VOCABULARY
    from rushhour.spec.toml import scenario_toml

    file = spec.find_scenario(like)
    content = file.file.read_text("utf-8")
    try:
        spec.parse_scenario(
            content, str(path), folder=Path() if path is None else path.parent, words=VOCABULARY
        )
    except ScenarioError:
        return scenario_toml(spec.load_scenario(file).canonical())
    return content


def _write(path: Path, content: str) -> None:
    """Write a file that was not there, whole or not at all."""
    from rushhour.errors import UsageError

    try:
        with path.open("x", encoding="utf-8") as file:
            try:
                file.write(content)
                file.flush()
            except OSError:
                path.unlink(missing_ok=True)
                raise
    except FileExistsError:
        raise UsageError("the file exists already", where=str(path), hint="give another name") from None
