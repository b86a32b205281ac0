"""Kernels on this machine: built ones, one folder each, written whole or not at all; and those of packages.

By a name what was built here is found before what was installed as a package: whoever builds it means that.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import shutil
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rushhour.errors import KernelError
from rushhour.files.size import on_disk
from rushhour.quantities.release import release_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rushhour.lab.kernel.wheels import Package

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


@dataclass(frozen=True)
class Kernel:
    """A built kernel.

    `identity` is what a record keeps of it: name, release, source, configuration, compiler, image. Two
    kernels that differ in any of these have different identities. It holds no path and no date. `package` is
    the installed package that it came with, None if it was built here. `source`, as it was typed, is given
    where the image alone was sent here: it lies in no folder of its own.
    """

    name: str
    image: Path
    release: str
    identity: dict[str, Any]
    config: Path
    package: Package | None = None
    source: str | None = None

    @property
    def folder(self) -> Path:
        """The folder of this kernel."""
        return self.image.parent

    @property
    def id(self) -> str:
        """The first twelve digits of the identity's hash; unique among built kernels."""
        return self.folder.name.rpartition("-")[2]

    @property
    def is_variant(self) -> bool:
        """Whether files, patches or sanitizers were given beside its source."""
        facts = self.identity.get("source") or {}
        return any(key in facts for key in ("with_files", "patches", "sanitizers"))

    @property
    def is_relinked(self) -> bool:
        """Whether it was linked of objects of another kernel and of changed ones: no command builds it."""
        return "relinked" in self.origin()

    def origin(self) -> dict[str, Any]:
        """What is known beyond the identity: the source as typed, the cost of the build."""
        if self.source is not None:
            return {"source": self.source}
        return dict(json.loads((self.folder / "origin.json").read_text()))

    def sources(self) -> set[str]:
        """The spellings of its source on a command line; none of a kernel that no command builds."""
        if self.is_relinked:
            return set()
        words = {str(self.origin().get("source"))}
        facts = self.identity.get("source") or {}
        if facts.get("kind") == "debian" and not self.is_variant:
            series = str(facts.get("package", "")).removeprefix("linux-source-")
            words.add(f"debian:{series}@{facts.get('version')}")
        return words


def cache(*parts: str) -> Path:
    """A path below `$XDG_CACHE_HOME/rushhour` or `~/.cache/rushhour`; its parent exists."""
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        path = (Path(base) if base else Path.home() / ".cache").joinpath("rushhour", *parts)
        path.parent.mkdir(parents=True, exist_ok=True)
    except RuntimeError as fault:  # a user whom the machine does not know
        hint = "set XDG_CACHE_HOME to a directory of yours"
        raise KernelError(f"there is no folder for the cache: {fault}", hint=hint, machine=True) from fault
    except OSError as fault:
        raise KernelError(
            f"the cache cannot be written: {fault.strerror}",
            where=str(path.parent),
            hint="set XDG_CACHE_HOME to a directory of yours",
            machine=True,
        ) from fault
    return path


@contextmanager
def lock(key: str, waiting: Callable[[], None]) -> Iterator[int]:
    """Hold the lock of one tree; yields its descriptor, for children to inherit.

    Args:
        key: name of the tree.
        waiting: called once if another process holds the lock, before waiting for it.
    """
    with cache("locks", f"{key}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()


@contextmanager
def scratch(target: Path) -> Iterator[Path]:
    """An empty directory beside `target`, to make it in; gone afterwards, as one that a kill left before."""
    folder = target.with_name(f".tmp-{target.name}")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def save(
    name: str, identity: dict[str, object], key: str, origin: dict[str, object], files: dict[str, Path]
) -> Kernel:
    """Put a kernel into the store under `name`; an equal one that is there becomes the newest again."""
    folder = cache("kernels", f"{name}-{key[:12]}")
    with scratch(folder) as room:
        whole = room / "kernel"
        whole.mkdir()
        facts = {"identity.json": identity, "origin.json": origin}
        for target, fact in facts.items():
            (whole / target).write_text(json.dumps(fact, indent=1) + "\n")
        for target, source in files.items():
            shutil.copy2(source, whole / target)
        if folder.is_dir():
            # The image is the same, and may be running.
            for path in sorted(whole.iterdir()):
                if path.name != "linux":
                    path.replace(folder / path.name)
            os.utime(folder)
        else:
            whole.rename(folder)
    return load(folder)


def built() -> list[Kernel]:
    """Every kernel that was built here, the newest first."""
    dated: list[tuple[int, str, Kernel]] = []
    for path in cache("kernels", "any").parent.glob("[!.]*/identity.json"):
        folder = path.parent
        try:
            dated.append((folder.stat().st_mtime_ns, folder.name, load(folder)))
        except (OSError, KernelError):
            if folder.is_dir():
                raise
            # Somebody removed it meanwhile.
    return [kernel for *_, kernel in sorted(dated, key=lambda one: one[:2], reverse=True)]


def installed() -> list[Kernel]:
    """Every kernel: those built here, the newest first, then those of packages, the latest version first.

    A kernel that is there both ways is the one built here.
    """
    return list(_each())


def _each() -> Iterator[Kernel]:
    """As `installed`; packages are looked through only where what was built here does not do."""
    here = built()
    yield from here
    known = {kernel.folder.name for kernel in here}
    yield from (kernel for kernel in packaged() if kernel.folder.name not in known)


def packaged() -> list[Kernel]:
    """Every kernel of an installed package, the latest version first."""
    from rushhour.lab.kernel import wheels  # noqa: PLC0415 - to look through all packages takes a while

    kernels = [load(folder, package) for package, folder in wheels.folders()]
    return sorted(kernels, key=lambda one: (release_order(one.release), one.folder.name), reverse=True)


def find(name: str) -> Kernel:
    """The first kernel of this name (`installed`); also by `NAME-ID`, by `ID`, or by the source it is from.

    Raises:
        KernelError: there is none, with what there is and how to build it.
    """
    for kernel in _each():
        if name in {kernel.name, kernel.folder.name, kernel.id}:
            return kernel
    kernels = installed()
    for kernel in kernels:
        if name in kernel.sources():
            return kernel
    there = ", ".join(dict.fromkeys(kernel.name for kernel in kernels)) or "none"
    raise KernelError(
        f"there is no kernel {name!r}; there is: {there}", hint=f"to build one: {_to_build(name)}"
    )


def can_name(word: str) -> bool:
    """Whether a kernel may be called so."""
    return _NAME.fullmatch(word) is not None


def building(source: str, *more: str) -> str:
    """The command that builds a source, as a shell takes it.

    Args:
        source: what it is built from, with its own `--with` and `--patch`.
        more: further words.
    """
    word, files, patches = taken_apart(source)
    given = [*(("--with", file) for file in files), *(("--patch", patch) for patch in patches)]
    words = [word, *(part for one in given for part in one), *more]
    return " ".join(["rushhour kernel build", *map(shlex.quote, words)])


def taken_apart(source: str) -> tuple[str, list[str], list[str]]:
    """What a kernel was built from, as its origin has it: the source alone, its `--with`, its `--patch`."""
    word, *more = re.split(r" --(with|patch) ", source)
    given = list(zip(more[::2], more[1::2], strict=True))
    return (
        word,
        [file for what, file in given if what == "with"],
        [file for what, file in given if what == "patch"],
    )


def _to_build(name: str) -> str:
    """The command that may give what a word, which names no kernel, was meant to be."""
    if name.startswith("debian:") or os.path.isdir(name.partition("@")[0]):  # noqa: PTH112 - any word at all
        return building(name)
    if series := re.fullmatch(r"debian-(\d+\.\d+)", name):
        return building(f"debian:{series[1]}")
    if not can_name(name):
        return building("debian:6.12")
    return building(_source_for(name), "--name", name)


def _source_for(name: str) -> str:
    """What to build a kernel of this name from: that of a check is gone after some more checks."""
    from rushhour.lab.kernel import sanitizers, snapshot  # noqa: PLC0415 - they need this module

    checked = re.fullmatch(r"check-([0-9a-f]{12})((?:-[a-z]+)*)", name)
    if checked and (source := snapshot.source_of(checked[1])):
        with_these = [one for one in sanitizers.SANITIZERS if f"-{one}-" in f"{checked[2]}-"]
        return " --with ".join([source, *with_these])
    return "debian:6.12"


def default() -> Kernel:
    """The kernel that is used when none is named: the latest version of those not built aside.

    Of equal ones it is that built last, or built again; a package's comes after those built here. One with
    files or patches beside its source is it only where there is no other. Who builds an old kernel, or one
    with a change, to hold it against another, goes on with the same default.
    """
    fit = [kernel for kernel in _each() if not kernel.origin().get("aside")]
    if not fit:
        raise KernelError("there is no kernel yet", hint="to build one: rushhour kernel build debian:6.12")
    return max(fit, key=lambda one: (not one.is_variant, release_order(one.release)))


def elsewhere(message: str, source: str) -> str:
    """Where an algorithm or a queue discipline can be had that a kernel lacks; empty if that is nowhere.

    Args:
        message: the agent's, which names it.
        source: what the kernel was built from.
    """
    match = re.search(r'no congestion control "([\w-]+)"|no qdisc ([\w-]+)$', message)
    if match is None:
        return ""
    name, kind, file = (match[1], "congestion_controls", "tcp") if match[1] else (match[2], "qdiscs", "sch")
    for kernel in built():
        if name in kernel.identity.get("brings", {}).get(kind, ()):
            return f"{kernel.name} has it: --kernel {kernel.name}"
    return f"One of your own is built in with: {building(source, '--with', f'{file}_{name}.c')}"


def remove(name: str, *, sources: bool = False) -> Kernel:
    """Remove the newest kernel of this name and return what it was; runs already recorded stay valid.

    With `sources` the unpacked source and the build directory go as well; a user's own tree is never touched.

    Raises:
        KernelError: there is none, or it is a package's.
    """
    kernel = find(name)
    if kernel.package:
        raise KernelError(
            f"the kernel {kernel.name} came with the package {kernel.package}, and goes with it",
            hint=f"to remove it: {sys.executable} -m pip uninstall {kernel.package.name}",
        )
    key = kernel.origin().get("key")
    with scratch(kernel.folder) as room:
        kernel.folder.rename(room / "kernel")
    if sources and key:
        clear(key)
    return kernel


def clear(key: str, waiting: Callable[[], None] = lambda: None) -> None:
    """Remove the unpacked source and the build directory of one tree; kernels made of it stay.

    Args:
        key: Name of the tree.
        waiting: As of `lock`.
    """
    with lock(key, waiting):
        for folder in _places(key):
            shutil.rmtree(folder, ignore_errors=True)
        cache("sources", f"{key}.index").unlink(missing_ok=True)


def trees() -> dict[str, int]:
    """The trees whose unpacked source or build directory is there, and the bytes that both take together.

    Of a tree that a kernel was built of the bytes are those told then: to count them takes a while.
    """
    folders = [*cache("sources", "any").parent.glob("[!.]*/"), *cache("build", "any").parent.glob("[!.]*/")]
    told = {origin.get("key"): origin.get("bytes") for origin in (kernel.origin() for kernel in built())}
    keys = sorted({folder.name.removesuffix(".git") for folder in folders})
    return {key: told.get(key) or occupied(key) for key in keys}


def occupied(key: str) -> int:
    """Bytes of the unpacked source and the build directory of one tree; of what trees share, its part."""
    return sum(on_disk(folder) for folder in _places(key))


def _places(key: str) -> list[Path]:
    return [cache("sources", key), cache("sources", f"{key}.git"), cache("build", key)]


def load(folder: Path, package: Package | None = None) -> Kernel:
    """The kernel in a folder.

    Raises:
        KernelError: it is damaged, with how to be rid of it.
    """
    try:
        identity = json.loads((folder / "identity.json").read_text())
        image, config = ((folder / name).resolve(strict=True) for name in ("linux", "config"))
        return Kernel(str(identity["name"]), image, str(identity["release"]), identity, config, package)
    except (OSError, ValueError, KeyError, TypeError) as fault:
        again = f"{sys.executable} -m pip install --force-reinstall {package.name}" if package else ""
        raise KernelError(
            f"this kernel is damaged: {fault}",
            where=str(folder),
            hint=f"install it again: {again}" if package else f"remove it: rm -r {folder}",
        ) from fault
