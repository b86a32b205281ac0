"""Whether C files compile to the same code as other texts of them, without a kernel being built.

Of each file both texts are compiled as make compiled it last (kbuild keeps the command beside each object),
and the objects are compared to the byte, without the names of what is local to them. Objects that are equal
link to images that are equal. Both texts see the same headers, those of the build directory: so it has to be
of a tree that has the base's headers, and of the base's other C files none that they read.
"""

from __future__ import annotations

import os
import re
import shlex
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from rushhour.errors import KernelError
from rushhour.lab import cpus
from rushhour.lab.kernel import git, kbuild, process, sources, store

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

BUILT = "built"
"""In a build directory: its last build came to its end."""
_SOURCE = re.compile(rb"^source_\S+ := (\S+)$", re.MULTILINE)
_WARNING = re.compile(r": warning: (.*)")


@dataclass(frozen=True)
class Told:
    """What compiling tells of texts: whether all give the same code, and what the compiler newly warns of."""

    same: bool
    warnings: tuple[str, ...] = ()


def same_code(repository: Path, base: str, texts: Mapping[str, tuple[str, str]]) -> Told | None:
    """Whether all these files compile to the same code; None if it cannot be told.

    Args:
        repository: Has the base, as a source of kernels.
        base: A commit.
        texts: By the path of a C file both texts that are compared: the base's, and another.
    """
    found = sources.resolve(f"{repository}@{base}", lambda _: None)
    with store.lock(found.key, lambda: None):
        place, tree = store.cache("build", found.key), store.cache("sources", found.key)
        if not (place / BUILT).is_file():
            return None
        elsewhere = {*git.differing(repository, base, found.key)}
        # Of C files headers are made, too, but of none below net/.
        if any(not name.startswith("net/") or not name.endswith(".c") for name in elsewhere):
            return None
        commands = {path: _command(place, tree, path, elsewhere | texts.keys()) for path in texts}
        if None in commands.values():
            return None
        with store.scratch(place) as room, ThreadPoolExecutor(len(cpus.own())) as pool:
            made = [
                (path, pool.submit(_object, command, place, room / f"{number}-{side}.o", text))
                for number, (path, command) in enumerate(commands.items())
                if command is not None
                for side, text in enumerate(texts[path])
            ]
            try:
                done = [(path, *one.result()) for path, one in made]
            except KernelError:
                return None  # make tells it better
    both = [*zip(done[::2], done[1::2], strict=True)]
    warnings = [
        f"{path}: {text}"
        for (_, _, before), (path, _, after) in both
        for text in dict.fromkeys(after)
        if text not in before
    ]
    return Told(all(before[1] == after[1] for before, after in both), tuple(warnings))


def noted(place: Path) -> Iterator[tuple[Path, Path]]:
    """Kbuild's notes in a build directory, by their names, each with the object that it is about."""
    for note in sorted(place.rglob(".*.o.cmd")):
        yield note, note.with_name(note.name[1:].removesuffix(".cmd"))


def drop_orphans(place: Path, tree: Path) -> None:
    """Remove the objects of a build directory that were made of a file that is gone.

    For kbuild all files are secondary to make, so that one that is not there has nothing made again: a source
    or a header that is removed, or renamed, and still asked for would build here, and nowhere else.
    """
    head, here = os.fsencode(f"{tree}/"), os.fsencode(place)
    there: dict[bytes, bool] = {}
    for note, made in noted(place):
        text = note.read_bytes()
        names = {word for word in text.split() if word.startswith(head)}
        names |= {os.path.join(here, source) for source in _SOURCE.findall(text)}  # noqa: PTH118 - bytes
        there |= {name: os.path.exists(name) for name in names - there.keys()}  # noqa: PTH110 - bytes, thousands
        if not all(there[name] for name in names):
            made.unlink(missing_ok=True)


def _command(place: Path, tree: Path, path: str, strange: set[str]) -> tuple[str, list[str]] | None:
    """How a file is compiled from standard input, and what stands before its text; None if nobody knows."""
    inside = PurePosixPath(path)
    made = place / inside.with_suffix(".o")
    words = shlex.split(kbuild.command(made))
    source = str(tree / path)
    if words[:1] != ["gcc"] or words[-4::2] != ["-c", str(inside.with_suffix(".o"))] or words[-1] != source:
        return None
    read = kbuild.note(made).read_text().split()
    if any(f"{tree / other}" in read for other in strange - {path}):
        return None
    kept = [word for word in words[:-3] if not word.startswith("-Wp,-MMD,")]
    return f'# 1 "{source}"\n', [*kept, "-iquote", str((tree / path).parent), "-x", "c", "-"]


def _object(command: tuple[str, list[str]], place: Path, target: Path, text: str) -> tuple[bytes, list[str]]:
    """The object of a text, without names that nothing outside needs (some are numbered); its warnings."""
    head, words = command
    said: list[str] = []
    process.answer([*words, "-o", str(target)], text=head + text, cwd=place, said=said)
    process.answer(["strip", "--strip-unneeded", str(target)])
    return target.read_bytes(), _WARNING.findall("".join(said))
