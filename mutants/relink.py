"""A mutant's kernel in about two seconds: the objects that its change reaches are compiled, then one link.

`make` walks through all folders and links three times, for the table of the kernel's own symbol names. Here
the commands that `make` noted of the base's build are given again: those of the objects that read a changed
file, and the last link, with the base's table of names (only backtraces on the console read it). With nothing
changed that gives the base's image to the byte, which is checked first; else nothing is judged.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import BuildError, KernelError
from rushhour.files.regular import checksum
from rushhour.lab.kernel import host, image, kbuild, store

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rushhour.lab.kernel import Kernel

_LIBRARIES = ("-lutil", "-lrt", "-lpthread")
_FIRST = 12


@dataclass(frozen=True)
class Linked:
    """A kernel as it came out: the image, and whether any object differs from the base's."""

    files: Mapping[str, Path]
    differs: bool

    @property
    def image(self) -> Path:
        """The image by itself."""
        return self.files[image.IMAGE]


class Relinker:
    """Gives the commands of a base's build again, with other sources.

    The build directory is only read, and without its lock: an archive's holds the same at all times.

    Args:
        base: the kernel; it was built here.

    Raises:
        KernelError: its build directory is not there any more.
    """

    def __init__(self, base: Kernel) -> None:
        self.base = base
        self.key = str(base.origin().get("key", ""))
        self.place, self.tree = store.cache("build", self.key), store.cache("sources", self.key)
        if not self.key or not (self.place / kbuild.ALL).is_file():
            raise KernelError(
                f"the build directory of {base.name} is not there",
                where=str(self.place),
                hint=f"make it again: {_again(base)}",
            )

    def check(self) -> None:
        """Link the base itself again: it has to be the base's image.

        Raises:
            KernelError: it is another one, so a mutant's would not be the base's with a fault.
        """
        with tempfile.TemporaryDirectory(prefix="mutant-") as room:
            made = self.link({}, Path(room))
            if checksum(made.image) != self.base.identity["image_sha256"]:
                raise KernelError(
                    f"the objects of its build directory do not give the image of {self.base.name}",
                    where=str(self.place),
                    hint=f"make it again: {_again(self.base)}",
                )

    def text(self, name: str) -> str:
        """A file of the base's source."""
        return (self.tree / name).read_text(errors="surrogateescape")

    def build(self, texts: Mapping[str, str], name: str, facts: Mapping[str, str]) -> Kernel | None:
        """A kernel in which files have these texts, in the store; None if its image would be the base's.

        Args:
            texts: of changed files, by their names in the tree.
            name: what the kernel is called.
            facts: what its identity says of the change.

        Raises:
            BuildError: the compiler or the linker refuses, in its words.
        """
        with tempfile.TemporaryDirectory(prefix="mutant-") as room:
            made = self.link(texts, Path(room))
            if not made.differs:
                return None
            changed = hashlib.sha256(json.dumps([*texts.items()]).encode("utf-8", "surrogateescape"))
            identity = {
                **self.base.identity,
                "name": name,
                "source": {**self.base.identity["source"], **facts},
                "source_sha256": changed.hexdigest(),
                "image_sha256": checksum(made.image),
            }
            if identity["image_sha256"] == self.base.identity["image_sha256"]:
                return None
            key = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
            origin: dict[str, object] = {"relinked": f"{name} of {self.base.name}", "aside": True}
            return store.save(name, identity, key, origin, {**made.files, "config": self.base.config})

    def link(self, texts: Mapping[str, str], room: Path) -> Linked:
        """Compile and link into a folder of its own.

        Raises:
            BuildError: the compiler or the linker refuses.
        """
        for name, text in texts.items():
            path = room / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self._placed(name, text), errors="surrogateescape")
        objects = self._reading(texts)
        if texts and not objects:
            raise BuildError(f"no object of the kernel is made of {', '.join(texts)}")
        made = {name: self.compile(name, room) for name in objects}
        differs = any(path.read_bytes() != (self.place / name).read_bytes() for name, path in made.items())
        if texts and not differs:
            return Linked({image.IMAGE: room / "linux"}, differs=False)
        self._link(made, room)
        symbols = self.base.image.with_name(image.SYMBOLS).is_file()
        return Linked(image.stripped(room, room / "strip.log", symbols=symbols), differs=True)

    def accepts(self, name: str, text: str) -> None:
        """Have the compiler look at a source file with this text.

        Raises:
            BuildError: it refuses, in its words.
        """
        with tempfile.TemporaryDirectory(prefix="mutant-") as room:
            path = Path(room, name)
            path.parent.mkdir(parents=True)
            path.write_text(self._placed(name, text), errors="surrogateescape")
            self.compile(str(Path(name).with_suffix(".o")), Path(room), "-fsyntax-only")

    def compile(self, name: str, room: Path, *more: str) -> Path:
        """One object, of the sources in a folder where they are there; the base's command otherwise."""
        words = shlex.split(kbuild.command(self.place / name))
        if ";" in words or "-o" not in words:
            raise BuildError(f"{name} is not made by one command of the compiler")
        *words, source = words
        inside = os.path.relpath(self.place / source, self.tree)
        if inside.startswith("..") or not inside.endswith((".c", ".S")):
            raise BuildError(f"{name} is made of {source}, which is not of the tree")
        mine, target = room / inside, room / name
        mine.parent.mkdir(parents=True, exist_ok=True)
        if not mine.exists():  # so that what it includes from beside it is looked for here first
            mine.write_text(self._placed(inside, self.text(inside)), errors="surrogateescape")
        target.parent.mkdir(parents=True, exist_ok=True)
        words = [word for word in words if not word.startswith("-Wp,-MMD")]
        if any(word.startswith("-fprofile-use=") for word in words):
            words += ["-dumpdir", f"{Path(name).parent}/"]  # a profile is found by the object's place
        words[words.index("-o") + 1] = str(target)
        words[1:1] = [*self._before(words, room), f"-fmacro-prefix-map={room}/="]
        _run([*words, f"-I{self.tree / Path(inside).parent}", *more, str(mine)], self.place)
        return target

    def _before(self, words: Sequence[str], room: Path) -> Iterator[str]:
        """Where headers are looked for first: folders of the room, in the order of those of the tree."""
        folders = [after if word == "-I" else word[2:] for word, after in pairwise(words) if word[:2] == "-I"]
        for folder in dict.fromkeys(folders):
            mine = room / os.path.relpath(self.place / folder, self.tree)
            if mine.is_relative_to(room) and ".." not in mine.parts and mine.is_dir():
                yield f"-I{mine}"

    def _placed(self, name: str, text: str) -> str:
        """A text that the compiler takes for the tree's own file: a profile knows functions by their file."""
        return f'# 1 "{self.tree / name}"\n{text}'

    def _reading(self, texts: Mapping[str, str]) -> list[str]:
        """The objects of the image that are made of any of these files."""
        wanted = [str(self.tree / name) for name in texts]
        return [name for name, noted in self._notes.items() if any(f"{one} " in noted for one in wanted)]

    @cached_property
    def _objects(self) -> list[str]:
        done = subprocess.run(
            ["ar", "t", kbuild.ALL], cwd=self.place, capture_output=True, text=True, check=True
        )
        return done.stdout.split()

    @cached_property
    def _notes(self) -> dict[str, str]:
        """What kbuild noted of each object that is compiled: what it read, each name with a blank behind."""
        notes = {}
        for name in self._objects:
            place = kbuild.note(self.place / name)
            if place.is_file():
                text = place.read_text(errors="surrogateescape").partition("source_")[2]
                notes[name] = text.replace("\n", " ")
        return notes

    def _link(self, made: Mapping[str, Path], room: Path) -> None:
        static = ["-static"] if "CONFIG_LD_SCRIPT_STATIC=y" in self.base.config.read_text() else []
        own = re.search(r"^LINK_WRAPS *:?= *(.*)$", self.text("arch/um/Makefile"), re.MULTILINE)
        linked, whole = room / "linked", room / "linux"
        finishing = kbuild.finishing(self.place, linked, whole)
        _run(
            [
                "gcc", *static, *(own[1].split() if own else ()),
                *(f"-Wl,--wrap,{name}" for name in host.wrapped()), "host.o",
                *(f"-Wl,{flag}" for flag in kbuild.flags(self.place)),
                "-Wl,--script=./arch/um/kernel/vmlinux.lds",
                "-o", str(linked if finishing else whole),
                "-Wl,--whole-archive", *(str(made.get(name, name)) for name in self._objects),
                *kbuild.beside(self.place), "-Wl,--no-whole-archive",
                "-Wl,--start-group", "lib/lib.a", "-Wl,--end-group", kbuild.names(self.place), *_LIBRARIES,
            ],
            self.place,
        )  # fmt: skip
        for command in finishing:
            _run(command, self.place)


def _again(base: Kernel) -> str:
    """The command that builds a base anew."""
    return f"rushhour kernel build {base.origin().get('source', 'debian:6.12')} --from-nothing"


def _run(command: list[str], where: Path) -> None:
    done = subprocess.run(
        command, cwd=where, capture_output=True, text=True, errors="replace", check=False,
        env={**os.environ, "LC_ALL": "C"},
    )  # fmt: skip
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "error" in line or "undefined" in line]
        raise BuildError("\n".join((said or done.stderr.splitlines())[:_FIRST]) or f"{command[0]} failed")
