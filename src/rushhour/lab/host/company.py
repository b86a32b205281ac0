"""The machines of an inventory, spoken to: sessions that stay open, addresses that were found.

A machine that goes away is found out at its next word; it may come back for the next run, unless it was
started anew meanwhile: what was prepared there is gone then, and the runs before and after would differ.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from threading import Lock
from typing import TYPE_CHECKING, Any, Self, TypeVar

from rushhour.errors import HostError, RushHourError
from rushhour.lab.host import answers, reach
from rushhour.lab.host.session import Session
from rushhour.lab.host.transport import give_up
from rushhour.plan.onto import Emulator, Seat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path
    from types import TracebackType

    from rushhour.lab.host.inventory import Inventory

T = TypeVar("T")


class Company:
    """The machines of an inventory by name; a context manager that ends its own sessions."""

    def __init__(
        self,
        inventory: Inventory,
        *,
        ssh_config: str | Path | None = None,
        sessions: Mapping[str, Session] | None = None,
    ) -> None:
        self.inventory = inventory
        self._ssh_config = ssh_config
        self._given = dict(sessions or {})
        self._sessions: dict[str, Session] = dict(self._given)
        self._boots: dict[str, str] = {}
        self._seats: dict[str, Seat] = {}
        self._gone: dict[str, HostError] = {}
        self._lock = Lock()

    def __enter__(self) -> Self:
        """Open all sessions at once."""
        self.sessions()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End them."""
        self.close()

    def close(self) -> None:
        """End the sessions that were opened here; those that were given stay."""
        own = [one for name, one in self._sessions.items() if self._given.get(name) is not one]
        self._sessions = dict(self._given)
        _at_once([one.close for one in own])

    def sessions(self, names: Iterable[str] | None = None) -> dict[str, Session]:
        """Sessions of these machines (of all, if none is named), opened where they are not, or lost.

        Raises:
            HostError: a machine cannot be reached, or was started anew.
        """
        wanted = list(self.inventory.host if names is None else names)
        with self._lock:
            closed = [name for name in wanted if self.known(name) is None]
            try:
                _at_once([lambda name=name: self._open(name) for name in closed])  # type: ignore[misc]
            except BaseException:
                self.close()
                raise
        return {name: self._sessions[name] for name in wanted}

    def each(self, work: Callable[[str, Session], T], names: Iterable[str]) -> dict[str, T]:
        """Call a function for several machines at once and return the results by name.

        Raises:
            RushHourError: the first error, when all have come to their end.
        """
        opened = self.sessions(names)

        def named(name: str, session: Session) -> T:
            try:
                return work(name, session)
            except HostError as error:
                raise self.named(name, error) from error

        found = _at_once([lambda one=one: named(*one) for one in opened.items()])  # type: ignore[misc]
        return dict(zip(opened, found, strict=True))

    def named(self, name: str, error: HostError) -> HostError:
        """An error of a machine, with its name before its place."""
        at = self.inventory.host[name].at
        return HostError(error.message, where=f"{name} ({at})", hint=error.hint, kind=error.kind)

    def known(self, name: str) -> Session | None:
        """The session with a machine, if there is one that was not lost; nothing is opened."""
        session = self._sessions.get(name)
        return None if session is None or session.lost is not None else session

    def seat(self, name: str) -> Seat | None:
        """Address and device of a machine, where they were asked for before."""
        return self._seats.get(name)

    def seats(self, pairs: Iterable[tuple[str, str]]) -> dict[str, Seat]:
        """Address and device of each machine that talks to another.

        Raises:
            HostError: there is no route both ways between two.
        """
        pairs = list(dict.fromkeys((min(pair), max(pair)) for pair in pairs))
        names = list(dict.fromkeys(name for pair in pairs for name in pair))
        if any(name not in self._seats for name in names):
            self._find_seats(pairs, names)
        return {name: self._seats[name] for name in names}

    @property
    def emulator(self) -> Emulator | None:
        """The machine in the middle, for a plan."""
        if (found := self.inventory.emulator) is None:
            return None
        name, host = found
        return Emulator(name, str(host.forward), str(host.backward))

    def _open(self, name: str) -> None:
        host = self.inventory.host[name]
        if name in self._gone:
            raise self._gone[name]
        try:
            session = Session.open(host.at, ssh_config=self._ssh_config, sudo=host.sudo)
        except HostError as error:
            told = self.named(name, error)
            if name in self._boots:
                # It was there: a hundred runs need not wait for it one after the other.
                self._gone[name] = told
            raise told from error
        self._sessions[name] = session
        boot = str(session.hello.get("boot_id"))
        if self._boots.setdefault(name, boot) != boot:
            raise HostError(
                "it was restarted after the first run and lost what was prepared there",
                where=f"{name} ({host.at})",
                hint="give the command again; finished runs are kept",
                kind="reboot",
            )

    def _find_seats(self, pairs: Iterable[tuple[str, str]], names: list[str]) -> None:
        sessions = self.sessions(names)
        own = self.each(self._candidates, names)
        known: dict[tuple[str, str], reach.Way | None] = {}

        def ask(name: str, to: str) -> reach.Way | None:
            if (name, to) not in known:
                known[name, to] = _route(sessions[name], to)
            return known[name, to]

        chosen = reach.addresses(pairs, own, ask)
        for one, other in pairs:
            for name, peer in ((one, other), (other, one)):
                found = ask(name, chosen[peer])
                device = self.inventory.host[name].device or (found.device if found else None)
                seat = Seat(name, chosen[name], device, _mtu(sessions[name], device))
                self._seats.setdefault(name, seat)

    def _candidates(self, name: str, session: Session) -> list[str]:
        if (stated := self.inventory.host[name].address) is not None:
            return [stated]
        return reach.local_addresses(answers.files(session, [reach.FIB, reach.IPV6]))


def _route(session: Session, to: str) -> reach.Way | None:
    try:
        return reach.way(session.call("route", to=to))
    except HostError:
        if session.lost is not None:
            raise
        return None  # the kernel says that there is none


def _mtu(session: Session, device: str | None) -> int | None:
    if device is None:
        return None
    path = f"/sys/class/net/{device}/mtu"
    text = answers.files(session, [path]).get(path, "").strip()
    return int(text) if text.isdigit() else None


def _at_once(works: list[Callable[[], Any]]) -> list[Any]:
    """Do all at once; the first error, when all have ended."""
    if not works:
        return []
    with ThreadPoolExecutor(len(works), thread_name_prefix="host") as pool:
        futures = [pool.submit(work) for work in works]
        try:
            wait(futures)
        except BaseException:  # an interrupt: a machine that does not answer is not waited for
            give_up(futures)
            raise
    errors = [error for future in futures if (error := future.exception()) is not None]
    if errors:
        raise min(errors, key=_consequence)
    return [future.result() for future in futures]


def _consequence(error: BaseException) -> bool:
    """Whether an error only follows from another: a machine that was told to stop."""
    return isinstance(error, RushHourError) and getattr(error, "kind", None) == "stopped"
