"""What is known of a fleet, in `~/.config/rushhour/fleet/NAME`: `fleet.toml`, and keys of whoever started it.

`fleet.toml` is written before any machine is asked for anything, so that `fleet down` knows all that could
have been started. The folder is its user's alone (0700), its files too (0600).
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import tomllib
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rushhour.errors import LabError, UsageError
from rushhour.files import places
from rushhour.fleet.certificates import Pair
from rushhour.fleet.tls import Certificates
from rushhour.lab import clock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FORMAT = "rushhour-fleet/1"
FILE = "fleet.toml"
SCHEDULER = "scheduler"
DEFAULT = "default"
AUTHORITY, AUTHORITY_KEY = "ca.pem", "ca-key.pem"
CERTIFICATE, KEY = "client.pem", "client-key.pem"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_HEAD = "# Written by `rushhour fleet up`. `rushhour fleet down` ends all of this and removes this folder.\n"


@dataclass(frozen=True)
class Member:
    """The scheduler, or the workers of one host.

    `state`: `asked` (something may run there), `up`, or `aside` (nothing runs; `why` and `hint` say why).
    """

    name: str
    at: str
    state: str = "asked"
    python: str = ""
    folder: str = ""
    pid: int = 0
    address: str = ""
    workers: int = 0
    memory: int = 0
    version: str = ""
    why: str = ""
    hint: str = ""


@dataclass(frozen=True)
class Fleet:
    """A fleet, as `fleet.toml` has it; `scheduler` is empty until it listens."""

    name: str
    id: str
    begun: str
    ends: str
    scheduler: str = ""
    ssh_config: str = ""
    members: dict[str, Member] = field(default_factory=dict)

    def with_(self, *members: Member) -> Fleet:
        """The same with these members added or replaced."""
        return replace(self, members=self.members | {one.name: one for one in members})

    def without(self, name: str) -> Fleet:
        """The same without a member."""
        return replace(self, members={key: one for key, one in self.members.items() if key != name})


def folder(name: str) -> Path:
    """The folder of a fleet, there or not.

    Raises:
        UsageError: the name is none.
    """
    if _NAME.fullmatch(name) is None:
        raise UsageError(
            f"{name!r} is no name of a fleet",
            hint="letters, digits, dots, dashes and underscores, at most 64",
        )
    return places.config("fleet", name)


def ended(fleet: Fleet) -> bool:
    """Whether its certificates are valid no more."""
    try:
        return clock.now() > datetime.fromisoformat(fleet.ends)
    except (TypeError, ValueError):  # nobody knows; whoever is called will say
        return False


def anew(name: str) -> str:
    """What to do about a fleet that cannot go on."""
    return f"`rushhour fleet down --name {name}`, then start it anew"


def certificates(name: str) -> Certificates:
    """The files with which a client of a fleet calls, there or not."""
    home = folder(name)
    return Certificates(home / AUTHORITY, home / CERTIFICATE, home / KEY)


def names() -> list[str]:
    """The fleets that are up, or were left half-started."""
    home = places.config("fleet")
    return sorted(path.parent.name for path in home.glob(f"*/{FILE}")) if home.is_dir() else []


def known(name: str) -> Fleet:
    """What is known of a fleet.

    Raises:
        UsageError: there is none of this name.
        LabError: its file cannot be read.
    """
    path = folder(name) / FILE
    try:
        document = _checked(tomllib.loads(path.read_text(encoding="utf-8")))
        members = {key: Member(key, **about) for key, about in document.get("member", {}).items()}
        keys = ("name", "id", "begun", "ends", "scheduler", "ssh_config")
        return Fleet(**{key: document[key] for key in keys}, members=members)
    except FileNotFoundError:
        others = names()
        hint = f"there is: {', '.join(others)}" if others else "`rushhour fleet up hosts.toml` starts one"
        raise UsageError(f"there is no fleet {name!r}", hint=hint) from None
    except (OSError, KeyError, TypeError, ValueError) as error:
        hint = f"by hand: remove {path.parent}, and end `rushhour.fleet.member` at its hosts"
        raise LabError(f"it cannot be read: {error}", where=str(path), hint=hint) from error


def keep(fleet: Fleet) -> None:
    """Write `fleet.toml`: whole or not at all."""
    about: dict[str, Any] = {key: value for key, value in asdict(fleet).items() if key != "members"}
    lines = [_HEAD, _line("format", FORMAT), *(_line(key, value) for key, value in about.items())]
    lines += [_line("ca", AUTHORITY), _line("certificate", CERTIFICATE), _line("key", KEY)]
    for member in fleet.members.values():
        lines.append(f"\n[member.{json.dumps(member.name)}]\n")
        lines += [_line(key, value) for key, value in asdict(member).items() if key != "name"]
    write(folder(fleet.name) / FILE, "".join(lines))


def write(path: Path, text: str) -> None:
    """Write a file that its owner alone may read."""
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    new.touch(mode=0o600, exist_ok=False)
    with new.open("w", encoding="utf-8") as sink:
        sink.write(text)
        sink.flush()
        os.fsync(sink.fileno())
    new.rename(path)


def write_pair(name: str, pair: Pair, certificate: str, key: str) -> None:
    """Keep a certificate and its key in the folder of a fleet."""
    write(folder(name) / key, pair.key)
    write(folder(name) / certificate, pair.certificate)


def read_pair(name: str, certificate: str, key: str) -> Pair:
    """A certificate and its key of the folder of a fleet.

    Raises:
        LabError: they are not there.
    """
    home = folder(name)
    try:
        return Pair((home / certificate).read_text(), (home / key).read_text())
    except OSError as error:
        raise LabError(
            f"a key of the fleet cannot be read: {error.strerror}",
            where=str(error.filename),
            hint=f"`rushhour fleet down --name {name}` ends what runs; then start it anew",
        ) from error


def forget(name: str) -> None:
    """Remove the folder of a fleet: keys first, so that what is left of it opens nothing."""
    home = folder(name)
    for path in sorted(home.glob("*key*")):
        path.unlink(missing_ok=True)
    shutil.rmtree(home, ignore_errors=True)


@contextmanager
def held(name: str) -> Iterator[Path]:
    """The folder of a fleet, made if need be, while no other command changes this fleet.

    Raises:
        UsageError: another command does.
    """
    home = folder(name)
    try:
        home.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        home.mkdir(exist_ok=True, mode=0o700)
        home.chmod(0o700)
    except OSError as error:
        hint = "XDG_CONFIG_HOME names another place"
        raise LabError(f"cannot be made: {error.strerror}", where=str(home), hint=hint) from error
    lock = os.open(home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UsageError(
            f"another command starts or ends the fleet {name!r} at this moment",
            hint="wait for it, or stop it",
        ) from None
    else:
        yield home
    finally:
        if not (home / FILE).exists():
            shutil.rmtree(home, ignore_errors=True)
            with suppress(OSError):  # other fleets are in it
                home.parent.rmdir()
        os.close(lock)


def _checked(document: dict[str, Any]) -> dict[str, Any]:
    if document["format"] != FORMAT:
        raise ValueError(f"its format is {document['format']!r}, not {FORMAT!r}")
    return document


def _line(key: str, value: str | int) -> str:
    # A JSON string is a TOML string, but for DEL.
    return f"{key} = {json.dumps(value, ensure_ascii=False)}\n".replace("\x7f", "\\u007f")
