"""Kernels compiled with a profile: built, run for a few cells, and compiled again for what these executed.

The compiler then lays out each function for the way that is mostly taken, and inlines what is called often.
That makes a packet cheaper; a run's events are the same. To count takes minutes, and need not be done for
the source and compiler whose profile comes with the program (`SHIPPED`). What is counted follows from source,
configuration, compiler and agent, as every run does, and so does the image.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import RushHourError
from rushhour.lab.kernel import coverage, host, kbuild, make, process, store
from rushhour.lab.kernel.sanitizers import SYMBOLS
from rushhour.lab.kernel.step import Step
from rushhour.lab.kernel.training import notes, profile
from rushhour.plain import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from rushhour.lab.kernel.make import Make
    from rushhour.lab.kernel.sources import Source
    from rushhour.lab.kernel.training.profile import Profile

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
_COUNTING = (
    "-fprofile-arcs", "-ftest-coverage", "-fprofile-update=single",
    "-fprofile-info-section=rushhour_coverage", "-fprofile-dir=.", "-frandom-seed=$@",
)  # fmt: skip
# What no run executed is compiled as it always is, not for size.
_USING = ("-fprofile-partial-training", "-Wno-coverage-mismatch", "-Wno-missing-profile")
_FOLDER, _PLAIN = "profile", "plain"
_DIGITS = 12
_NO_VERSION = 0x41302A2A  # "A0**"
SHIPPED = "gcc-12.json.xz"
"""The profile that comes with the program: of Debian's 6.12, by gcc 12."""
SHIPPED_SOURCE = "585a4a074597aefa2b1a68ada83a3184ba351c127544dea80618bbcceaa3961f"
"""The source of that kernel: Debian's 6.12.117-1~deb12u1."""


def sha256() -> str:
    """Hash of what of ours decides a trained kernel."""
    cells = "".join(text for _, text in scenarios())
    return hashlib.sha256(f"{OBJECTS}{_COUNTING}{_USING}{cells}".encode()).hexdigest()


def scenarios() -> list[tuple[str, str]]:
    """Names and texts of the cells that are run, in their order."""
    files = [one for one in resources.files(__name__).iterdir() if one.name.endswith(".toml")]
    return [(one.name, one.read_text(encoding="utf-8")) for one in sorted(files, key=lambda one: one.name)]


def shipped() -> Profile:
    """The profile that comes with the program."""
    return profile.unpack(resources.files(__name__).joinpath(SHIPPED).read_bytes(), SHIPPED)


def _flags(words: Iterable[str], place: Path, objects: Iterable[str] = OBJECTS) -> str:
    where = f"-fprofile-prefix-path={place}"
    return f"CFLAGS_KERNEL=$(if $(filter {' '.join(objects)},$@),{' '.join(words)} {where})"


@dataclass(frozen=True)
class Wanted:
    """How a source's kernel is to be trained.

    `mark` is what that adds to what decides its image: nothing for a plain one. `hindrance` says why it
    cannot be trained here. `kept` is a profile that is there already.
    """

    mark: str = ""
    hindrance: str = ""
    kept: Profile | None = None


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
        if not found.archive or aside:
            return Wanted()
        return _with_shipped(found) or Wanted(sha256(), hindrance())
    of_base = found.base is not None and found.given.words == (f"--with {SYMBOLS}",)
    return _like_its_base(found.base.sha256) if found.base and of_base else Wanted()


def _like_its_base(source_sha256: str) -> Wanted:
    for kernel in store.installed():
        kept = kernel.folder / profile.FILE
        is_same = kernel.identity["source_sha256"] == source_sha256
        if is_same and kernel.identity["compiler"] == make.compiler() and kept.is_file():
            return Wanted(str(kernel.identity[TRAINED]), kept=profile.unpack(kept.read_bytes(), str(kept)))
    return Wanted()


def _with_shipped(found: Source) -> Wanted | None:
    """The program's profile, for its very source alone.

    Of another one a function can have other branches and the same checksum, which the compiler refuses.
    """
    if found.sha256 != SHIPPED_SOURCE:
        return None
    there = shipped()
    if profile.major(_version()) != there.gcc:
        return None
    return Wanted(hashlib.sha256(f"{there.sha256()}{_USING}".encode()).hexdigest(), kept=there)


@cache
def _version() -> int:
    """The compiler's version as it writes it into its notes; of a program that is none, that of gcc 0."""
    with tempfile.TemporaryDirectory(prefix="rushhour-notes-") as folder:
        words = ["gcc", "-ftest-coverage", "-x", "c", "-c", "-", "-o", "one.o"]
        process.answer(words, text="int one(void) { return 1; }\n", cwd=Path(folder), default="")
        try:
            return notes.version(Path(folder, "one.gcno").read_bytes())
        except (OSError, ValueError):
            return _NO_VERSION


def hindrance() -> str:
    """Why no kernel can be trained on this machine; nothing if one can."""
    from rushhour.lab.kernel.training import cells  # noqa: PLC0415 - to build takes no plans

    try:
        coverage.require()
        cells.require()
    except RushHourError as fault:
        return one_line(fault.message)
    return ""


def ready(making: Make, wanted: Wanted) -> str | None:
    """What make is told for a profile that is there already; it is put into the build directory before."""
    return None if wanted.kept is None else _using(making, wanted.kept)


def _using(making: Make, one: Profile) -> str:
    """Put a profile where the compiler is told to look for it: in a folder that is called after its hash."""
    folder = making.place / f"{_FOLDER}-{one.sha256()[:_DIGITS]}"
    for old in making.place.glob(f"{_FOLDER}-*"):
        shutil.rmtree(old)
    folder.mkdir()
    for name, data in one.files(str(making.tree), _version()).items():
        (folder / name).write_bytes(data)
    objects = [f"{name}.o" for name in one.objects]
    return _flags((f"-fprofile-use={folder}", *_USING), making.place, objects)


def train(making: Make, wanted: Wanted, tell: Callable[[Step], None]) -> Trained:
    """Train the kernel in a build directory, where it was made as a plain one, or with what was `ready`.

    What cannot be trained is a plain one again.
    """
    if wanted.kept:
        return _as_trained(making, wanted.kept, 0)
    if not wanted.mark:
        return Trained()
    if wanted.hindrance:
        return Trained(hindrance=wanted.hindrance)
    keep_plain(making.place)
    try:
        made, one = _measured(making, tell)
        made += making.compile(_told(tell, "compiling with the profile"), _using(making, one))
    except RushHourError as fault:
        put_back(making.place)
        making.compile(_told(tell, "compiling without it"))
        return Trained(hindrance=one_line(fault.message))
    return _as_trained(making, one, made)


def _as_trained(making: Make, one: Profile, made: int) -> Trained:
    kept = making.place / profile.FILE
    profile.pack(one, kept)
    return Trained({profile.FILE: kept}, {TRAINED: one.sha256()}, made)


def _measured(making: Make, tell: Callable[[Step], None]) -> tuple[int, Profile]:
    """Objects that were made to count, and the profile of what the cells executed."""
    from rushhour.lab.kernel.training import cells  # noqa: PLC0415 - to build takes no plans

    how = _flags(_COUNTING, making.place)
    made = making.compile(_told(tell, "compiling with counters"), how, counts=True)
    noted = {
        name.removesuffix(".o"): (making.place / name).with_suffix(".gcno").read_bytes()
        for name in OBJECTS
        if (making.place / name).with_suffix(".gcno").is_file()
    }
    runs = []
    for name, cell in cells.plans(scenarios()):
        tell(Step(f"running a cell: {name}"))
        runs.append(cells.carry_out(making.place / "linux", name, cell))
    return made, profile.added(runs, noted, str(making.tree))


def _told(tell: Callable[[Step], None], what: str) -> Callable[[int], None]:
    return lambda count: tell(Step(what, count))


def keep_plain(place: Path) -> None:
    """Keep the objects that will be trained as they are, with what kbuild noted of them."""
    put_back(place)
    for name in OBJECTS:
        for path in (place / name, kbuild.note(place / name)):
            if path.is_file():
                kept = place / _PLAIN / path.relative_to(place)
                kept.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, kept)


def leave_plain(making: Make, tell: Callable[[Step], None]) -> None:
    """Make a build directory the plain kernel's again, for whoever compiles or links in it next."""
    put_back(making.place)
    making.compile(_told(tell, "compiling as without a profile"))


def put_back(place: Path) -> None:
    """Make the objects of a build directory plain ones again where they were kept; make then links anew.

    Others are compiled again, for the profile that their command names is not there any more.
    """
    for folder in place.glob(f"{_FOLDER}-*"):
        shutil.rmtree(folder, ignore_errors=True)
    kept = place / _PLAIN
    if not kept.is_dir():
        return
    for path in sorted(kept.rglob("*")):
        if path.is_file():
            shutil.copy2(path, place / path.relative_to(kept))
    for image in host.IMAGES:
        (place / image).unlink(missing_ok=True)
    shutil.rmtree(kept)
