"""What a person gives beside a kernel's source: files to compile in, patches to apply, sanitizers.

They are read once, at the beginning, and checked as far as their text allows: what is wrong is said before a
minute is spent on a build. Files go into a folder of their own, `net/with`, beside the kernel's.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import KernelError
from rushhour.lab.kernel import coverage, diff, registered
from rushhour.lab.kernel.sanitizers import AT_END, WORDS, at_end, options_of
from rushhour.plain import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

FOLDER = "net/with"
"""Where the files are compiled, in our copy of the tree."""
LONGEST_NAME = 15
"""Characters of an algorithm's or a queue discipline's name: TCP_CA_NAME_MAX and IFNAMSIZ are 16."""
_SPEAKABLE = re.compile(r"[a-z][a-z0-9_-]*")  # what `cc = …` takes of a scenario
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*\.[ch]")
_FOLDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_PATCHES = (".patch", ".diff")
_MAKEFILES = ("Kbuild", "Makefile")
_MOST_FILES, _MOST_BYTES = 200, 4_000_000
# As include/linux/license.h has them.
_FREE = ("GPL", "GPL v2", "GPL and additional rights", "Dual BSD/GPL", "Dual MIT/GPL", "Dual MPL/GPL")
_FLAGS = "subdir-ccflags-y := -I$(srctree)/net/ipv4 -I$(srctree)/net/sched\n"
_EXAMPLE = (
    f"a file is tcp_NAME.c or sch_NAME.c; several: a folder with a Kbuild; a word is {', '.join(WORDS)}"
)


@dataclass(frozen=True)
class File:
    """A file to compile in: where it is, what it is called below `FOLDER`, what was in it."""

    path: Path
    name: str
    data: bytes

    @property
    def text(self) -> str:
        """Its content as text."""
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True)
class Patch:
    """A patch: its file's name, and what it says."""

    name: str
    data: bytes
    changes: tuple[diff.Change, ...]


@dataclass(frozen=True)
class Given:
    """Files, patches and sanitizers beside a source; `words` are the options that gave them."""

    files: tuple[File, ...]
    patches: tuple[Patch, ...]
    tops: tuple[str, ...]
    words: tuple[str, ...]
    sanitizers: tuple[str, ...] = ()

    @cached_property
    def sha256(self) -> str:
        """Hash of names and contents."""
        total = hashlib.sha256(options_of(self.sanitizers).encode())
        if self.counts:
            total.update(coverage.sha256().encode())
        total.update(at_end(self.sanitizers).encode())
        for kind, name, data in (
            *(("file", file.name, file.data) for file in self.files),
            *(("patch", patch.name, patch.data) for patch in self.patches),
        ):
            total.update(f"{kind} {name} {hashlib.sha256(data).hexdigest()}\n".encode())
        return total.hexdigest()

    @property
    def counts(self) -> bool:
        """Whether the kernel counts what it executes."""
        return coverage.COVERAGE in self.sanitizers

    @cached_property
    def names(self) -> list[tuple[File, registered.Name]]:
        """What the files register."""
        return [(file, name) for file in self._sources() for name in registered.of(file.text).names]

    def brings(self) -> dict[str, object]:
        """What the files register, and whose fields of inet_diag an algorithm fills."""
        algorithms = sorted({name.text for _, name in self.names if name.is_algorithm})
        qdiscs = sorted({name.text for _, name in self.names if not name.is_algorithm})
        told = {
            name.text: of
            for file, name in self.names
            if name.is_algorithm and (of := registered.of(file.text).tells)
        }
        kinds = {"congestion_controls": algorithms, "qdiscs": qdiscs, "cc_info": told}
        return {kind: names for kind, names in kinds.items() if names}

    def notes(self) -> list[str]:
        """What a person should know of the files although they can be built."""
        said = []
        for file in self._sources():
            licence = registered.of(file.text).license
            if registered.of(file.text).begins and licence not in _FREE:
                has = f'the licence "{one_line(licence)}"' if licence is not None else "no MODULE_LICENSE"
                said.append(
                    f"{file.path}: {has}; compiled in it works, as a module of its own a kernel would refuse "
                    'it: its functions are for MODULE_LICENSE("GPL")'
                )
        return said

    def options(self) -> list[str]:
        """The options that folders' Kconfig files define and that can be switched on."""
        texts = [file.text for file in self.files if Path(file.name).name.startswith("Kconfig")]
        return [option for text in texts for option in switches(text)]

    def files_of_ours(self) -> diff.Edits:
        """What comes into the tree for the files and the sanitizers, beside the line in `net/Makefile`."""
        made = {f"{FOLDER}/{file.name}": diff.Edit(file.data) for file in self.files}
        own = [name for name in self.tops if name.endswith(".c")]
        if text := at_end(self.sanitizers):
            made[f"{FOLDER}/{AT_END}"] = diff.Edit(text.encode())
            own.append(AT_END)
        if not made:
            return {}
        folders = [name for name in self.tops if not name.endswith((".c", ".h"))]
        lines = [f"obj-y += {name[:-2]}.o\n" for name in own] + [f"obj-y += {name}/\n" for name in folders]
        made[f"{FOLDER}/Makefile"] = diff.Edit((_FLAGS + "".join(lines)).encode())
        kconfigs = [f"{FOLDER}/{name}/Kconfig" for name in folders]
        if sourced := [name for name in kconfigs if name in made]:
            text = "".join(f'source "{name}"\n' for name in sourced)
            made[f"{FOLDER}/Kconfig"] = diff.Edit(text.encode())
        return made

    def _sources(self) -> Iterator[File]:
        return (file for file in self.files if file.name.endswith(".c"))


def switches(kconfig: str) -> list[str]:
    """The options of a Kconfig file that are on or off, in its order."""
    found = re.finditer(
        r"^[ \t]*(?:menu)?config[ \t]+(\w+)[ \t]*\n((?:[ \t]+.*\n?|\n)*)", kconfig, re.MULTILINE
    )
    is_switch = re.compile(r"^[ \t]+(?:def_)?(?:bool|tristate)\b", re.MULTILINE)
    return [match[1] for match in found if is_switch.search(match[2])]


def read(files: Sequence[str], patches: Sequence[str]) -> Given | None:
    """Read and check what was given; None if nothing was.

    Raises:
        KernelError: a file is not there, is none, or registers nothing that could be used, with its place.
    """
    if not files and not patches:
        return None
    tops: dict[str, str] = {}
    found: list[File] = []
    sanitizers = sorted({spec for spec in files if spec in WORDS})
    own = [spec for spec in files if spec not in sanitizers]
    for spec in own:
        top, more = _read(Path(spec).expanduser(), spec)
        if top in tops:
            raise KernelError(
                f"two of these are called {top}: {tops[top]} and {spec}", hint="rename one of them"
            )
        tops[top] = spec
        found += more
    words = [*(f"--with {spec}" for spec in files), *(f"--patch {spec}" for spec in patches)]
    series = [path for spec in patches for path in _series(spec)]
    patched = tuple(map(_patch, series))
    given = Given(tuple(found), patched, tuple(sorted(tops)), tuple(words), tuple(sanitizers))
    if own:
        _check(given)
    return given


def _read(path: Path, spec: str) -> tuple[str, list[File]]:
    """What the file or folder is called in the tree, and what is in it."""
    if path.is_dir():
        name = path.resolve().name
        if not _FOLDER.fullmatch(name):
            raise KernelError(
                "a folder for the kernel's build has letters, digits, _ and - in its name", where=spec
            )
        return name, _folder(path, name)
    if not path.exists():
        raise KernelError("no such file", where=spec, hint=_EXAMPLE)
    if path.suffix in _PATCHES:
        raise KernelError("this is a patch", where=spec, hint=f"give it with --patch {shlex.quote(spec)}")
    if not _FILE.fullmatch(path.name):
        raise KernelError("not a file of C that the kernel's build can take", where=spec, hint=_EXAMPLE)
    return path.name, [File(path, path.name, _bytes(path))]


def _folder(path: Path, top: str) -> list[File]:
    found = []
    for folder, below, names in os.walk(path):
        below[:] = sorted(name for name in below if not name.startswith("."))
        inside = Path(folder).relative_to(path)
        for name in sorted(names):
            is_read = name in _MAKEFILES or name.startswith("Kconfig") or name.endswith((".c", ".h", ".S"))
            if is_read and not name.endswith(".mod.c"):
                file = Path(folder, name)
                found.append(File(file, str(Path(top, inside, name)), _bytes(file)))
                if len(found) > _MOST_FILES:
                    raise KernelError(f"more than {_MOST_FILES} files to compile", where=str(path))
    return _with_makefile(path, top, found)


def _with_makefile(path: Path, top: str, found: list[File]) -> list[File]:
    """A folder that says nothing of how it is built has each of its files built; a module's is built in."""
    makefiles = [file for file in found if file.name in {f"{top}/{name}" for name in _MAKEFILES}]
    if not makefiles:
        own = [file.path.stem for file in found if file.name.count("/") == 1 and file.name.endswith(".c")]
        if not own:
            raise KernelError("there is no C in this folder", where=str(path), hint=_EXAMPLE)
        text = "".join(f"obj-y += {name}.o\n" for name in own)
        return [*found, File(path / "Kbuild", f"{top}/Kbuild", text.encode())]
    built_in = [re.sub(rb"\bobj-m\b", b"obj-y", file.data) for file in makefiles]
    rest = [file for file in found if file not in makefiles]
    return [*rest, *(File(one.path, one.name, text) for one, text in zip(makefiles, built_in, strict=True))]


def _bytes(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if not path.is_file():
            raise KernelError("not a regular file", where=str(path), hint=_EXAMPLE)
        if size > _MOST_BYTES:
            raise KernelError(f"larger than {_MOST_BYTES // 10**6} MB", where=str(path))
        return path.read_bytes()
    except OSError as fault:
        raise KernelError(f"it cannot be read: {fault.strerror}", where=str(path)) from fault


def _series(spec: str) -> list[Path]:
    """A patch, or those of a folder in the order of their names."""
    path = Path(spec).expanduser()
    if not path.exists():
        raise KernelError(
            "no such patch", where=spec, hint="several: --patch 1.patch --patch 2.patch, or a folder"
        )
    if not path.is_dir():
        return [path]
    found = sorted(one for one in path.iterdir() if one.suffix in _PATCHES)
    if not found:
        raise KernelError(
            "there is no patch in this folder", where=spec, hint="their names end in .patch or .diff"
        )
    return found


def _patch(path: Path) -> Patch:
    data = _bytes(path)
    return Patch(path.name, data, tuple(diff.read(data.decode("utf-8", "surrogateescape"), path.name)))


def _check(given: Given) -> None:
    """Refuse what could be compiled and not be used."""
    sources = [file for file in given.files if file.name.endswith(".c")]
    said = {file.name: registered.of(file.text) for file in sources}
    where = ", ".join(str(file.path) for file in sources) or ", ".join(given.tops)
    if not any(one.registers for one in said.values()):
        raise KernelError(
            "nothing here registers a congestion control or a queue discipline",
            where=where,
            hint="a function for module_init calls tcp_register_congestion_control or register_qdisc",
        )
    if not any(one.begins for one in said.values()):
        raise KernelError(
            "nothing here is called when the kernel starts",
            where=where,
            hint="name the function that registers: module_init(NAME_register);",
        )
    _check_names(given.names)


def _check_names(names: Iterable[tuple[File, registered.Name]]) -> None:
    seen: dict[tuple[bool, str], str] = {}
    for file, name in names:
        where = f"{file.path}:{name.line}"
        if len(name.text.encode()) > LONGEST_NAME:
            raise KernelError(
                f'"{name.text}" has {len(name.text)} characters; the kernel keeps {LONGEST_NAME} of a name',
                where=where,
            )
        if name.is_algorithm and not _SPEAKABLE.fullmatch(name.text):
            raise KernelError(
                f'"{name.text}" is no name that a scenario can give as cc',
                where=where,
                hint="lower-case letters, digits, _ and -, a letter first",
            )
        other = seen.setdefault((name.is_algorithm, name.text), where)
        if other != where:
            raise KernelError(f'"{name.text}" is registered twice: there and at {other}', where=where)
