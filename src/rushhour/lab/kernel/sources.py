"""Where a kernel's source comes from: a Debian package, a tarball, a directory, a git revision.

Every kind ends as a directory in the cache and a hash of its content: unpacked archives, exported revisions
and copies of people's directories are kept there, so that the next build of the same tree only compiles what
changed. What people have is only read.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import KernelError
from rushhour.files.regular import checksum
from rushhour.lab import cpus
from rushhour.lab.kernel import debian, git, process, store, workcopy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rushhour.lab.kernel.diff import Edits
    from rushhour.lab.kernel.given import Given

    Tell = Callable[[str], None]

ARCHIVES = (".tar.xz", ".tar.gz", ".tgz", ".tar.bz2", ".tar.zst", ".tar")
# Directories of a kernel tree that cannot reach an image of this architecture.
_UNBUILT = ("Documentation", "LICENSES", "samples", ".git")
_BUILT_ARCHITECTURES = ("um", "x86")
# Folders of which our configuration compiles nothing: their makefiles and Kconfig are read, but no source.
# They are two thirds of a tree, so they are not unpacked.
_UNREAD = (
    *(f"drivers/{name}" for name in ("accel", "clk", "gpu", "hwmon", "iio", "infiniband", "media", "mtd")),
    *(f"drivers/{name}" for name in ("net/ethernet", "net/wireless", "pinctrl", "platform", "scsi")),
    *(f"drivers/{name}" for name in ("staging", "usb", "video")),
    *("sound/pci", "sound/soc", "tools/perf", "tools/testing"),
)
_UNREAD_BELOW = tuple(f"{folder}/" for folder in _UNREAD)
_SOURCE = (".c", ".h", ".S")
# As tar's patterns: the above, documentation, and the architectures but two.
_PACKED = (
    *(f"{folder}/*.[chS]" for folder in (*_UNREAD, "arch/[!ux]*")),
    *("arch/[!ux]*/*.dts*", "tools/*.json", "tools/testing/*"),
    *(f"Documentation/*.{suffix}" for suffix in ("rst", "svg", "txt", "yaml")),
)


@dataclass(frozen=True)
class Source:
    """A kernel source on this machine.

    `key` names the build directory: the same for everything that is the same tree at different moments.
    `sha256` is the hash of the content, `facts` what a record says about the origin (no paths). A source to
    which something is `given` has its `base`, and `edits` of the base's tree (`variant`).
    """

    spec: str
    name: str
    key: str
    sha256: str
    facts: dict[str, str] = field(default_factory=dict)
    tree: Path | None = None
    archive: Path | None = None
    repository: Path | None = None
    base: Source | None = None
    given: Given | None = None
    edits: Callable[[Path], Edits] | None = None

    def check(self) -> None:
        """Refuse what cannot be built, before anything is done for it.

        Raises:
            KernelError: the tree holds the products of a build.
        """
        if self.base:
            self.base.check()
        if self.tree:
            _refuse_built(self.tree)

    def directory(self) -> Path:
        """The tree as a directory, unpacked, exported or copied now if need be. Hold the lock of `key`."""
        self.check()
        if self.base and self.edits:
            return _edited(self.base.directory(), self.key, self.edits)
        if self.archive:
            return _unpack(self.archive, self.key)
        if self.repository:
            return git.export(self.repository, self.facts["commit"], self.key)
        if not self.tree:
            raise KernelError(
                "this source has neither a tree, nor an archive, nor a repository", where=self.spec
            )
        copy = store.cache("sources", self.key)
        workcopy.bring(self.tree, copy, (name for name in built_from(self.tree) if not _unread(name)))
        return copy


def resolve(spec: str, tell: Tell) -> Source:
    """Find out what `spec` means; nothing is unpacked yet.

    Args:
        spec: `debian:X.Y`, `debian:X.Y@VERSION`, a tarball, a directory, or `DIRECTORY@REVISION`.
        tell: told what takes long.

    Raises:
        KernelError: there is no such thing, with what would be accepted.
    """
    if spec.startswith("debian:"):
        return _debian(spec, tell)
    path = Path(spec).expanduser()
    if path.is_file():
        return _tarball(spec, path)
    if path.is_dir():
        return _directory(spec, path)
    tree, at, revision = spec.rpartition("@")
    if at and Path(tree).expanduser().is_dir():
        return _revision(spec, Path(tree).expanduser(), revision)
    raise KernelError(
        "no such kernel source",
        where=spec,
        hint="a source is debian:6.12, debian:6.12@VERSION, a tarball, a directory, or DIRECTORY@REVISION",
    )


def _debian(spec: str, tell: Tell) -> Source:
    match = re.fullmatch(r"debian:(\d+\.\d+)(?:@([A-Za-z0-9.+~:-]+))?", spec)
    if not match:
        raise KernelError("not a Debian kernel", where=spec, hint="write debian:6.12 or debian:6.12@VERSION")
    series, version = match.groups()
    tarball, version = debian.tarball(spec, series, version, tell)
    sha256 = checksum(tarball)
    package = f"linux-source-{series}"
    name = f"debian-{series}" if "@" not in spec else f"debian-{series}-{_safe(version)}"
    facts = {"kind": "debian", "package": package, "version": version}
    return Source(spec, name, f"{package}-{sha256[:12]}", sha256, facts, archive=tarball)


def _tarball(spec: str, path: Path) -> Source:
    suffix = next((end for end in ARCHIVES if path.name.endswith(end)), None)
    if not suffix:
        raise KernelError(
            "not an archive that is known here", where=spec, hint=f"one of {', '.join(ARCHIVES)}"
        )
    sha256 = checksum(path)
    name = _safe(path.name.removesuffix(suffix))
    facts = {"kind": "tarball", "file": path.name}
    return Source(spec, name, f"{name}-{sha256[:12]}", sha256, facts, archive=path.resolve())


def _directory(spec: str, path: Path) -> Source:
    tree = path.resolve()
    if not (tree / "Kconfig").is_file() or not (tree / "Makefile").is_file():
        raise KernelError(
            "this directory is not a kernel source: it has no Makefile or no Kconfig",
            where=spec,
            hint="for a bare repository name the revision too: DIRECTORY@REVISION",
        )
    facts = {"kind": "tree", "directory": tree.name}
    sha256 = hash_tree(tree)
    if (tree / ".git").exists():
        facts["commit"] = process.answer(
            ["git", "-C", str(tree), "rev-parse", "HEAD"], default="unknown"
        ).strip()
    return Source(spec, _safe(tree.name), f"tree-{_short(str(tree))}", sha256, facts, tree=tree)


def _revision(spec: str, path: Path, revision: str) -> Source:
    repository = git.directory(path)
    commit = git.commit(path, revision)
    if not commit:
        raise KernelError(
            f"the repository has no revision {revision}", where=spec, hint=f"try: git -C {path} log"
        )
    content = git.ask(path, "rev-parse", f"{commit}^{{tree}}").strip()
    sha256 = hashlib.sha256(f"git tree {content}".encode()).hexdigest()
    facts = {"kind": "git", "revision": revision, "commit": commit}
    name = _safe(f"{path.resolve().name}-{revision}")
    return Source(spec, name, f"git-{_short(str(repository))}", sha256, facts, repository=repository)


def _edited(tree: Path, key: str, edits: Callable[[Path], Edits]) -> Path:
    """A tree beside this one in which some files are otherwise; begun by hard links, then kept up to date."""
    target, made = store.cache("sources", key), edits(tree)
    if not target.is_dir():
        workcopy.clone(tree, target)
    workcopy.bring(tree, target, workcopy.every(tree), made)
    return target


def _unpack(archive: Path, key: str) -> Path:
    target = store.cache("sources", key)
    if target.is_dir():
        return target
    with store.scratch(target) as room:
        left_out = [f"--exclude={pattern}" for pattern in _PACKED]
        command = ["tar", "--extract", "--file", str(archive), "--directory", str(room), *left_out]
        process.run(command, what="unpack")
        tops = [entry for entry in room.iterdir() if (entry / "Kconfig").is_file()]
        if not tops:
            raise KernelError("the archive holds no kernel source", where=str(archive))
        tops[0].rename(target)
    return target


def _refuse_built(tree: Path) -> None:
    # The kernel's own rule: a tree that holds the products of an in-tree build cannot be built elsewhere.
    for trace in (".config", "include/config", "arch/um/include/generated", "arch/x86/include/generated"):
        if (tree / trace).exists():
            raise KernelError(
                f"the source tree contains the products of a build ({trace})",
                where=str(tree),
                hint=f"save your .config if you need it, then: make -C {tree} mrproper",
            )


def hash_tree(tree: Path) -> str:
    """Hash of a source tree's names and contents (not of its dates), without what cannot reach an image."""
    paths = sorted(_files(tree, ""))
    batches = [paths[start : start + 500] for start in range(0, len(paths), 500)]
    total = hashlib.sha256()
    with ThreadPoolExecutor(len(cpus.own())) as pool:
        for entries in pool.map(lambda names: b"".join(_entry(tree, name) for name in names), batches):
            total.update(entries)
    return total.hexdigest()


def _entry(tree: Path, name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape") + b"\0" + _digest(tree, name)


def _digest(tree: Path, name: str) -> bytes:
    path = os.path.join(tree, name)  # noqa: PTH118 - 90 000 times: Path objects cost seconds
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError as fault:
        if fault.errno != errno.ELOOP:
            raise
        return b"l" + os.fsencode(os.readlink(path)) + b"\0"  # noqa: PTH115
    with open(descriptor, "rb", buffering=0) as file:  # noqa: PTH123
        mode = b"x" if os.fstat(descriptor).st_mode & 0o100 else b"-"
        return mode + hashlib.blake2b(file.read(), digest_size=32).digest()


def _files(tree: Path, below: str) -> Iterator[str]:
    with os.scandir(tree / below) as entries:
        for entry in entries:
            name = f"{below}/{entry.name}" if below else entry.name
            if entry.is_dir(follow_symlinks=False):
                if name not in _UNBUILT and not _foreign(name):
                    yield from _files(tree, name)
            elif entry.is_symlink() or entry.is_file():
                yield name


def _foreign(name: str) -> bool:
    head, _, architecture = name.partition("/")
    return (
        head == "arch"
        and bool(architecture)
        and "/" not in architecture
        and architecture not in _BUILT_ARCHITECTURES
    )


def _unread(name: str) -> bool:
    return name.endswith(_SOURCE) and name.startswith(_UNREAD_BELOW)


def is_left_out(name: str) -> bool:
    """Whether a file, by its path in a tree, is none that a build of ours reads."""
    parts = name.split("/")
    architecture = parts[0] == "arch" and len(parts) > 2 and _foreign("/".join(parts[:2]))
    documents = parts[0] in _UNBUILT or name.startswith("tools/testing/")
    return not parts[-1].startswith("Kconfig") and (documents or architecture or _unread(name))


def built_from(tree: Path) -> Iterator[str]:
    """The files of a tree that a build reads, and more: all but what `_UNBUILT` and `_foreign` leave out.

    Kconfig, however, reads its files of documentation, samples and other architectures as well.
    """
    yield from _files(tree, "")
    others = [name.name for name in (tree / "arch").iterdir()] if (tree / "arch").is_dir() else []
    left_out = [*_UNBUILT, *(f"arch/{name}" for name in others if _foreign(f"arch/{name}"))]
    for name in left_out:
        yield from (str(path.relative_to(tree)) for path in (tree / name).rglob("Kconfig*") if path.is_file())


def _safe(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", text).strip("-.") or "kernel"


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
