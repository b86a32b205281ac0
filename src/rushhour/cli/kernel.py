"""`rushhour kernel`: build, list, show and remove kernels under test."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from rushhour.cli import SETTINGS
from rushhour.cli import tell as tell_error
from rushhour.cli.interrupted import SAME, interruption
from rushhour.cli.screen import echo
from rushhour.lab import clock
from rushhour.plain import harmless
from rushhour.quantities.words import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rushhour.errors import KernelError, LabError
    from rushhour.lab.kernel import Kernel, Step

# Exit code of a build whose source is at fault.
BROKEN = 1
# Between two lines of progress where there is no terminal to redraw.
_QUIET_S = 10.0


@click.group(context_settings=SETTINGS)
def kernel() -> None:
    """Build and keep the kernels under test.

    Example: rushhour kernel build debian:6.12
    """


@kernel.command()
@click.argument("source")
@click.option("--name", help="How to call it; default: after the source.")
@click.option(
    "--with",
    "files",
    multiple=True,
    metavar="WHAT",
    help="Compile in: tcp_*.c, sch_*.c, a folder; kasan, ubsan, lockdep, debug-net, kmemleak, coverage.",
)
@click.option(
    "--patch", "patches", multiple=True, metavar="FILE", help="Apply first; several, or a folder: in order."
)
@click.option("--aside", is_flag=True, help="Never make this kernel the default.")
@click.option("--from-nothing", is_flag=True, help="Compile everything, also what is built already.")
@click.option("--train", is_flag=True, help="Train a release: minutes more, and quicker runs.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
@interruption(f"what is compiled is kept. {SAME}")
def build(
    source: str,
    name: str | None,
    files: tuple[str, ...],
    patches: tuple[str, ...],
    *,
    aside: bool,
    from_nothing: bool,
    train: bool,
    as_json: bool,
) -> int:
    """Build a kernel from SOURCE.

    \b
    debian:6.12            the Debian package linux-source-6.12
    debian:6.12@VERSION    that version of the package
    linux-6.12.9.tar.xz    a tarball (.xz, .gz, .bz2, .zst)
    ~/linux                a source tree as it is; it is not written to
    ~/linux@v6.12          a revision of a git repository

    With files, patches or sanitizers beside it the source stays as it is; the kernel is called after them.

    With --train the kernel of a package or tarball runs a few cells, and is compiled again for what they
    executed. Runs then take a tenth to a quarter less time and have the same bytes.

    Building an unchanged source again does nothing; after a change only what changed is compiled. Then it is
    started once: a kernel that does not start on this machine is reported and kept.

    \b
    Exit code:
        0    built, and it starts
        1    the source is at fault: it does not compile, or lacks something
        2    it cannot be built here, does not start, or complains as it starts
        130  interrupted

    Example: rushhour kernel build ~/linux@v6.12 --name good
    """  # noqa: D301 - click wants the letter itself
    from rushhour.errors import BuildError
    from rushhour.lab import kernel as kernels

    try:
        with _progress() as tell:
            built = kernels.build(
                source, name, tell,
                aside=aside, from_nothing=from_nothing, files=files, patches=patches, train=train,
            )  # fmt: skip
    except BuildError as error:
        tell_error(error)
        return BROKEN
    for note in built.origin().get("notes", ()):
        echo(note, err=True)
    if why := built.origin().get("untrained"):
        echo(f"not trained, so that its runs take longer: {why}", err=True)
    started, fault = _start(built)
    _show(built, as_json=as_json, started=started)
    if not as_json:
        echo(_for_runs(built), err=True)
    key = built.origin().get("key")
    if key in (trees := kernels.trees()) and not as_json:
        free = f"rushhour kernel clean {built.name}"
        echo(f"its source and build take {_size(trees[key])}; to free it: {free}", err=True)
    if fault is not None:
        raise fault
    return 0


@kernel.command("list", short_help="List the kernels, those built here first.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def list_kernels(*, as_json: bool) -> None:
    """List the kernels: those built here, the newest first, then those of installed packages.

    Example: rushhour kernel list
    """
    from rushhour.lab import kernel as kernels

    found = kernels.installed()
    if as_json:
        echo(json.dumps([_facts(one) for one in found], indent=1))
    elif not found:
        echo("there is no kernel yet; to build one: rushhour kernel build debian:6.12", err=True)
    else:
        _table(found)
        echo(f"\nThe default kernel, the latest version of those not built aside, is {_default()}.")
    if not as_json and (trees := kernels.trees()):
        taken = f"{_trees(trees).capitalize()} take {_size(sum(trees.values()))}"
        echo(f"{taken}; to free it: rushhour kernel clean")


@kernel.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def show(name: str, *, as_json: bool) -> None:
    """Show everything known about the kernel NAME.

    Example: rushhour kernel show debian-6.12
    """
    from rushhour.lab import kernel as kernels

    _show(kernels.find(name), as_json=as_json)


@kernel.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--sources", is_flag=True, help="Also the unpacked source and the build directory.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def remove(names: tuple[str, ...], *, sources: bool, as_json: bool) -> None:
    """Remove built kernels; recorded runs stay valid.

    Example: rushhour kernel remove debian-6.1
    """
    from rushhour.lab import kernel as kernels

    removed = []
    for name in names:
        gone = kernels.remove(name, sources=sources)
        removed.append({"name": gone.name, "release": gone.release, "id": gone.id})
        echo(f"removed {gone.name} ({gone.release}, {gone.id})", err=True)
    if as_json:
        echo(json.dumps(removed, indent=1))


@kernel.command(short_help="Remove sources and build directories of kernels.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
def clean(names: tuple[str, ...]) -> None:
    """Remove unpacked sources and build directories, of the kernels NAME or all; the kernels stay.

    The next build of such a tree takes minutes instead of seconds.

    Example: rushhour kernel clean debian-6.12
    """
    from rushhour.lab import kernel as kernels

    trees = kernels.trees()
    if names:
        wanted = {kernels.find(name).origin().get("key") for name in names}
        trees = {key: size for key, size in trees.items() if key in wanted}
    for key in trees:
        kernels.clear(key, partial(click.echo, f"waiting: another process builds {key}", err=True))
    if trees:
        echo(f"removed {_trees(trees)}, {_size(sum(trees.values()))}", err=True)
    else:
        echo("there was nothing to remove", err=True)


def _trees(trees: dict[str, int]) -> str:
    return f"sources and builds of {len(trees)} tree{'s' * (len(trees) > 1)}"


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def _for_runs(built: Kernel) -> str:
    """Whether it is the default kernel now."""
    from rushhour.errors import KernelError
    from rushhour.lab import kernel as kernels

    use = f"to use this one: --kernel {built.name}"
    try:
        chosen = kernels.default()
    except KernelError:  # this one was built aside, and there is no other
        return use
    if chosen.folder == built.folder:
        return "it is the default kernel: runs use it where none is named"
    return f"the default kernel is {chosen.name} ({chosen.release}); {use}"


def _default() -> str:
    from rushhour.errors import KernelError
    from rushhour.lab import kernel as kernels

    try:
        chosen = kernels.default()
    except KernelError:  # all were built aside
        return "an error: none of these was built for that"
    return f"{chosen.name} ({chosen.id})"


def _table(found: list[Kernel]) -> None:
    from rushhour.cli.screen import print_table, printer

    headings = ("name", "id", "release", "source", "from")
    rows = [
        (one.name, one.id, one.release, _origin(one), "package" if one.package else "built here")
        for one in found
    ]
    print_table(printer(), headings, rows, wordy=("source",))


def _origin(one: Kernel) -> str:
    facts = dict(one.identity["source"])
    if facts.get("revision") == facts.get("commit"):
        facts.pop("revision", None)
    words = [facts[key] for key in ("kind", "version", "file", "directory", "revision") if key in facts]
    words += [facts["commit"][:12]] if "commit" in facts else []
    for key, word in (("patches", "patched:"), ("with_files", "with"), ("sanitizers", "with")):
        words += [word, facts[key]] if key in facts else []
    return " ".join(words)


def _brings(one: Kernel) -> str:
    brings = one.identity.get("brings", {})
    kinds = (("congestion_controls", 'cc = "{}"'), ("qdiscs", 'queue = "{}"'))
    return ", ".join(word.format(name) for kind, word in kinds for name in brings.get(kind, ()))


def _facts(one: Kernel) -> dict[str, object]:
    facts = {**one.identity, "id": one.id, "image": str(one.image), "config": str(one.config)}
    package = {"name": one.package.name, "version": one.package.version} if one.package else None
    return {**facts, "package": package, **one.origin()}


def _start(one: Kernel) -> tuple[str, LabError | KernelError | None]:
    """What became of the attempt to start it, in words, and the error if it failed."""
    from rushhour.errors import GuestError, KernelError, LabError
    from rushhour.lab import agent
    from rushhour.lab.boot import boot

    try:
        agent.find()
    except LabError:
        return "not tried: there is no agent to start it with", None
    try:
        return f"here, in {boot(one).seconds:.1f} s", None
    except GuestError as fault:
        return "here, and fails by itself", fault
    except LabError as fault:
        return "not here", fault
    except KernelError as fault:
        return "not as it was given", fault


def _show(one: Kernel, *, as_json: bool, started: str | None = None) -> None:
    facts = _facts(one) | ({"starts": started} if started else {})
    if as_json:
        echo(json.dumps(facts, indent=1))
        return
    rows = {
        "kernel": f"{one.name}  {click.style(one.release, bold=True)}  {one.id}",
        "source": f"{_origin(one)} ({one.identity['source_sha256'][:12]})",
        "compiler": one.identity["compiler"],
        "timer": f"HZ={one.identity['hz']}",
        "image": f"{one.image} ({_megabytes(one)} MB, {one.identity['image_sha256'][:12]})",
        "config": f"{one.config} ({one.identity['config_sha256'][:12]})",
        "lacks": " ".join(one.identity["missing"]) or "nothing of what was asked",
        **({"brings": words} if (words := _brings(one)) else {}),
        "trained": _trained(one),
        "from": f"package {one.package}" if one.package else "built here",
        "build": _cost(facts),
        **({"starts": started} if started else {}),
    }
    for heading, text in rows.items():
        click.echo(f"{heading:<9} {text if heading == 'kernel' else harmless(text)}")


def _cost(facts: Mapping[str, Any]) -> str:
    """What a kernel was made of, and how long that took."""
    if "relinked" in facts:
        return f"relinked: {facts['relinked']}"
    objects = plural(facts["objects"], "object")
    return objects + (f" in {facts['seconds']} s" if "seconds" in facts else "")


def _trained(one: Kernel) -> str:
    profile, why = one.identity.get("trained"), one.origin().get("untrained")
    return f"yes (profile {profile[:12]})" if profile else "no" + (f": {why}" if why else "")


def _megabytes(one: Kernel) -> float:
    return round(one.image.stat().st_size / 1e6, 1)


@contextmanager
def _progress() -> Iterator[Callable[[Step], None]]:
    """A bar on a terminal; elsewhere a line now and then. On standard error."""
    if not sys.stderr.isatty():
        yield _lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, count="")

        def tell(step: Step) -> None:
            count = (
                "" if not step.done else f"{step.done}" + (f" of about {step.total}" if step.total else "")
            )
            bar.update(task, description=step.text, completed=step.done, total=step.total, count=count)
            if step.text.startswith("unchanged"):
                bar.console.print(step.text)

        yield tell


def _lines() -> Callable[[Step], None]:
    last: tuple[str, float] = ("", 0.0)

    def tell(step: Step) -> None:
        nonlocal last
        if step.text != last[0] or clock.monotonic() - last[1] > _QUIET_S:
            last = (step.text, clock.monotonic())
            count = f": {step.done} objects" if step.done > 1 else ""
            echo(f"{step.text}{count}{f' of about {step.total}' if count and step.total else ''}", err=True)

    return tell
