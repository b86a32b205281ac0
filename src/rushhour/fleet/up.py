"""Starts a fleet: a scheduler and workers at ssh hosts, with certificates of their own.

    look at every host ─→ the scheduler's address ─→ scheduler ─→ at each host: environment, workers

A host that cannot take part is set aside by name, with what to do about it; the others go on. What is started
is written down before it is asked for (`state`), and ends by `down` whatever happens here.
"""

from __future__ import annotations

import hashlib
import platform
import shlex
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING, Any

from rushhour.errors import HostError, LabError, UsageError
from rushhour.fleet import state, wheel
from rushhour.fleet.certificates import Authority
from rushhour.fleet.down import MOST_AT_ONCE, end, login
from rushhour.fleet.state import SCHEDULER, Fleet, Member
from rushhour.fleet.status import look
from rushhour.lab import clock
from rushhour.lab.host import ssh
from rushhour.lab.host.place import Place
from rushhour.lab.host.transport import give_up
from rushhour.quantities.words import plural
from rushhour.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from rushhour.lab.host.inventory import Host, Inventory

PORT = 8786
DAYS = 30
# An environment, and what pip takes in between; a worker and one run at least.
_ROOM = 600 * 10**6
_LEAST_MEMORY = 384 * 2**20
_PATIENCE_S = 120


@dataclass(frozen=True)
class Asked:
    """What was asked for beside the inventory; None: what that says."""

    listen: str | None = None
    port: int | None = None
    scheduler: str | None = None
    wheels: Path | None = None
    ssh_config: str | None = None
    days: int = DAYS


@dataclass(frozen=True)
class Goods:
    """What hosts without an environment are sent: files, how pip takes them, and their hash."""

    files: Mapping[str, bytes]
    wheel: str
    constraints: str
    closed: bool
    key: str


def up(name: str, inventory: Inventory, asked: Asked, tell: Callable[[str], None]) -> Fleet:
    """Start a fleet, or of one that is up what is missing; what is known of it then.

    Raises:
        UsageError: what was asked makes no sense; nothing was started.
        LabError: nothing could be started; what had begun was ended again.
    """
    with state.held(name):
        raising = _Raising(name, inventory, asked, tell)
        try:
            raising.carry_out()
        except BaseException:
            raising.take_back()
            raise
        return raising.fleet


class _Raising:
    """One `fleet up`."""

    def __init__(self, name: str, inventory: Inventory, asked: Asked, tell: Callable[[str], None]) -> None:
        self._asked, self._tell = asked, tell
        self._seat = inventory.fleet
        _require_wheels(asked.wheels)
        self._hosts = _hosts(inventory, tell)
        self._lock = Lock()
        self._begun: set[str] = set()
        self._facts: dict[str, dict[str, Any]] = {}
        self._goods: Goods | None = None
        self.new = not (state.folder(name) / state.FILE).exists()
        if self.new:
            self._make(name)
        else:
            self.fleet = state.known(name)
            self.authority = Authority.of(state.read_pair(name, state.AUTHORITY, state.AUTHORITY_KEY))

    def _make(self, name: str) -> None:
        config = ssh.configuration(self._asked.ssh_config)
        self.authority = Authority.make(name, clock.now(), self._asked.days)
        self.fleet = Fleet(
            name, self.authority.identity, clock.stamped(), clock.stamped(self.authority.ends),
            ssh_config=str(config or ""),
        )  # fmt: skip
        state.keep(self.fleet)
        state.write_pair(name, self.authority.pair, state.AUTHORITY, state.AUTHORITY_KEY)
        client = self.authority.issue("client", called=False)
        state.write_pair(name, client, state.CERTIFICATE, state.KEY)

    def carry_out(self) -> None:
        """All steps; what fails at one host sets it aside."""
        if clock.now() > self.authority.ends:
            raise UsageError(
                f"the certificates of the fleet ended at {self.fleet.ends}", hint=state.anew(self.fleet.name)
            )
        before = None if self.new else look(self.fleet)
        running = before is not None and before.error is None
        if running:
            self._refuse_another_scheduler()
        there = {host.name for host in before.hosts if host.state == "up"} if before and running else set()
        waiting = {name: host for name, host in self._hosts.items() if name not in there}
        members = {name: self._member(name, host.at, host.python) for name, host in waiting.items()}
        if not running:
            place = self._asked.scheduler or self._seat.scheduler
            # A host's Python is good for the scheduler, too.
            there_too = [host.python for host in self._hosts.values() if host.at == place and host.python]
            members[SCHEDULER] = self._member(
                SCHEDULER, place, self._seat.python or next(iter(there_too), None)
            )
        able = self._probed(members)
        if not any(name != SCHEDULER for name in able):
            self._nobody(there)
            return
        if not running:
            self._start_scheduler(able)
        self._each({name: one for name, one in able.items() if name != SCHEDULER}, self._start_workers)
        self._nobody(there)

    def _refuse_another_scheduler(self) -> None:
        """Of a fleet that is up the scheduler stays where it is: who asks for another place is told."""
        member = self.fleet.members[SCHEDULER]
        address, _, port = self.fleet.scheduler.removeprefix("tls://").rpartition(":")
        is_there = {"scheduler": member.at, "listen": address.strip("[]"), "port": int(port)}
        for key, there in is_there.items():
            asked = getattr(self._asked, key)
            if asked is not None and str(asked) != str(there):
                hint = f"leave it out; or first: rushhour fleet down --name {self.fleet.name}"
                where = f"{self.fleet.scheduler} ({member.at})"
                raise UsageError(f"--{key} {asked}: the fleet is up, its scheduler at {where}", hint=hint)

    def take_back(self) -> None:
        """End what was begun here; a new fleet is forgotten."""
        members = [one for name, one in self.fleet.members.items() if name in self._begun]
        _, lost = end(self.fleet, members, tell=lambda _text: None)
        if self.new and not lost:
            state.forget(self.fleet.name)

    def _nobody(self, there: set[str]) -> None:
        """Refuse to go on where no host takes part."""
        members = self.fleet.members.values()
        if there or any(one.state == "up" and one.name != SCHEDULER for one in members):
            return
        reasons = [f"{one.name}: {one.why}\n  {one.hint}" for one in members if one.why]
        raise LabError(
            "no host can take part\n" + "\n".join(reasons), hint="nothing runs; mend one and try again"
        )

    # -- look

    def _member(self, name: str, at: str, python: str | None) -> Member:
        # Here is where this program is: nothing has to be installed.
        own = sys.executable if Place.parse(at).kind != "ssh" else ""
        return Member(name, at, state="aside", python=python or own)

    def _probed(self, members: Mapping[str, Member]) -> dict[str, Member]:
        self.fleet = self.fleet.with_(*members.values())
        state.keep(self.fleet)

        def probe(member: Member) -> None:
            facts = login(self.fleet, member).order("probe", {})
            self._facts[member.name] = facts
            self._check(member, facts)

        self._each(members, probe)
        able = {name: one for name, one in members.items() if not self.fleet.members[name].why}
        if SCHEDULER in members and SCHEDULER not in able:
            one = self.fleet.members[SCHEDULER]
            raise LabError(f"the scheduler cannot run there: {one.why}", where=one.at, hint=one.hint)
        return able

    def _check(self, member: Member, facts: Mapping[str, Any]) -> None:
        where = member.at
        kind = (facts["system"], facts["machine"])
        if kind != ("Linux", platform.machine()):
            hint = f"virtual kernels and our agent are for Linux on {platform.machine()}; leave it out"
            raise HostError(f"it is {' on '.join(kind)}", where=where, hint=hint, kind="machine")
        there = datetime.fromtimestamp(facts["time"], UTC)
        if not self.authority.begins <= there <= self.authority.ends:
            valid = f"from {clock.stamped(self.authority.begins)} to {clock.stamped(self.authority.ends)}"
            hint = f"set it (timedatectl set-ntp true): the fleet's certificates are valid {valid}"
            raise HostError(
                f"its clock is wrong: {clock.stamped(there)}", where=where, hint=hint, kind="clock"
            )

    # -- start

    def _start_scheduler(self, able: Mapping[str, Member]) -> None:
        member = able[SCHEDULER]
        listen = self._asked.listen or self._seat.listen or self._address(able)
        port = self._asked.port or self._seat.port
        config = {"role": SCHEDULER, "host": listen, "port": port or PORT, "asked": port is not None}
        try:
            answer = self._start(member, config, {})
        except HostError as error:
            raise LabError(
                f"the scheduler does not start: {error.message}", where=member.at, hint=error.hint
            ) from error
        self.fleet = replace(self.fleet, scheduler=answer["address"])
        self._up(member, answer)
        self._tell(f"scheduler: {answer['address']}")

    def _address(self, able: Mapping[str, Member]) -> str:
        """Where the scheduler listens if nobody said: the address by which the hosts see its machine."""
        kind = Place.parse(able[SCHEDULER].at).kind
        if kind == "ssh":
            return str(self._facts[SCHEDULER]["seen_as"])
        kinds = {Place.parse(one.at).kind for one in able.values()}
        if kinds == {"local"}:
            return "127.0.0.1"
        facts = sorted(self._facts.items())
        seen = {name: about["seen_from"] for name, about in facts if about["seen_from"]}
        addresses = sorted(set(seen.values()))
        if kind == "local" and len(addresses) == 1 and "netns" not in kinds:
            return str(addresses[0])
        told = f": {', '.join(f'{address} by {name}' for name, address in seen.items())}" if seen else ""
        raise UsageError(
            f"which address the scheduler shall listen at is not clear{told}",
            hint="--listen ADDRESS: one that every host reaches",
        )

    def _start_workers(self, member: Member) -> None:
        host, facts = self._hosts[member.name], self._facts[member.name]
        memory = min(host.memory.bytes if host.memory else facts["memory"], facts["memory"])
        wished = min(host.cpus or facts["cpus"], facts["cpus"])
        cpus = min(wished, memory // _LEAST_MEMORY)
        if cpus < 1:
            hint = "free some, or leave it out of the inventory"
            raise HostError(
                f"too little memory: {memory >> 20} MB", where=member.at, hint=hint, kind="memory"
            )
        if cpus < wished:
            self._tell(f"{member.name}: {cpus} of {wished} CPUs, for it has {memory >> 20} MB of memory")
        address, _, port = self.fleet.scheduler.removeprefix("tls://").rpartition(":")
        config = {
            "role": "workers", "name": member.name, "scheduler": self.fleet.scheduler, "cpus": cpus,
            "memory": memory // cpus,
        }  # fmt: skip
        if host.listen:
            config["host"] = host.listen
        answer = self._start(member, config, {"reach": [address.strip("[]"), int(port)]})
        able = answer["able"]
        if able["version"] != __version__:
            login(self.fleet, member).order("stop", {"fleet": self.fleet.id, "name": member.name})
            hint = "install ours there, or leave `python` out of the inventory"
            message = f"its rushhour is {able['version']}, ours {__version__}"
            raise HostError(message, where=member.at, hint=hint, kind="version")
        self._up(replace(member, workers=answer["workers"], memory=memory, version=able["version"]), answer)
        lacks = f"; lacks {'; '.join(able['lacks'])}" if able["lacks"] else ""
        self._tell(f"{member.name}: {plural(answer['workers'], 'worker')}{lacks}")

    def _start(self, member: Member, config: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
        """Have a member running: its environment first, if it has no Python of its own."""
        ours = {"fleet": self.fleet.id, "name": member.name}
        with self._lock:
            self._begun.add(member.name)
            self.fleet = self.fleet.with_(replace(member, state="asked"))
            state.keep(self.fleet)
        place = login(self.fleet, member)
        if not self.new:
            place.order("stop", ours)
        python = member.python or self._stocked(member)
        pair = self.authority.issue(member.name, called=True)
        files = {"ca.pem": self.authority.pair.certificate, "cert.pem": pair.certificate, "key.pem": pair.key}
        apart = Place.parse(member.at).kind == "ssh"
        about = {"python": python, "files": files, "config": config, "patience": _PATIENCE_S, "apart": apart}
        return place.order("start", ours | about | more, long=True)

    def _stocked(self, member: Member) -> str:
        """The Python of an environment at a host that has this program."""
        with self._lock:
            self._goods = self._goods or _goods(self._asked.wheels)
        goods = self._goods
        version = ".".join(self._facts[member.name]["python"].split(".")[:2])
        about = {
            "fleet": self.fleet.id, "name": member.name, "key": f"{goods.key}-{version}",
            "files": {name: len(data) for name, data in goods.files.items()}, "wheel": goods.wheel,
            "extra": wheel.EXTRA, "constraints": goods.constraints, "closed": goods.closed, "room": _ROOM,
        }  # fmt: skip
        self._tell(f"{member.name}: an environment, if it has none")
        answer = login(self.fleet, member).order("stock", about, payload=[*goods.files.values()], long=True)
        return str(answer["python"])

    def _up(self, member: Member, answer: Mapping[str, Any]) -> None:
        known = replace(
            member,
            state="up",
            pid=answer["pid"],
            folder=answer["folder"],
            address=answer["address"],
            why="",
            hint="",
        )
        with self._lock:
            self.fleet = self.fleet.with_(known)
            state.keep(self.fleet)

    def _each(self, members: Mapping[str, Member], work: Callable[[Member], None]) -> None:
        """Do something for each member, many at once; a fault sets it aside."""
        with ThreadPoolExecutor(MOST_AT_ONCE) as pool:
            asked = {name: pool.submit(work, member) for name, member in members.items()}
            try:
                for name, done in asked.items():
                    try:
                        done.result()
                    except HostError as error:
                        self._aside(name, error)
            except BaseException:
                for one in asked.values():
                    one.cancel()
                give_up([*asked.values()])
                raise

    def _aside(self, name: str, error: HostError) -> None:
        # If the connection broke nobody knows what became of the order: `down` asks there again.
        unsure = error.kind in {None, "ssh", "silent", "ended"} and name in self._begun
        with self._lock:
            member = self.fleet.members[name]
            told = replace(
                member, state="asked" if unsure else "aside", why=error.message, hint=error.hint or ""
            )
            self.fleet = self.fleet.with_(told)
            state.keep(self.fleet)
        self._tell(f"{name}: set aside: {error.message}\n  {error.hint}")


def _hosts(inventory: Inventory, tell: Callable[[str], None]) -> dict[str, Host]:
    """The machines of an inventory, each once however many parts it takes; `tell` is told of more.

    Raises:
        UsageError: a name is taken.
    """
    found: dict[str, Host] = {}
    for name, host in inventory.host.items():
        if name == SCHEDULER:
            hint = "[fleet] says where the scheduler is; call the host otherwise"
            raise UsageError(f"[host.{SCHEDULER}]: the scheduler itself has this name", hint=hint)
        known_as = name.replace("*", "any").replace("?", "one")
        first = next((other for other, one in found.items() if one.at == host.at), None)
        if first is None:
            found[known_as] = host
        else:
            tell(f"{known_as}: the same machine as {first}; the table of {first} counts")
    return found


def _require_wheels(folder: Path | None) -> None:
    """Refuse a folder without wheels, whether they are going to be needed or not."""
    if folder is not None and not [*folder.glob("*.whl")]:
        hint = f"to download what hosts need: rushhour fleet wheels {shlex.quote(str(folder))}"
        raise UsageError("there are no wheels in it", where=str(folder), hint=hint)


def _goods(wheels: Path | None) -> Goods:
    name, data = wheel.make()
    files, versions = {name: data}, wheel.constraints()
    if wheels is not None:
        found = sorted(wheels.glob("*.whl"))
        files |= {path.name: path.read_bytes() for path in found if not path.name.startswith("rushhour-")}
        # A folder has the versions that it has; only what talks with us must be of one kind.
        versions = "".join(line for line in versions.splitlines(keepends=True) if line.startswith(_TALKS))
    digest = hashlib.sha256(versions.encode())
    for one in sorted(files):
        digest.update(one.encode() + hashlib.sha256(files[one]).digest())
    return Goods(files, name, versions, wheels is not None, f"{__version__}-{digest.hexdigest()[:16]}")


_TALKS = ("dask==", "distributed==")
