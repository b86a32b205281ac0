"""Kernels compiled with a profile: built, run for a few cells, and compiled again for what these executed.

The compiler then lays out each function for the way that is mostly taken, and inlines what is called often.
That costs a build some minutes and makes a packet cheaper; a run's events are the same. What is counted
follows from source, configuration, compiler and agent, as every run does, and so does the image.
"""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass, field
from importlib import resources
from typing import TYPE_CHECKING

from rushhour.errors import KernelError, RushHourError
from rushhour.lab.kernel import coverage, host, make, store
from rushhour.lab.kernel.sanitizers import SYMBOLS
from rushhour.lab.kernel.step import Step
from rushhour.lab.kernel.training import profile
from rushhour.plain import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from rushhour.lab.kernel.make import Make
    from rushhour.lab.kernel.sources import Source

TRAINED = "trained"
"""In the identity of a trained kernel: the hash of its profile."""

# What a packet goes through, by profiles of one fast flow and of 1000 flows. Only what the events of a run
# decide: what depends on the host (its signals, the pages of a program) is left alone, for its counters
# would differ from machine to machine.
OBJECTS = (
    *(f"net/core/{name}.o" for name in ("dev", "skbuff", "sock")),
    *(
        f"net/ipv4/{name}.o"
        for name in (
            *("fib_trie", "inet_diag", "inet_hashtables", "ip_forward", "ip_input", "ip_output", "route"),
            *("tcp", "tcp_input", "tcp_ipv4", "tcp_output"),
        )
    ),
    *(f"net/sched/{name}.o" for name in ("cls_bpf", "sch_fifo", "sch_fq", "sch_generic", "sch_tbf")),
    *("drivers/net/veth.o", "net/ethernet/eth.o", "kernel/bpf/core.o"),
    *("kernel/softirq.o", "kernel/irq/handle.o"),
    *(f"kernel/time/{name}.o" for name in ("hrtimer", "tick-sched", "timekeeping", "timer")),
    *("kernel/sched/build_policy.o", "kernel/sched/core.o"),
    *("lib/rbtree.o", "lib/timerqueue.o", "mm/page_alloc.o", "mm/slub.o"),
    *("arch/um/kernel/time.o", "arch/um/kernel/skas/uaccess.o"),
)
# A function is known by its number in its file, not by the file's name, and lines do not count: a profile
# shall name no folder.
_KNOWN = ("--param=profile-func-internal-id=1",)
_COUNTING = (
    "-fprofile-arcs", "-fprofile-update=single", "-fprofile-info-section=rushhour_coverage",
    "-fprofile-dir=.", "-frandom-seed=$@",
)  # fmt: skip
# What no run executed is compiled as it always is, not for size.
_USING = ("-fprofile-partial-training", "-Wno-coverage-mismatch", "-Wno-missing-profile")
_FOLDER, _PLAIN = "profile", "plain"


def sha256() -> str:
    """Hash of what of ours decides a trained kernel."""
    cells = "".join(text for _, text in scenarios())
    return hashlib.sha256(f"{OBJECTS}{_KNOWN}{_COUNTING}{_USING}{cells}".encode()).hexdigest()


def scenarios() -> list[tuple[str, str]]:
    """Names and texts of the cells that are run, in their order."""
    files = [one for one in resources.files(__name__).iterdir() if one.name.endswith(".toml")]
    return [(one.name, one.read_text(encoding="utf-8")) for one in sorted(files, key=lambda one: one.name)]


def _flags(words: tuple[str, ...], place: Path) -> str:
    where = f"-fprofile-prefix-path={place}"
    return f"CFLAGS_KERNEL=$(if $(filter {' '.join(OBJECTS)},$@),{' '.join((*words, *_KNOWN))} {where})"


def write(files: Mapping[str, bytes], place: Path) -> None:
    """Put a profile into a build directory, where the compiler is told to look for it."""
    folder = place / _FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)


@dataclass(frozen=True)
class Wanted:
    """How a source's kernel is to be trained.

    `mark` is what that adds to what decides its image: nothing for a plain one. `hindrance` says why it
    cannot be trained here. `kept` is a profile that is there already.
    """

    mark: str = ""
    hindrance: str = ""
    kept: Path | None = None


@dataclass(frozen=True)
class Trained:
    """What training adds to a kernel: profile, what its identity says, objects made; or why nothing."""

    files: Mapping[str, Path] = field(default_factory=dict)
    facts: dict[str, object] = field(default_factory=dict)
    objects: int = 0
    hindrance: str = ""


def wanted(found: Source, *, aside: bool, train: bool) -> Wanted:
    """How a source's kernel is to be trained, if asked for: that of a release; what is worked on never is.

    The symbols of a trained kernel are those of the same code: its own profile makes it.
    """
    if not train:
        return Wanted()
    if found.given is None:
        return Wanted(sha256(), hindrance()) if found.archive and not aside else Wanted()
    of_base = found.base is not None and found.given.words == (f"--with {SYMBOLS}",)
    return _like_its_base(found.base.sha256) if found.base and of_base else Wanted()


def _like_its_base(source_sha256: str) -> Wanted:
    for kernel in store.installed():
        kept = kernel.folder / profile.FILE
        is_same = kernel.identity["source_sha256"] == source_sha256
        if is_same and kernel.identity["compiler"] == make.compiler() and kept.is_file():
            return Wanted(str(kernel.identity[TRAINED]), kept=kept)
    return Wanted()


def hindrance() -> str:
    """Why no kernel can be trained on this machine; nothing if one can."""
    from rushhour.lab.kernel.training import cells  # noqa: PLC0415 - to build takes no plans

    try:
        coverage.require()
        cells.require()
    except RushHourError as fault:
        return one_line(fault.message)
    return ""


def train(making: Make, wanted: Wanted, tell: Callable[[Step], None]) -> Trained:
    """Train the kernel in a build directory, where it was made as a plain one.

    What cannot be trained is a plain one again.
    """
    if not wanted.mark:
        return Trained()
    if wanted.hindrance:
        return Trained(hindrance=wanted.hindrance)
    keep_plain(making.place)
    try:
        made, files = (0, profile.unpack(wanted.kept)) if wanted.kept else _measured(making, tell)
        write(files, making.place)
        using = f"-fprofile-use={making.place / _FOLDER}"
        made += making.compile(
            _told(tell, "compiling with the profile"), _flags((using, *_USING), making.place)
        )
    except RushHourError as fault:
        put_back(making.place)
        making.compile(_told(tell, "compiling without it"))
        return Trained(hindrance=one_line(fault.message))
    kept = making.place / profile.FILE
    profile.pack(files, kept)
    return Trained({profile.FILE: kept}, {TRAINED: profile.sha256(files)}, made)


def _measured(making: Make, tell: Callable[[Step], None]) -> tuple[int, dict[str, bytes]]:
    """Objects that were made to count, and the profile of what the cells executed."""
    from rushhour.lab.kernel.training import cells  # noqa: PLC0415 - to build takes no plans

    how = _flags(_COUNTING, making.place)
    made = making.compile(_told(tell, "compiling with counters"), how, counts=True)
    runs = []
    for name, cell in cells.plans(scenarios()):
        tell(Step(f"running a cell: {name}"))
        runs.append(cells.carry_out(making.place / "linux", name, cell))
    files = profile.Profile(runs).files()
    if not files:
        raise KernelError("no object of this kernel counted")
    return made, files


def _told(tell: Callable[[Step], None], what: str) -> Callable[[int], None]:
    return lambda count: tell(Step(what, count))


def keep_plain(place: Path) -> None:
    """Keep the objects that will be trained as they are, with what kbuild noted of them."""
    put_back(place)
    for name in OBJECTS:
        for path in (place / name, _note(place / name)):
            if path.is_file():
                kept = place / _PLAIN / path.relative_to(place)
                kept.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, kept)


def put_back(place: Path) -> None:
    """Make the objects of a build directory plain ones again where they were kept; make then links anew."""
    kept = place / _PLAIN
    if not kept.is_dir():
        return
    for path in sorted(kept.rglob("*")):
        if path.is_file():
            shutil.copy2(path, place / path.relative_to(kept))
    for image in host.IMAGES:
        (place / image).unlink(missing_ok=True)
    shutil.rmtree(kept)
    shutil.rmtree(place / _FOLDER, ignore_errors=True)


def _note(path: Path) -> Path:
    return path.with_name(f".{path.name}.cmd")
