"""What a fleet is doing: its workers as the scheduler sees them, and hosts of which it knows nothing."""

from __future__ import annotations

import asyncio
import os
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from rushhour.errors import HostError
from rushhour.extras import need
from rushhour.fleet import state
from rushhour.fleet.tls import security

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.fleet.state import Fleet, Member

FORMAT = "rushhour-fleet-status/1"
SAID = "rushhour"
"""The key under which a worker tells the scheduler what it is able to do."""
_PATIENCE_S = 15


@dataclass(frozen=True)
class Host:
    """A host of a fleet; `workers` are those that the scheduler has at this moment."""

    name: str
    at: str
    workers: int
    asked: int
    busy: int = 0
    memory: int = 0
    used: int = 0
    tasks: int = 0
    version: str = ""
    python: str = ""
    lacks: tuple[str, ...] = ()
    why: str = ""
    hint: str = ""

    @property
    def state(self) -> str:
        """In a word: `up`, `part` (some workers are missing), `lost` (all are), `aside` (never began)."""
        if self.asked == 0:
            return "aside"
        if self.workers == 0:
            return "lost"
        return "up" if self.workers >= self.asked else "part"


@dataclass(frozen=True)
class Status:
    """A fleet at one moment; `error` where its scheduler does not answer."""

    fleet: Fleet
    hosts: tuple[Host, ...]
    error: HostError | None = None
    others: tuple[str, ...] = field(default=())

    @property
    def whole(self) -> bool:
        """Whether all that was started is there."""
        return self.error is None and all(host.state in {"up", "aside"} for host in self.hosts)

    def document(self) -> dict[str, Any]:
        """As JSON."""
        fleet = self.fleet
        about = {
            "format": FORMAT,
            "name": fleet.name,
            "id": fleet.id,
            "scheduler": fleet.scheduler,
            "begun": fleet.begun,
            "certificates_end": fleet.ends,
        }
        error = None if self.error is None else {"message": self.error.message, "hint": self.error.hint}
        hosts = [asdict(host) | {"state": host.state} for host in self.hosts]
        return {**about, "error": error, "others": list(self.others), "hosts": hosts}


def look(fleet: Fleet) -> Status:
    """Ask the scheduler of a fleet."""
    workers: Mapping[str, Mapping[str, Any]] = {}
    error = None
    try:
        workers = _ask(fleet)["workers"]
    except HostError as found:
        error = found
    by_member: dict[str, list[Mapping[str, Any]]] = {}
    others = []
    for address, worker in workers.items():
        member = _able(worker).get("member")
        if member in fleet.members:
            by_member.setdefault(member, []).append(worker)
        else:
            others.append(address)
    members = [one for name, one in fleet.members.items() if name != state.SCHEDULER]
    hosts = tuple(_host(one, by_member.get(one.name, [])) for one in members)
    return Status(fleet, hosts, error, tuple(others))


def _ask(fleet: Fleet) -> dict[str, Any]:
    if not fleet.scheduler:
        raise HostError(
            "its scheduler was never started",
            where=fleet.name,
            hint="`rushhour fleet up` goes on; `fleet down` removes it",
        )
    need("fleet", "rushhour fleet")
    from distributed.core import rpc  # noqa: PLC0415 - an extra

    async def ask() -> dict[str, Any]:
        # Dask would try a port that refuses again and again.
        host, _, port = fleet.scheduler.removeprefix("tls://").rpartition(":")
        opened = asyncio.open_connection(host.strip("[]"), int(port))
        _, writer = await asyncio.wait_for(opened, _PATIENCE_S)
        writer.close()
        arguments = security(state.certificates(fleet.name), "client").get_connection_args("client")
        async with rpc(fleet.scheduler, connection_args=arguments, timeout=_PATIENCE_S) as scheduler:
            return dict(await asyncio.wait_for(scheduler.identity(), _PATIENCE_S))

    try:
        return asyncio.run(ask())
    except (OSError, TimeoutError) as error:
        number = getattr(error, "errno", None)
        why = os.strerror(number) if number else str(error.__cause__ or error) or "no answer"
        raise HostError(
            f"the scheduler does not answer: {why}",
            where=fleet.scheduler,
            hint="`rushhour fleet up` with its inventory starts it again; "
            f"`rushhour fleet down --name {fleet.name}` ends what is left",
        ) from error


def _host(member: Member, workers: list[Mapping[str, Any]]) -> Host:
    metrics = [worker.get("metrics", {}) for worker in workers]
    first = _able(workers[0]) if workers else {}
    return Host(
        member.name, member.at, len(workers), member.workers,
        busy=sum(one.get("executing", 0) for one in metrics),
        memory=sum(worker.get("memory_limit") or 0 for worker in workers),
        used=sum(one.get("memory", 0) for one in metrics),
        tasks=sum(one.get("tasks", 0) for one in metrics),
        version=str(first.get("version", member.version)), python=str(first.get("python", "")),
        lacks=tuple(map(str, first.get("lacks", ()))), why=member.why, hint=member.hint,
    )  # fmt: skip


def _able(worker: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a worker of ours said of itself when it came; nothing of another."""
    said = worker.get(SAID)
    return said if isinstance(said, dict) else {}
