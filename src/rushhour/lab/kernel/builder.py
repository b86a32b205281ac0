"""From a source to a kernel in the store.

The kernel is compiled out of tree, in a build directory that is kept for each tree, so that the next build
of a changed tree compiles only what changed. The image is a pure function of source, configuration and
compiler: stamps are fixed and no path enters it.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rushhour.errors import KernelError
from rushhour.files.regular import checksum
from rushhour.lab import packages
from rushhour.lab.kernel import config, host, image, process, seed, sources, store
from rushhour.lab.kernel.make import ABSENT, FLAGS, STAMPS, Make, compiler
from rushhour.lab.kernel.step import Step
from rushhour.plain import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Progress = Callable[[Step], None]

# Objects of a whole build of 6.12; the denominator of a first build's progress.
OBJECTS = 1330


def build(
    source: str,
    name: str | None = None,
    progress: Progress | None = None,
    *,
    aside: bool = False,
    from_nothing: bool = False,
) -> store.Kernel:
    """Build a kernel and put it into the store; nothing is done if the same is there already.

    Args:
        source: what `sources.resolve` understands.
        name: how to call it; default: after the source.
        progress: told every step.
        aside: built for one purpose, as a step of a bisection: never the kernel that is used where none
            is named.
        from_nothing: compile everything, also what is there already: the same image comes out.

    Raises:
        KernelError: a tool is missing, the source is not there or does not compile, with what to do.
    """
    tell = progress or (lambda _: None)
    if name and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]*", name):
        raise KernelError(f"{name!r} cannot name a kernel", hint="letters, digits and . _ + - only")
    _require_tools()
    try:
        return _build(source, name, tell, aside=aside, from_nothing=from_nothing)
    except OSError as fault:
        raise KernelError(
            f"{fault.strerror or fault}",
            where=str(fault.filename or source),
            hint=f"a build needs about 3 GB; the cache is {store.cache('kernels').parent}",
        ) from fault


def _build(source: str, name: str | None, tell: Progress, *, aside: bool, from_nothing: bool) -> store.Kernel:
    tell(Step(f"looking at {one_line(str(source))}"))
    found = sources.resolve(source, lambda text: tell(Step(text)))
    found.check()
    name = name or found.name
    inputs = _inputs(found)
    with store.lock(found.key, lambda: tell(Step("waiting: another process builds this tree"))) as held:
        same = next((kernel for kernel in store.installed() if kernel.origin().get("inputs") == inputs), None)
        if from_nothing:
            shutil.rmtree(store.cache("build", found.key), ignore_errors=True)
        elif same:
            tell(Step(f"unchanged: {same.release} is built already"))
            return _again(same, name, found, aside=aside)
        else:
            seed.begin(found, lambda text: tell(Step(text)))
        return _make(found, name, inputs, held, tell, aside=aside)


def _require_tools() -> None:
    if lacking := process.missing_tools():
        raise KernelError(
            f"this machine lacks what building a kernel takes: {', '.join(lacking)}",
            hint=packages.advice(*lacking),
            machine=True,
        )


def _inputs(found: sources.Source) -> str:
    """Hash of all that decides the image, known before anything is built."""
    ours = f"{config.fragment_sha256()} {host.sha256()} {STAMPS} {ABSENT} {FLAGS} {image.HOW}"
    return hashlib.sha256(f"{found.sha256} {compiler()} {ours}".encode()).hexdigest()


def _again(same: store.Kernel, name: str, found: sources.Source, *, aside: bool) -> store.Kernel:
    """The same kernel, under a name that may be another."""
    if aside and same.name == name:
        return same
    identity = {**same.identity, "name": name}
    origin = {**same.origin(), "source": found.spec, "aside": aside}
    files = {path.name: path for path in same.folder.iterdir() if path.suffix != ".json"}
    return store.save(name, identity, _key(identity), origin, files)


def _make(
    found: sources.Source, name: str, inputs: str, held: int, tell: Progress, *, aside: bool
) -> store.Kernel:
    started = time.monotonic()
    if found.archive and not store.cache("sources", found.key).is_dir():
        tell(Step(f"unpacking {found.archive.name}"))
    tree = found.directory()
    afresh = not store.cache("build", found.key).exists()
    place = store.cache("build", found.key, ".config").parent
    log = place / "build.log"
    log.write_text(f"{found.spec}\n")
    tell(Step("configuring"))
    make = Make(tree, place, log, held)
    lacking = config.check(make.configure(), found.spec)
    total = None if (place / "linux").exists() else OBJECTS
    with _told_of(found, tree):
        made = make.compile(lambda count: tell(Step("compiling", count, total and max(total, count))))
    files = {**image.stripped(place, log), "config": place / ".config", "build.log": log}
    identity = _identity(name, found, place, files[image.IMAGE], lacking)
    origin: dict[str, object] = {
        "source": found.spec,
        "inputs": inputs,
        "key": found.key,
        "seconds": round(time.monotonic() - started, 1),
        "objects": made,
        "from_nothing": afresh,
        "aside": aside,
        "bytes": store.occupied(found.key),
    }
    return store.save(name, identity, _key(identity), origin, files)


@contextmanager
def _told_of(found: sources.Source, tree: Path) -> Iterator[None]:
    """What the compiler says of our copy of a person's directory is about that directory."""
    try:
        yield
    except KernelError as fault:
        if found.tree:
            fault.message = fault.message.replace(str(tree), str(found.tree))
            fault.args = (fault.message,)
        raise


def _identity(
    name: str, found: sources.Source, place: Path, kept: Path, lacking: list[str]
) -> dict[str, object]:
    return {
        "name": name,
        "release": (place / "include/config/kernel.release").read_text().strip(),
        "source": found.facts,
        "source_sha256": found.sha256,
        "config_sha256": checksum(place / ".config"),
        "host_sha256": host.sha256(),
        "compiler": compiler(),
        "image_sha256": checksum(kept),
        "hz": config.HZ,
        "missing": lacking,
    }


def _key(identity: dict[str, object]) -> str:
    """Hash of what makes a kernel this kernel; its name and its origin do not."""
    parts = {
        key: identity[key]
        for key in ("release", "source_sha256", "config_sha256", "compiler", "image_sha256")
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
