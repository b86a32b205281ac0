"""Debian's archive read without apt, on systems of any kind: indexes and packages by HTTP, checked.

What is checked: the signature of each release's `InRelease`, by `gpgv` and the keys that come with this
program (`debian-keys.asc`) or that the machine has; by it the SHA-256 of the index of packages; by that the
SHA-256 of the package. Without a valid signature nothing is taken.
"""

from __future__ import annotations

import json
import os
import re
import time
from dataclasses import asdict, dataclass
from email.utils import parsedate_to_datetime
from functools import cmp_to_key
from itertools import zip_longest
from typing import TYPE_CHECKING

from rushhour.errors import KernelError
from rushhour.files.regular import checksum
from rushhour.lab.kernel import keys, process, store
from rushhour.lab.kernel.mirror import GoneError, Mirror, UnreachableError, fetch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import BinaryIO

    Tell = Callable[[str], None]

FRESH_S = 24 * 3600


@dataclass(frozen=True)
class Package:
    """A package of Debian's archive, as a signed index describes it."""

    name: str
    version: str
    url: str
    sha256: str


def find(name: str, mirrored: Mirror, tell: Tell) -> list[Package]:
    """All versions of a package in Debian's releases for x86-64, the newest first; read anew once a day.

    Args:
        name: the package.
        mirrored: where Debian's archive is.
        tell: told what takes long.

    Raises:
        KernelError: the archive could not be reached, or its signature could not be checked.
    """
    memory = store.cache("debian", f"{name}.json")
    with store.lock("debian", lambda: tell("waiting: another process reads Debian's archive")):
        known, fresh = _remembered(memory, mirrored)
        if not fresh:
            tell(f"reading Debian's archive at {mirrored.main}")
            found, complaints = _read(name, mirrored)
            if complaints and not found and not known:
                raise complaints[0]
            known = found or known
            if not any(isinstance(error, UnreachableError) for error in complaints):
                facts = {"mirror": mirrored.main, "packages": [asdict(one) for one in known]}
                memory.write_text(json.dumps(facts), encoding="utf-8")
    return sorted(known, key=_newest_first)


def download(package: Package, folder: Path) -> Path:
    """Fetch a package into a folder, check it and unpack it there; gives the folder of its files.

    Raises:
        KernelError: it could not be fetched, or is not what the index describes.
    """
    archive = folder / "package.deb"
    fetch(package.url, archive)
    if (found := checksum(archive)) != package.sha256:
        raise KernelError(
            f"the package is not the one that Debian's signed index describes: SHA-256 {found}",
            where=package.url,
            hint="a mirror or proxy changes what it hands out; name another: RUSHHOUR_DEBIAN_MIRROR",
        )
    data = _member(archive, folder)
    archive.unlink()
    files = folder / "unpacked"
    files.mkdir()
    process.run(["tar", "--extract", "--file", str(data), "--directory", str(files)], what="unpack")
    data.unlink()
    return files


def compared(one: str, other: str) -> int:
    """Order of two versions by Debian's rules: below 0 where the first is older, 0 where they are equal."""
    pairs = zip(_parts(one), _parts(other), strict=True)
    return next((found for mine, others in pairs if (found := _ordered(mine, others))), 0)


@cmp_to_key
def _newest_first(one: Package, other: Package) -> int:
    return compared(other.version, one.version)


def _remembered(memory: Path, mirrored: Mirror) -> tuple[list[Package], bool]:
    """What this mirror had when it was read last, and whether that was today."""
    try:
        facts = json.loads(memory.read_text(encoding="utf-8"))
        fresh = time.time() - memory.stat().st_mtime < FRESH_S
    except (OSError, ValueError):
        return [], False
    known = [Package(**one) for one in facts["packages"]] if facts["mirror"] == mirrored.main else []
    return known, bool(known) and fresh


def _read(name: str, mirrored: Mirror) -> tuple[list[Package], list[KernelError]]:
    """What all releases have, and what went wrong; a release that has left the mirror does no harm."""
    found: dict[str, Package] = {}
    complaints: list[KernelError] = []
    with store.scratch(store.cache("debian", "index")) as room:
        for base, suite in mirrored.suites():
            try:
                for package in _of_suite(name, base, suite, room):
                    found.setdefault(package.version, package)
            except GoneError:
                continue
            except UnreachableError as error:
                # The same holds for the others, and each try may take a minute.
                return [*found.values()], [*complaints, error]
            except KernelError as error:
                complaints.append(error)
    return [*found.values()], complaints


def _of_suite(name: str, base: str, suite: str, room: Path) -> Iterator[Package]:
    place = f"{base}/dists/{suite}"
    release = _release(place, room)
    index = "main/binary-amd64/Packages.xz"
    line = re.search(rf"^SHA256:\n(?: .*\n)*? ([0-9a-f]{{64}}) +\d+ {index}$", release, re.MULTILINE)
    if not line:
        return
    packed = room / "Packages.xz"
    by_hash = "Acquire-By-Hash: yes" in release
    path = f"{index.rpartition('/')[0]}/by-hash/SHA256/{line[1]}" if by_hash else index
    fetch(f"{place}/{path}", packed)
    if checksum(packed) != line[1]:
        raise KernelError("the index of packages is not the one that was signed", where=f"{place}/{index}")
    text = process.answer(["xz", "--decompress", "--stdout", str(packed)])
    stanzas = rf"^Package: {re.escape(name)}\n(.*?)(?:\n\n|\Z)"
    for stanza in re.findall(stanzas, text, re.MULTILINE | re.DOTALL):
        said = dict(re.findall(r"^(Version|Filename|SHA256): (\S+)$", stanza, re.MULTILINE))
        yield Package(name, said["Version"], f"{base}/{said['Filename']}", said["SHA256"])


def _release(place: str, room: Path) -> str:
    """The text of a release that its signature covers."""
    signed = room / "InRelease"
    fetch(f"{place}/InRelease", signed)
    text = keys.verified(signed, f"{place}/InRelease")
    until = re.search(r"^Valid-Until: (.*)$", text, re.MULTILINE)
    if until and parsedate_to_datetime(until[1]).timestamp() < time.time():
        raise KernelError(
            f"this release of Debian was valid until {until[1]}",
            where=f"{place}/InRelease",
            hint="is this machine's clock right? If so, RUSHHOUR_DEBIAN_MIRROR names another mirror",
        )
    return text


def _member(archive: Path, folder: Path) -> Path:
    """The files of a Debian package, as the archive in it (`data.tar.xz`)."""
    with archive.open("rb") as file:
        if file.read(8) != b"!<arch>\n":
            raise KernelError("this is not a Debian package", where=str(archive))
        while len(head := file.read(60)) == 60:
            name, size = head[:16].decode("ascii", "replace").strip(" /"), int(head[48:58])
            if name.startswith("data.tar"):
                target = folder / name
                with target.open("wb") as out:
                    _copy(file, out, size)
                return target
            file.seek(size + size % 2, os.SEEK_CUR)
    raise KernelError("this Debian package has no files", where=str(archive))


def _copy(source: BinaryIO, target: BinaryIO, size: int) -> None:
    while size and (data := source.read(min(size, 1 << 20))):
        target.write(data)
        size -= len(data)


def _parts(version: str) -> tuple[str, str, str]:
    epoch, colon, rest = version.partition(":")
    upstream, dash, revision = (rest if colon else version).rpartition("-")
    return (epoch if colon else "0", upstream, revision) if dash else (epoch if colon else "0", revision, "0")


def _ordered(one: str, other: str) -> int:
    """Order of two parts of versions: runs of other characters and numbers in turn."""
    mine, others = _RUNS.findall(one), _RUNS.findall(other)
    for (text, number), (text2, number2) in zip_longest(mine, others, fillvalue=("", "")):
        if (rank := _rank(text)) != (rank2 := _rank(text2)):
            return 1 if rank > rank2 else -1
        if int(number or 0) != int(number2 or 0):
            return 1 if int(number or 0) > int(number2 or 0) else -1
    return 0


_RUNS = re.compile(r"(?!$)(\D*)(\d*)")


def _rank(text: str) -> list[int]:
    """What orders a run that is no number: `~` before its end, letters before all else."""
    return [-1 if sign == "~" else ord(sign) if sign.isalpha() else ord(sign) + 256 for sign in text] + [0]
