"""Kernel sources as Debian packages, `linux-source-X.Y`, installed or not, without privileges."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import KernelError
from rushhour.lab.kernel import process, store

if TYPE_CHECKING:
    from collections.abc import Callable

    Tell = Callable[[str], None]

MIRROR = "http://deb.debian.org"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# Where kernels are that this machine's own release does not have. One that has left the mirror does no harm.
_RELEASES = ("bullseye", "bookworm", "trixie")
_SUITES = (*_RELEASES, f"{_RELEASES[-1]}-backports", "unstable")
_FRESH_S = 24 * 3600


def tarball(spec: str, series: str, version: str | None, tell: Tell) -> tuple[Path, str]:
    """The tarball of a kernel series and its package version, downloaded now if it is not there.

    Args:
        spec: the source as it was typed, for messages.
        series: X.Y.
        version: the package's version; None: the installed one, else the newest that can be had.
        tell: told what takes long.

    Raises:
        KernelError: no Debian release has it, with the versions that there are.
    """
    package = f"linux-source-{series}"
    path = Path(f"/usr/src/{package}.tar.xz")
    installed = _installed(package)
    if installed and path.is_file() and version in {None, installed}:
        return path, installed
    known = _versions(package, apt := [])
    if not known or version not in {None, *known}:
        known = _versions(package, apt := _elsewhere(tell))
    if known and version in {None, *known}:
        return _download(package, version or known[0], apt, tell)
    asked = f"{package} {version}" if version else package
    if known:
        raise KernelError(f"{asked} is not there; there are {', '.join(known)}", where=spec)
    raise KernelError(
        f"{asked} is not in this machine's package lists nor at {MIRROR}",
        where=spec,
        hint="is the network there? A kernel that Debian does not have can be built from a tarball",
    )


def _installed(package: str) -> str | None:
    query = ["dpkg-query", "--show", "--showformat=${db:Status-Status} ${Version}", package]
    status, _, version = process.answer(query, default="").partition(" ")
    return version.strip() if status == "installed" else None


def _versions(package: str, apt: list[str]) -> list[str]:
    """The versions that apt knows, the newest first."""
    listing = process.answer(["apt-cache", *apt, "madison", package], default="")
    return list(dict.fromkeys(re.findall(r"\| *(\S+) *\|.*Packages$", listing, re.MULTILINE)))


def _elsewhere(tell: Tell) -> list[str]:
    """Options that make apt look at every release of Debian, with lists of its own in our cache."""
    if not Path(KEYRING).is_file():
        return []
    room = store.cache("apt", "sources.list").parent
    line = f"deb [signed-by={KEYRING}] {MIRROR}"
    lines = [f"{line}/debian {suite} main" for suite in _SUITES]
    lines += [f"{line}/debian-security {release}-security main" for release in _RELEASES]
    (room / "sources.list").write_text("\n".join(lines) + "\n")
    (room / "lists/partial").mkdir(parents=True, exist_ok=True)
    settings = {
        "Dir::Etc::sourcelist": room / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State::lists": room / "lists",
        "Dir::Cache": room / "cache",
        "Acquire::Languages": "none",
        "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
        "APT::Sandbox::User": "",
    }
    options = [f"-o{key}={value}" for key, value in settings.items()]
    stamp = room / "updated"
    with store.lock("apt", lambda: tell("waiting: another process reads Debian's package lists")):
        if not stamp.is_file() or time.time() - stamp.stat().st_mtime > _FRESH_S:
            tell("reading the package lists of Debian's other releases")
            # A release that is gone makes apt-get fail although all others were read.
            process.answer(["apt-get", *options, "update"], default="")
            if any((room / "lists").glob("*_Packages*")):
                stamp.touch()
    return options


def _download(package: str, version: str, apt: list[str], tell: Tell) -> tuple[Path, str]:
    """Fetch the package into the cache and take the tarball out of it."""
    target = store.cache("sources", f"{package}_{re.sub('[^A-Za-z0-9.+~-]', '-', version)}.tar.xz")
    with store.lock(target.name, lambda: tell("waiting: another process downloads this")):
        if target.is_file():
            return target, version
        with store.scratch(target) as room:
            tell(f"downloading {package} {version}")
            process.run(["apt-get", *apt, "download", f"{package}={version}"], cwd=room, what="download")
            archive = next(room.glob("*.deb"))
            process.run(["dpkg-deb", "--extract", archive.name, "unpacked"], cwd=room, what="unpack")
            next(room.glob("unpacked/usr/src/linux-source-*.tar.xz")).rename(target)
    return target, version
