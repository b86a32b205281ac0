"""packetdrill from its source: built once for each content, in the cache; the source is only read.

A source is a clone or copy of packetdrill's repository, or of that a commit. What goes into the program is
known by its content, so the version that git tells is beside it, not in its stead.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import BuildError, KernelError, LabError, UsageError
from rushhour.files.sums import sum_of
from rushhour.lab import cpus, packages
from rushhour.lab.kernel import git, process, store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

NAME = "packetdrill"
VARIABLE = "RUSHHOUR_PACKETDRILL"
INSIDE = Path("gtests/net/packetdrill")
"""Where the program's own files are in a clone."""
_MAIN = "packetdrill.c"
_MAKEFILE = "Makefile.Linux"
_READ = {".c", ".h", ".l", ".y"}
# What bison and flex make of the others, in a tree that was built.
_MADE = {"lexer.c", "parser.c", "parser.h"}
TOOLS = ("gcc", "ld", "make", "bison", "flex")
# As make's words, which its own files cannot change: static, so that a guest needs no library for it; without
# what names this machine's folders. An older C, and no warning that ends a build: compilers learn new ones.
_WORDS = ("CC=gcc -static -s -std=gnu11 -w", "CFLAGS=-O2")
_RECIPE = 1
_UNWANTED = ("CFLAGS", "CPPFLAGS", "LDFLAGS", "MAKEFLAGS", "ENABLE_PSP")


@dataclass(frozen=True)
class Program:
    """packetdrill's program.

    `version` is what git calls its source, where it is a repository's; `source_sha256` is over the files it
    was made of. Both are empty for a program that was not built here.
    """

    path: Path
    version: str = ""
    source_sha256: str = ""

    def identity(self) -> dict[str, str]:
        """What is known of it; it has no word for its version, so the content is it."""
        known = {"version": self.version, "source_sha256": self.source_sha256}
        said = {key: value for key, value in known.items() if value}
        return {"name": self.path.name, **said, "sha256": sum_of(self.path)}

    @property
    def told(self) -> str:
        """It in a few words: git's version, else the begin of a hash."""
        if self.version or self.source_sha256:
            return self.version or f"of the source {self.source_sha256[:12]}"
        return f"with the SHA-256 {sum_of(self.path)[:12]}"


def find(
    binary: Path | None,
    source: str | None,
    scripts: Sequence[Path],
    tell: Callable[[str], None] = lambda _: None,
) -> Program:
    """The program to run scripts with.

    What is named comes first, then what `RUSHHOUR_PACKETDRILL` names (a program or a source), then the one in
    `PATH`, the source in whose tree the scripts lie.

    Args:
        binary: a program.
        source: a source, as for `build`.
        scripts: the scripts.
        tell: told once, if one is compiled.

    Raises:
        UsageError: there is none, or what is named is none.
        BuildError: it does not compile.
        LabError: this machine lacks what compiling takes.
    """
    if binary is not None and source is not None:
        raise UsageError("--binary and --source are both given", hint="one of them is enough")
    named = os.environ.get(VARIABLE, "")
    if binary is None and source is None and Path(named).is_file():
        binary = Path(named)
    if binary is not None:
        return _program(binary)
    if source or named:
        return build(source or named, tell)
    return _found(scripts, tell)


def _found(scripts: Sequence[Path], tell: Callable[[str], None]) -> Program:
    """Where nothing is named."""
    if installed := shutil.which(NAME):
        return Program(Path(installed).resolve())
    if tree := next(filter(None, map(_around, scripts)), None):
        return build(str(tree), tell)
    raise UsageError(
        "no packetdrill is named, none is in PATH, and the scripts lie in no clone of its source",
        hint="name a clone of its repository (google/packetdrill) with --source, or its program by --binary",
    )


def _program(path: Path) -> Program:
    if not path.is_file():
        raise UsageError(
            "there is no such file", where=str(path), hint="--binary names packetdrill's program"
        )
    return Program(path.resolve())


def _around(path: Path) -> Path | None:
    """The source of packetdrill in whose tree `path` lies, if there is one."""
    return next((up for up in path.resolve().parents if (up / INSIDE / _MAIN).is_file()), None)


def build(source: str, tell: Callable[[str], None] = lambda _: None) -> Program:
    """The program of a source, compiled unless that was done before.

    Args:
        source: `TREE`, or `TREE@REVISION` of a git repository.
        tell: told once, if it is compiled.

    Raises:
        UsageError: it is no source of packetdrill.
        BuildError: it does not compile, with what the compiler says.
        LabError: this machine lacks what compiling takes.
    """
    path, revision = _parted(source)
    with store.lock(f"{NAME}-source", lambda: tell("waiting for another build of packetdrill")):
        if revision is None:
            return _built(_folder(path, source), _described(path), tell)
        repository = git.directory(path)
        commit = git.commit(path, revision)
        if commit is None:
            raise UsageError(f"this repository has no revision {revision!r}", where=str(path))
        version = git.ask(path, "describe", "--tags", "--always", "--long", commit).strip()
        with store.scratch(store.cache(NAME, "exported")) as room:
            _export(repository, commit, room)
            return _built(_folder(room, source), version, tell)


def _parted(source: str) -> tuple[Path, str | None]:
    """The folder, and the revision if one is meant: a folder's name may have an `@`."""
    whole = Path(source).expanduser()
    folder, _, revision = source.rpartition("@")
    if whole.exists() or not folder:
        return whole, None
    return Path(folder).expanduser(), revision


def _folder(path: Path, said: str) -> Path:
    """Where the program's own files are."""
    for folder in (path / INSIDE, path):
        if (folder / _MAIN).is_file() and (folder / _MAKEFILE).is_file():
            return folder
    what = "this is no source of packetdrill" if path.exists() else "there is no such file or folder"
    raise UsageError(what, where=said, hint=f"a clone of its repository has {INSIDE / _MAIN}")


def _described(path: Path) -> str:
    """What git calls a tree that is a clone's own: not one that merely lies in another repository."""
    words = ["rev-parse", "--show-prefix"]
    inside = git.ask(_folder(path, str(path)), *words, default="-").strip().strip("/")
    if inside != str(INSIDE):
        return ""
    return git.ask(path, "describe", "--tags", "--always", "--long", "--dirty", default="").strip()


def _export(repository: Path, commit: str, room: Path) -> None:
    archive = room / "source.tar"
    try:
        git.ask(repository, "archive", "--output", str(archive), commit, str(INSIDE))
    except KernelError as fault:
        raise UsageError(
            f"the commit {commit[:12]} has no {INSIDE}", where=str(repository), hint=fault.message
        ) from fault
    shutil.unpack_archive(archive, room, filter="data")


def _built(folder: Path, version: str, tell: Callable[[str], None]) -> Program:
    files = sorted(_files(folder))
    total = hashlib.sha256()
    try:
        for path in files:
            total.update(f"{path.relative_to(folder)} {sum_of(path.resolve())}\n".encode())
    except OSError as fault:
        raise UsageError(f"the source cannot be read: {fault.strerror}", where=str(fault.filename)) from fault
    digest = total.hexdigest()
    _require()
    key = hashlib.sha256(f"{_RECIPE} {_WORDS} {_compiler()} {digest}".encode()).hexdigest()[:16]
    target = store.cache(NAME, key)
    if not (target / "origin.json").is_file():
        tell(f"building packetdrill {version or digest[:12]}")
        _compile(folder, files, target)
    origin = {"version": version, "source_sha256": digest}
    (target / "origin.json").write_text(json.dumps(origin) + "\n")
    return _load(target)


def _files(folder: Path) -> Iterator[Path]:
    """What the program is made of: no product of an earlier build, no document."""
    for path in folder.rglob("*"):
        read = path.suffix in _READ and path.name not in _MADE
        if path.is_file() and (read or path.name.startswith("Makefile.")):
            yield path


def _require() -> None:
    lacking = [program for program in TOOLS if not shutil.which(program)]
    if "gcc" not in lacking:
        library = process.answer(["gcc", "-print-file-name=libc.a"], default="").strip()
        lacking += [] if library.startswith("/") else ["libc.a"]
    if lacking:
        raise LabError(
            f"to build packetdrill this machine lacks {', '.join(lacking)}",
            hint=packages.advice(*lacking),
            machine=True,
        )


def _compiler() -> str:
    versions = [process.answer([tool, "--version"]).splitlines()[0] for tool in TOOLS if tool != "make"]
    return ", ".join([*versions, os.confstr("CS_GNU_LIBC_VERSION") or "unknown C library"])


def _compile(folder: Path, files: list[Path], target: Path) -> None:
    log = target.with_name(f"{target.name}.log")
    log.unlink(missing_ok=True)
    with store.scratch(target) as room:
        whole = room / "whole"
        whole.mkdir()
        for path in files:
            copy = room / path.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
        command = ["make", "-f", _MAKEFILE, f"-j{len(cpus.own())}", *_WORDS, NAME]
        settings = {**dict.fromkeys(_UNWANTED, ""), "SOURCE_DATE_EPOCH": "0"}
        try:
            process.run(command, what="building packetdrill", cwd=room, extra=settings, log=log)
        except KernelError as fault:
            raise BuildError(fault.message, where=fault.where, hint=fault.hint) from fault
        (room / NAME).replace(whole / NAME)
        shutil.rmtree(target, ignore_errors=True)
        whole.rename(target)
    log.unlink(missing_ok=True)


def _load(folder: Path) -> Program:
    origin = json.loads((folder / "origin.json").read_text())
    return Program(folder / NAME, str(origin["version"]), str(origin["source_sha256"]))
