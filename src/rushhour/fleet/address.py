"""What `--on` says: where the scheduler is, or what starts workers.

Takes a word, gives an `Address`; nothing is contacted.

    tcp://HOST:PORT      a scheduler that anybody may use who reaches it
    tls://HOST:PORT      one that asks for certificates: those of Dask's own configuration
    fleet:NAME           a fleet that `rushhour fleet up` started: its address and certificates by its name
    ssh:FILE             hosts of an inventory, on which Dask's SSHCluster starts workers for this command
    slurm[:N], k8s[:N]   N workers that dask-jobqueue or dask-kubernetes starts for this command
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from rushhour.errors import UsageError
from rushhour.files import places

FORMS = "tcp://HOST:8786, tls://HOST:8786, fleet:NAME, ssh:HOSTS.TOML, slurm:N or k8s:N"
_SCHEDULER = re.compile(r"(tcp|tls)://(\[[0-9A-Fa-f:.]+\]|[^\s:/\[\]]+):(\d{1,5})")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_HERE_S, _QUEUED_S = 60.0, 24 * 3600.0


@dataclass(frozen=True)
class Certificates:
    """Files with what TLS needs: who is believed, who this is, and the key that proves it."""

    ca: Path
    certificate: Path
    key: Path


@dataclass(frozen=True)
class Address:
    """Where runs are carried out.

    Attributes:
        word: As it was typed.
        kind: `scheduler`, `ssh`, `slurm` or `k8s`.
        scheduler: Of a scheduler: its address.
        certificates: Of a fleet with TLS.
        inventory: Of hosts: their file.
        count: Of what starts workers: how many.
        patience_s: For how long there may be no worker.
    """

    word: str
    kind: str
    scheduler: str = ""
    certificates: Certificates | None = None
    inventory: Path | None = None
    count: int = 1
    patience_s: float = _HERE_S


def resolve(word: str) -> Address:
    """The address that a word names.

    Raises:
        UsageError: it names none, or a fleet that is not there.
    """
    kind, _, rest = word.partition(":")
    if kind in ("tcp", "tls"):
        found = _SCHEDULER.fullmatch(word)
        if found is None or not 0 < int(found[3]) < 1 << 16:
            raise UsageError(f"--on {word}: it is no address", hint=f"for example {kind}://scheduler:8786")
        return Address(word, "scheduler", word)
    if kind == "fleet":
        return _fleet(word, rest)
    if kind == "ssh" and rest:
        return Address(word, "ssh", inventory=Path(rest))
    if kind in ("slurm", "k8s") and (not rest or (rest.isdecimal() and 0 < int(rest) <= 10_000)):
        return Address(word, kind, count=int(rest or 1), patience_s=_QUEUED_S)
    raise UsageError(f"--on {word}: it names no place where runs can be made", hint=f"there are: {FORMS}")


def folder_of(name: str) -> Path:
    """Where a fleet of this name keeps its address and certificates.

    Raises:
        UsageError: it is no name.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} is no name of a fleet", hint="letters, digits, dots and dashes make one")
    return places.config("fleet", name)


def _fleet(word: str, name: str) -> Address:
    folder = folder_of(name)
    file = folder / "fleet.toml"
    try:
        said = tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        there = sorted(path.parent.name for path in places.config("fleet").glob("*/fleet.toml"))
        known = f"there is: {', '.join(there)}" if there else "there is none yet"
        raise UsageError(
            f"there is no fleet {name!r}; {known}", hint="rushhour fleet up starts one"
        ) from None
    except (OSError, ValueError) as error:
        raise UsageError(
            f"the fleet's address cannot be read: {error}",
            where=str(file),
            hint="rushhour fleet up writes it",
        ) from error
    scheduler = said.get("scheduler")
    if not isinstance(scheduler, str) or not _SCHEDULER.fullmatch(scheduler):
        raise UsageError("it names no scheduler", where=str(file), hint="rushhour fleet up writes it")
    files = [folder / part for part in ("ca.pem", "client.pem", "client-key.pem")]
    lacking = [path for path in files if not path.is_file()]
    if scheduler.startswith("tcp:"):
        return Address(word, "scheduler", scheduler)
    if lacking:
        raise UsageError(
            "the fleet's certificate is missing", where=str(lacking[0]), hint="rushhour fleet up makes it"
        )
    return Address(word, "scheduler", scheduler, Certificates(*files))
