"""From a source to a kernel in the store.

The kernel is compiled out of tree, in a build directory that is kept for each tree, so that the next build
of a changed tree compiles only what changed. The image is a pure function of source, configuration and
compiler: stamps are fixed and no path enters it.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rushhour.errors import BuildError, KernelError
from rushhour.files.regular import checksum
from rushhour.lab import packages
from rushhour.lab.kernel import (
    config,
    coverage,
    given,
    host,
    image,
    linked,
    objects,
    process,
    reuse,
    said,
    seed,
    sources,
    store,
    training,
    variant,
)
from rushhour.lab.kernel.make import ABSENT, FLAGS, STAMPS, Make, compiler
from rushhour.lab.kernel.sanitizers import absent
from rushhour.lab.kernel.step import Step
from rushhour.plain import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
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
    files: Sequence[str] = (),
    patches: Sequence[str] = (),
    train: bool = False,
) -> store.Kernel:
    """Build a kernel and put it into the store; nothing is done if the same is there already.

    Args:
        source: what `sources.resolve` understands.
        name: how to call it; default: after the source.
        progress: told every step.
        aside: built for one purpose, as a step of a bisection: never the kernel that is used where none
            is named.
        from_nothing: compile everything, also what is there already: the same image comes out.
        files: C files, or folders of them, to compile in beside what the source has; or names of sanitizers
            (`SANITIZERS`): such a kernel is never the one that is used where none is named.
        patches: patches to apply, in this order; the source itself stays as it is.
        train: compile the kernel of a release for what a few cells execute (`training`).

    Raises:
        KernelError: a tool is missing, the source is not there or does not compile, with what to do; or a
            file registers nothing, or a patch does not fit.
    """
    asked = _Asked(source, name, progress or (lambda _: None), aside, from_nothing, train)
    if name and not store.can_name(name):
        raise KernelError(f"{name!r} cannot name a kernel", hint="letters, digits and . _ + - only")
    beside = given.read(files, patches)
    if beside and beside.sanitizers:
        asked = replace(asked, aside=True)
    _require_tools()
    try:
        return _build(asked, beside)
    except OSError as fault:
        raise KernelError(
            f"{fault.strerror or fault}",
            where=str(fault.filename or source),
            hint=f"a build needs about 3 GB; the cache is {store.cache('kernels').parent}",
        ) from fault


@dataclass(frozen=True)
class _Asked:
    """What was asked for, as `build` has it."""

    source: str
    name: str | None
    tell: Progress
    aside: bool
    from_nothing: bool
    train: bool


def _build(asked: _Asked, beside: given.Given | None) -> store.Kernel:
    tell = asked.tell
    tell(Step(f"looking at {one_line(str(asked.source))}"))
    found = sources.resolve(asked.source, lambda text: tell(Step(text)))
    if beside:
        found = variant.of(found, beside)
    found.check()
    asked = replace(asked, name=asked.name or found.name)
    wanted = training.wanted(found, aside=asked.aside, train=asked.train)
    with _locked(found, lambda: tell(Step("waiting: another process builds this tree"))) as held:
        if asked.from_nothing:
            shutil.rmtree(store.cache("build", found.key), ignore_errors=True)
        elif same := _same(found, wanted, listed=asked.aside and not beside):
            tell(Step(f"unchanged: {same.release} is built already"))
            return _again(same, found, wanted, asked)
        else:
            if found.base and found.edits:
                found.edits(found.base.directory())  # what does not fit leaves nothing half begun
            seed.begin(found, lambda text: tell(Step(text)))
        return _make(found, wanted, held, asked)


def _same(found: sources.Source, wanted: training.Wanted, *, listed: bool) -> store.Kernel | None:
    """The kernel that would come out, if it is there already; where none can be trained, a plain one does.

    One that is built aside is held against others: it has the list of its objects.
    """
    kernels = store.installed()
    for inputs in (_inputs(found, wanted.mark), *([_inputs(found, "")] if wanted.hindrance else [])):
        for kernel in kernels:
            if kernel.origin().get("inputs") == inputs and (linked.has_list(kernel) or not listed):
                return kernel
    return None


@dataclass(frozen=True)
class _Held:
    """The locks of a build: the descriptor of the tree's, and what lets go of its source's."""

    tree: int
    let_go_of_source: Callable[[], None]


@contextmanager
def _locked(found: sources.Source, waiting: Callable[[], None]) -> Iterator[_Held]:
    """Hold the lock of a tree and, before it, that of the source it is made of."""
    with ExitStack() as base, ExitStack() as own:
        if found.base:
            base.enter_context(store.lock(found.base.key, waiting))
        yield _Held(own.enter_context(store.lock(found.key, waiting)), base.close)


def _require_tools() -> None:
    if lacking := process.missing_tools():
        raise KernelError(
            f"this machine lacks what building a kernel takes: {', '.join(lacking)}",
            hint=packages.advice(*lacking),
            machine=True,
        )


def _inputs(found: sources.Source, trained: str) -> str:
    """Hash of all that decides the image, known before anything is built."""
    ours = f"{config.fragment_sha256()} {host.sha256()} {STAMPS} {ABSENT} {FLAGS} {image.HOW}"
    return hashlib.sha256(f"{found.sha256} {compiler()} {ours}{trained}".encode()).hexdigest()


def _again(same: store.Kernel, found: sources.Source, wanted: training.Wanted, asked: _Asked) -> store.Kernel:
    """The same kernel, under a name that may be another."""
    name = str(asked.name)
    if asked.aside and same.name == name:
        return same
    identity = {**same.identity, "name": name}
    origin = {**same.origin(), "source": found.spec, "aside": asked.aside}
    if wanted.hindrance and training.TRAINED not in identity:
        origin["untrained"] = wanted.hindrance
    files = {path.name: path for path in same.folder.iterdir() if path.suffix != ".json"}
    return store.save(name, identity, _key(identity), origin, files)


def _make(found: sources.Source, wanted: training.Wanted, held: _Held, asked: _Asked) -> store.Kernel:
    started, tell = time.monotonic(), asked.tell
    _tell_of_unpacking(found, tell)
    (store.cache("build", found.key) / objects.BUILT).unlink(missing_ok=True)
    again = reuse.Reuse(found, lambda text: tell(Step(text)))
    tree = found.directory()
    held.let_go_of_source()  # so that another variant of it can be built meanwhile
    afresh = not store.cache("build", found.key).exists()
    place = store.cache("build", found.key, ".config").parent
    log = place / "build.log"
    log.write_text(f"{found.spec}\n")
    tell(Step("configuring"))
    make = Make(tree, place, log, held.tree, found.given.sanitizers if found.given else ())
    lacking = _lacking(make.configure(), found, tree)
    training.put_back(place)
    objects.drop_orphans(place, tree)
    again.put(lambda text: tell(Step(text)))
    with said.of(found, tree):
        made = make.compile(_counter(place, tell), training.ready(make, wanted))
    again.keep()
    trained = training.train(make, wanted, tell)
    files = {**_kept(found, tree, place, log), **trained.files}
    if not trained.files:  # where it is trained, objects of two builds lie here
        files |= linked.kept(tree, place)
    identity = _identity(str(asked.name), found, place, files[image.IMAGE], lacking) | trained.facts
    _leave(make, trained, tell)
    notes = _notes(found, tree, log)
    origin: dict[str, object] = {
        "source": found.spec,
        "inputs": _inputs(found, wanted.mark if trained.files else ""),
        "key": found.key,
        "seconds": round(time.monotonic() - started, 1),
        "objects": made + trained.objects,
        "from_nothing": afresh,
        "aside": asked.aside,
        "bytes": store.occupied(found.key),
        **({"notes": notes} if notes else {}),
        **({"untrained": trained.hindrance} if trained.hindrance else {}),
    }
    return store.save(str(asked.name), identity, _key(identity), origin, files)


def _kept(found: sources.Source, tree: Path, place: Path, log: Path) -> dict[str, Path]:
    files = {**image.stripped(place, log), "config": place / ".config", "build.log": log}
    if found.given and found.given.counts:
        files[coverage.NOTES] = coverage.kept(tree, place)
    return files


def _leave(make: Make, trained: training.Trained, tell: Callable[[Step], None]) -> None:
    """Leave the build directory to whoever goes on from it: mutants, neighbours, `check`."""
    if trained.files:
        training.leave_plain(make, tell)
    (make.place / objects.BUILT).touch()


def _tell_of_unpacking(found: sources.Source, tell: Callable[[Step], None]) -> None:
    archive, key = (found.base.archive, found.base.key) if found.base else (found.archive, found.key)
    if archive and not store.cache("sources", key).is_dir():
        tell(Step(f"unpacking {archive.name}"))


def _counter(place: Path, tell: Callable[[Step], None]) -> Callable[[int], None]:
    """What tells of each object that is compiled; of how many, where there is no kernel yet."""
    total = None if (place / "linux").exists() else OBJECTS
    return lambda count: tell(Step("compiling", count, total and max(total, count)))


def _lacking(settings: str, found: sources.Source, tree: Path) -> list[str]:
    """What the kernel lacks of what was asked; an option of what was given has to come."""
    lacking = config.check(settings, found.spec, config.own(tree))
    if found.given and (none := absent(settings, found.given.sanitizers)):
        raise BuildError(none[0], where=found.spec, hint="leave it out, or take a newer kernel")
    options = found.given.options() if found.given else []
    if fatal := [option for option in options if option in lacking]:
        raise BuildError(
            f"the Kconfig that was given defines {', '.join(fatal)}, which cannot be switched on",
            where=found.spec,
            hint="it depends on something that this kernel does not have",
        )
    return lacking


def _notes(found: sources.Source, tree: Path, log: Path) -> list[str]:
    """What a person should know of a kernel to which something was given."""
    if not found.given:
        return []
    notes = found.given.notes() + said.warnings(log, found, tree)
    if over := variant.left_out(found.given):
        notes.append(f"not compiled here, so left out of the patches: {', '.join(over)}")
    return notes


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
        **({"brings": brings} if found.given and (brings := found.given.brings()) else {}),
    }


def _key(identity: dict[str, object]) -> str:
    """Hash of what makes a kernel this kernel; its name and its origin do not."""
    parts = {
        key: identity[key]
        for key in ("release", "source_sha256", "config_sha256", "compiler", "image_sha256")
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
