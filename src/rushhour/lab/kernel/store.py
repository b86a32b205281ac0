"""Built kernels, on this machine: one folder each, written whole or not at all."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rushhour.errors import KernelError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True)
class Kernel:
    """A built kernel.

    `identity` is what a record keeps of it: name, release, source, configuration, compiler, image. Two
    kernels that differ in any of these have different identities. It holds no path and no date.
    """

    name: str
    image: Path
    release: str
    identity: dict[str, Any]
    config: Path

    @property
    def folder(self) -> Path:
        """Where everything about this kernel lies."""
        return self.image.parent

    @property
    def id(self) -> str:
        """The first twelve digits of the identity's hash; unique among built kernels."""
        return self.folder.name.rpartition("-")[2]

    def origin(self) -> dict[str, Any]:
        """What this machine knows beyond the identity: the source as typed, the cost of the build."""
        return dict(json.loads((self.folder / "origin.json").read_text()))


def cache(*parts: str) -> Path:
    """A path below `$XDG_CACHE_HOME/rushhour` or `~/.cache/rushhour`; its parent exists."""
    base = os.environ.get("XDG_CACHE_HOME")
    path = (Path(base) if base else Path.home() / ".cache").joinpath("rushhour", *parts)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise KernelError(
            f"the cache cannot be written: {fault.strerror}",
            where=str(path.parent),
            hint="set XDG_CACHE_HOME to a directory of yours",
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
    name: str, identity: dict[str, Any], key: str, origin: dict[str, Any], files: dict[str, Path]
) -> Kernel:
    """Put a kernel into the store under `name`; an equal one that is there becomes the newest again."""
    folder = cache("kernels", f"{name}-{key[:12]}")
    with scratch(folder) as room:
        whole = room / "kernel"
        whole.mkdir()
        facts = {"identity.json": identity, "origin.json": origin}
        for target, fact in facts.items():
            (whole / target).write_text(json.dumps(fact, indent=1) + "\n")
        if folder.is_dir():
            for target in facts:
                (whole / target).replace(folder / target)
            os.utime(folder)
            return _load(folder)
        for target, source in files.items():
            shutil.copy2(source, whole / target)
        whole.rename(folder)
    return _load(folder)


def installed() -> list[Kernel]:
    """Every built kernel, the newest first."""
    folders = [path.parent for path in cache("kernels", "any").parent.glob("[!.]*/identity.json")]
    return [
        _load(folder) for folder in sorted(folders, key=lambda path: (path.stat().st_mtime_ns, path.name))
    ][::-1]


def find(name: str) -> Kernel:
    """The newest kernel of this name; also by `NAME-ID`, by `ID`, or by the source it was built from.

    Raises:
        KernelError: there is none, with what there is and how to build it.
    """
    kernels = installed()
    for kernel in kernels:
        if name in {kernel.name, kernel.folder.name, kernel.id}:
            return kernel
    for kernel in kernels:
        if name == kernel.origin().get("source"):
            return kernel
    there = ", ".join(dict.fromkeys(kernel.name for kernel in kernels)) or "none"
    source = name if name.startswith("debian:") else "debian:6.12"
    build = f"rushhour kernel build {source}" + ("" if name.startswith("debian:") else f" --name {name}")
    raise KernelError(f"there is no kernel {name!r}; built here: {there}", hint=f"to build one: {build}")


def default() -> Kernel:
    """The kernel that is used when none is named: the one built last that was not built aside."""
    kernels = [kernel for kernel in installed() if not kernel.origin().get("aside")]
    if not kernels:
        raise KernelError("no kernel is built yet", hint="to build one: rushhour kernel build debian:6.12")
    return kernels[0]


def remove(name: str, *, sources: bool = False) -> Kernel:
    """Remove the newest kernel of this name and return what it was; runs already recorded stay valid.

    With `sources` the unpacked source and the build directory go as well; a user's own tree is never touched.
    """
    kernel = find(name)
    key = kernel.origin().get("key")
    with scratch(kernel.folder) as room:
        kernel.folder.rename(room / "kernel")
    if sources and key:
        with lock(key, lambda: None):
            for folder in (cache("sources", key), cache("sources", f"{key}.git"), cache("build", key)):
                shutil.rmtree(folder, ignore_errors=True)
            cache("sources", f"{key}.index").unlink(missing_ok=True)
    return kernel


def _load(folder: Path) -> Kernel:
    try:
        identity = json.loads((folder / "identity.json").read_text())
        image, config = ((folder / name).resolve(strict=True) for name in ("linux", "config"))
        return Kernel(str(identity["name"]), image, str(identity["release"]), identity, config)
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise KernelError(
            f"this built kernel is damaged: {fault}", where=str(folder), hint=f"remove it: rm -r {folder}"
        ) from fault
