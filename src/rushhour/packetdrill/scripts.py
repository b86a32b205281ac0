"""Which scripts there are, and what they need beside them.

A script names other files by paths relative to its own folder (`../../common/defaults.sh`). So the guest gets
a tree: the scripts, the files that they name, and the shell and Python scripts beside those; its top is the
deepest folder above all of it.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from rushhour.errors import UsageError
from rushhour.spec.keys import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

PLACE = "scripts"
"""Where the tree lies in the guest."""
_NAMED = re.compile(r"(?:\.{1,2}/)+[\w./+-]+")
_OPTION = re.compile(r"^(--\w+=\S+)$", re.MULTILINE)
_VERSION = "--ip_version"
_REMOTE = "--remote_ip"
# A further address of an end, in the language of MPTCP's packetdrill: `addr[caddr1]`.
_FURTHER = re.compile(r"\baddr\[[cs]addr[1-9]")
_ADDRESSES = {"--local_ip", "--gateway_ip", "--netmask_ip", "--remote_ip"}
_HELPERS = (".sh", ".py")
_LARGEST = 1 << 20
_MOST_FILES = 20_000

VARIANTS: Mapping[str, tuple[str, ...]] = {
    "ipv4": (
        "--ip_version=ipv4",
        *("--local_ip=192.168.0.1", "--gateway_ip=192.168.0.1", "--netmask_ip=255.255.0.0"),
        "--remote_ip=192.0.2.1",
        *("-D", "TFO_COOKIE=3021b9d889017eeb", "-D", "TFO_COOKIE_ZERO=b7c12350a90dc8f5"),
        *("-D", "CODE=host_unreachable"),
        *("-D", "CMSG_LEVEL_IP=SOL_IP", "-D", "CMSG_TYPE_RECVERR=IP_RECVERR"),
    ),
    "ipv6": (
        *("--ip_version=ipv6", "--mtu=1520"),
        *("--local_ip=fd3d:0a0b:17d6::1", "--gateway_ip=fd3d:0a0b:17d6:8888::1"),
        "--remote_ip=fd3d:fa7b:d17d::1",
        *("-D", "TFO_COOKIE=c1d1e9742a47a9bc", "-D", "TFO_COOKIE_ZERO=82af1a8f9a205c34"),
        *("-D", "CMSG_LEVEL_IP=SOL_IPV6", "-D", "CMSG_TYPE_RECVERR=IPV6_RECVERR"),
    ),
    "mapped": (
        "--ip_version=ipv4-mapped-ipv6",
        *("--local_ip=192.168.0.1", "--gateway_ip=192.168.0.1", "--netmask_ip=255.255.0.0"),
        "--remote_ip=192.0.2.1",
        *("-D", "TFO_COOKIE=3021b9d889017eeb", "-D", "TFO_COOKIE_ZERO=b7c12350a90dc8f5"),
        *("-D", "CODE=host_unreachable"),
        *("-D", "CMSG_LEVEL_IP=SOL_IPV6", "-D", "CMSG_TYPE_RECVERR=IPV6_RECVERR"),
    ),
}
"""The addresses that scripts are written for, and the symbols they use, by what is between the two ends."""
NETWORKS: Mapping[str, str] = {"ipv4": "/24", "ipv6": "/64", "mapped": "/24"}
"""The prefix of the peer's network where it has further addresses: without it only one has a route."""


@dataclass(frozen=True, order=True)
class Script:
    """A script: its path below the tree's top, with slashes.

    `options` are those that it gives itself, `--NAME=VALUE` at the begin of a line: they count, not those of
    the addresses, which packetdrill would prefer. `further`: an end has more addresses than one.
    """

    path: str
    options: tuple[str, ...] = ()
    further: bool = False

    @property
    def folder(self) -> str:
        """Where it runs, in the guest."""
        return str(PurePosixPath("/", PLACE, self.path).parent)

    @property
    def file(self) -> str:
        """Its name there."""
        return PurePosixPath(self.path).name

    def takes(self, variant: str) -> bool:
        """Whether it is written for this variant.

        One that says `--ip_version` is for that only; else one whose name ends in `v4` or `v6`, or that gives
        addresses of its own.
        """
        if versions := [value for name, _, value in self._split() if name == _VERSION]:
            return f"{_VERSION}={versions[-1]}" in VARIANTS[variant]
        stem = PurePosixPath(self.path).stem
        given = [value for name, _, value in self._split() if name in ("--local_ip", "--remote_ip")]
        six = stem.endswith("v6") or any(":" in address for address in given)
        four = stem.endswith("v4") or any("." in address and ":" not in address for address in given)
        return not (six and variant != "ipv6") and not (four and variant == "ipv6")

    def words(self, variant: str) -> list[str]:
        """What packetdrill is told of a variant, without what the script says itself.

        Addresses belong together: where it gives one, the others are packetdrill's own.
        """
        own = {name for name, _, _ in self._split()}
        own |= _ADDRESSES if own & _ADDRESSES else set()
        words = [word for word in VARIANTS[variant] if word.partition("=")[0] not in own]
        network = NETWORKS[variant] if self.further else ""
        return [word + network if word.startswith(f"{_REMOTE}=") else word for word in words]

    def _split(self) -> list[tuple[str, str, str]]:
        return [option.partition("=") for option in self.options]


@dataclass(frozen=True)
class Tree:
    """Scripts, and all files that a guest gets for them, by path below the top."""

    scripts: tuple[Script, ...]
    files: Mapping[str, Path]

    def laid_out(self) -> dict[str, Path]:
        """The files by their path in the guest."""
        return {f"{PLACE}/{place}": path for place, path in self.files.items()}


def find(paths: Sequence[Path]) -> Tree:
    """Find scripts: files as they are, folders with all `.pkt` files below them.

    Raises:
        UsageError: a path is not there, or no script is found, or more files than a guest can be given.
    """
    found: dict[Path, None] = {}
    for path in paths:
        found.update(dict.fromkeys(_below(path)))
    if not found:
        where = ", ".join(map(str, paths))
        raise UsageError(
            "there is no script (*.pkt)", where=where, hint="name a .pkt file or a folder of them"
        )
    files = _with_named(found)
    if len(files) > _MOST_FILES:
        raise UsageError(f"these are {len(files)} files", hint="name a deeper folder")
    top = Path(os.path.commonpath([path.parent for path in files]))
    places = {path.relative_to(top).as_posix(): path for path in files}
    return Tree(tuple(sorted(_script(path, top) for path in found)), places)


def _script(path: Path, top: Path) -> Script:
    text = path.read_text(encoding="utf-8", errors="replace")
    further = _FURTHER.search(text) is not None
    return Script(path.relative_to(top).as_posix(), tuple(_OPTION.findall(text)), further)


def _below(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from sorted(_whole(one) for one in path.rglob("*.pkt") if one.is_file())
    elif path.is_file():
        yield _whole(path)
    else:
        beside = sorted(str(one) for one in path.parent.glob("*") if one.is_dir() or one.suffix == ".pkt")
        hint = nearest(str(path), beside, "there is") if beside else None
        raise UsageError("there is no such file or folder", where=str(path), hint=hint)


def _whole(path: Path) -> Path:
    return Path(os.path.normpath(path.absolute()))


def _with_named(scripts: Iterable[Path]) -> list[Path]:
    """Scripts, the files that they name, and the shell and Python scripts beside those."""
    files: dict[Path, None] = {}
    waiting = list(scripts)
    while waiting:
        path = waiting.pop()
        if path in files or not path.is_file() or path.stat().st_size > _LARGEST:
            continue
        files[path] = None
        for name in _names(path):
            named = Path(os.path.normpath(path.parent / name))
            if named.is_file():
                waiting += [named, *(one for one in named.parent.iterdir() if one.suffix in _HELPERS)]
    return sorted(files)


def _names(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8", errors="replace")
    return [name for name in _NAMED.findall(text) if not name.endswith("/")]
