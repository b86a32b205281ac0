"""What `--on` says: where the scheduler is, or what starts workers.

Takes a word, gives an `Address`; nothing is contacted.

    tcp://HOST:PORT      a scheduler that anybody may use who reaches it
    tls://HOST:PORT      one that asks for certificates: those of Dask's own configuration
    fleet:NAME           a fleet that `rushhour fleet up` started: its address and certificates by its name
    ssh:FILE             hosts of an inventory, where workers are started for this command as `fleet up` does
    slurm[:N], k8s[:N]   N workers that dask-jobqueue or dask-kubernetes starts for this command
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import UsageError
from rushhour.fleet import state

if TYPE_CHECKING:
    from rushhour.fleet.tls import Certificates

FORMS = "tcp://HOST:8786, tls://HOST:8786, fleet:NAME, ssh:HOSTS.TOML, slurm:N or k8s:N"
_SCHEDULER = re.compile(r"(tcp|tls)://(\[[0-9A-Fa-f:.]+\]|[^\s:/\[\]]+):(\d{1,5})")
_QUEUES = ("slurm", "k8s")
_HERE_S, _QUEUED_S = 60.0, 24 * 3600.0


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
    """

    word: str
    kind: str
    scheduler: str = ""
    certificates: Certificates | None = None
    inventory: Path | None = None
    count: int = 1

    @property
    def patience_s(self) -> float:
        """For how long there may be no worker: jobs may have to wait in a queue."""
        return _QUEUED_S if self.kind in _QUEUES else _HERE_S


def resolve(word: str) -> Address:
    """The address that a word names.

    Raises:
        UsageError: it names none, or a fleet that is not there.
        LabError: what is known of a fleet cannot be read.
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
    if kind in _QUEUES and (not rest or (rest.isdecimal() and 0 < int(rest) <= 10_000)):
        return Address(word, kind, count=int(rest or 1))
    raise UsageError(f"--on {word}: it names no place where runs can be made", hint=f"there are: {FORMS}")


def _fleet(word: str, name: str) -> Address:
    known, home = state.known(name), state.folder(name)
    again = f"`rushhour fleet up` with its inventory goes on; `rushhour fleet down --name {name}` removes it"
    if _SCHEDULER.fullmatch(known.scheduler) is None:
        raise UsageError("its scheduler was never started", where=str(home / state.FILE), hint=again)
    if state.ended(known):
        raise UsageError(f"the certificates of the fleet ended at {known.ends}", hint=state.anew(name))
    certificates = state.certificates(name)
    for path in (certificates.ca, certificates.certificate, certificates.key):
        if not path.is_file():
            raise UsageError("the fleet's certificate is missing", where=str(path), hint=again)
    return Address(word, "scheduler", known.scheduler, certificates)
