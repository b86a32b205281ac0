"""Kernel sources as Debian packages, `linux-source-X.Y`, installed or not, on any system, without privileges.

Where there is apt it fetches and checks them; elsewhere `archive` does.
"""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import KernelError
from rushhour.lab.kernel import archive, keys, process, store
from rushhour.lab.kernel.mirror import VARIABLE, mirror

if TYPE_CHECKING:
    from collections.abc import Callable

    Tell = Callable[[str], None]

_APT = ("apt-get", "apt-cache", "dpkg-deb")


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
    with_apt = all(map(shutil.which, _APT)) and " " not in str(store.cache("apt"))
    return (_by_apt if with_apt else _by_archive)(spec, package, version, tell)


def _by_apt(spec: str, package: str, version: str | None, tell: Tell) -> tuple[Path, str]:
    known = _versions(package, [])
    if version in {None, *known} and known:
        try:
            return _downloaded(package, version or known[0], [], tell)
        except KernelError:
            # The machine's lists are from before that version left its mirror.
            tell("this machine's package lists are old")
    options, complaint = _elsewhere(tell)
    known = _versions(package, options)
    if version not in {None, *known} or not known:
        raise _absent(spec, package, version, known, complaint)
    return _downloaded(package, version or known[0], options, tell)


def _downloaded(package: str, version: str, options: list[str], tell: Tell) -> tuple[Path, str]:
    def fetch(room: Path) -> Path:
        process.run(["apt-get", *options, "download", f"{package}={version}"], cwd=room, what="download")
        found = next(room.glob("*.deb"))
        process.run(["dpkg-deb", "--extract", found.name, "unpacked"], cwd=room, what="unpack")
        return room / "unpacked"

    return _kept(package, version, fetch, tell), version


def _by_archive(spec: str, package: str, version: str | None, tell: Tell) -> tuple[Path, str]:
    known = archive.find(package, mirror("https"), tell)
    chosen = next((one for one in known if version in {None, one.version}), None)
    if chosen is None:
        raise _absent(spec, package, version, [one.version for one in known], "")

    def fetch(room: Path) -> Path:
        return archive.download(chosen, room)

    return _kept(package, chosen.version, fetch, tell), chosen.version


def _absent(spec: str, package: str, version: str | None, known: list[str], complaint: str) -> KernelError:
    asked = f"{package} {version}" if version else package
    if known:
        return KernelError(f"{asked} is not there; there are {', '.join(known)}", where=spec)
    if complaint:
        hint = f"is the network there? apt's own settings name a proxy, {VARIABLE} another mirror"
        return KernelError(f"Debian's archive could not be read: {complaint}", where=spec, hint=hint)
    return KernelError(
        f"no release of Debian at {mirror('http').main} has {asked}",
        where=spec,
        hint="a kernel that Debian does not have can be built from a tarball",
    )


def _installed(package: str) -> str | None:
    query = ["dpkg-query", "--show", "--showformat=${db:Status-Status} ${Version}", package]
    status, _, version = process.answer(query, default="").partition(" ")
    return version.strip() if status == "installed" else None


def _versions(package: str, apt: list[str]) -> list[str]:
    """The versions that apt knows, the newest first."""
    listing = process.answer(["apt-cache", *apt, "madison", package], default="")
    return list(dict.fromkeys(re.findall(r"\| *(\S+) *\|.*Packages$", listing, re.MULTILINE)))


def _elsewhere(tell: Tell) -> tuple[list[str], str]:
    """Options that make apt look at every release of Debian, with lists in our cache; and its complaint."""
    # By http: a bare system has no certificates, and the signatures are what is believed.
    mirrored = mirror("http")
    room = store.cache("apt", "sources.list").parent
    lines = [f"deb [signed-by={keys.keyring()}] {base} {suite} main" for base, suite in mirrored.suites()]
    sources = "\n".join(lines) + "\n"
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
        same = stamp.is_file() and (room / "sources.list").read_text() == sources
        if same and time.time() - stamp.stat().st_mtime < archive.FRESH_S:
            return options, ""
        (room / "sources.list").write_text(sources)
        stamp.unlink(missing_ok=True)
        tell("reading the package lists of Debian's other releases")
        # A release that is gone makes apt-get fail although all others were read.
        complaint = process.complaint(["apt-get", *options, "update"])
        if any((room / "lists").glob("*_Packages*")):
            stamp.touch()
    return options, complaint


def _kept(package: str, version: str, fetch: Callable[[Path], Path], tell: Tell) -> Path:
    """The tarball of a package in the cache; `fetch` unpacks a package that is not there into a folder."""
    target = store.cache("sources", f"{package}_{re.sub('[^A-Za-z0-9.+~-]', '-', version)}.tar.xz")
    with store.lock(target.name, lambda: tell("waiting: another process downloads this")):
        if not target.is_file():
            tell(f"downloading {package} {version}")
            with store.scratch(target) as room:
                next(fetch(room).glob("usr/src/linux-source-*.tar.xz")).rename(target)
    return target
