"""What is set at machines for the time of the runs: their profiles, and the sysctls that a scenario asks for.

Settings stay from run to run as long as the next run wants the same ones. The agent puts them back when it is
told to, when its session ends, and when it dies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushhour.errors import HostError, PlanError
from rushhour.lab.base import canonical
from rushhour.lab.host import answers
from rushhour.lab.host.answers import Apply, typed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rushhour.lab.host.company import Company
    from rushhour.lab.host.inventory import Host
    from rushhour.lab.host.session import Session
    from rushhour.plan.onto import Onto

_APPLY_S = 120.0
WHO = "rushhour run"


class Prepared:
    """The settings of a company's machines."""

    def __init__(self, company: Company) -> None:
        self._company = company
        self._set: dict[str, tuple[Session, str]] = {}
        self._told: dict[str, dict[str, object]] = {}

    def prepare(self, made: Onto) -> None:
        """Set at each machine what its profile and the plan want, and nothing else.

        Raises:
            HostError: a machine refuses; what had been set there is as before.
            UsageError, ScenarioError: a profile is not there, or wrong.
        """
        wanted = {node.name: self.wanted(node.name, made) for node in made.plan.nodes}
        names = [name for name, (changes, _) in wanted.items() if changes or name in self._set]
        self._company.each(lambda name, session: self._prepare(name, session, *wanted[name]), names)

    def wanted(self, name: str, made: Onto) -> tuple[list[dict[str, Any]], dict[str, object]]:
        """The changes at a machine, and what a record says of where they come from."""
        host, seat = self._company.inventory.host[name], self._company.seat(name)
        changes: list[dict[str, Any]] = []
        told: dict[str, object] = {}
        if host.profile is not None:
            from rushhour.lab.profile import find_profile  # noqa: PLC0415 - seldom needed

            found = find_profile(host.profile)
            device = host.forward if host.emulates else (seat.device if seat else None)
            changes += found.profile.changes(device)
            told["profile"] = {"name": found.name, "sha256": found.sha256}
        sysctls = made.sysctls.get(name, {})
        changes += [{"kind": "sysctl", "name": key, "value": value} for key, value in sysctls.items()]
        return changes, told

    def told(self, name: str) -> dict[str, object]:
        """What a record says of a machine's settings: profile, changes with their values before and after."""
        return self._told.get(name, {})

    def restore(self) -> None:
        """Put everything back, at machines that are still there."""
        for name, (session, _) in self._set.items():
            if self._company.known(name) is session:
                session.call("restore", timeout_s=_APPLY_S)
        self._set.clear()
        self._told.clear()

    def _prepare(
        self, name: str, session: Session, changes: Sequence[Mapping[str, object]], told: Mapping[str, object]
    ) -> None:
        state = session, canonical(list(changes))
        if self._set.get(name) == state:
            return
        if name in self._set:
            # A session that was lost has put back by itself.
            if self._set.pop(name)[0] is session:
                session.call("restore", timeout_s=_APPLY_S)
            self._told.pop(name, None)
        if changes:
            answer = typed(Apply, session.call("apply", changes=list(changes), who=WHO, timeout_s=_APPLY_S))
            self._set[name] = state
            self._told[name] = {
                **told,
                "settings": list(answer.applied),
                "skipped": list(answer.skipped),
            }


def check_allowed(hosts: Mapping[str, Host], made: Onto) -> None:
    """Sysctls are set only where the inventory allows it.

    Raises:
        PlanError: it does not.
    """
    for name, wanted in made.sysctls.items():
        if not hosts[name].sysctl:
            settings = ", ".join(f"{key} = {value}" for key, value in list(wanted.items())[:3])
            raise PlanError(
                f"the scenario sets {settings}, and the inventory does not allow it there",
                where=f"host {name}",
                hint=f"add sysctl = true to [host.{name}]: set for the time of a run, then put back",
            )


def check_emulator(name: str, host: Host, session: Session, *, ipv6: bool) -> None:
    """Whether the machine in the middle has its devices, and forwards between them.

    Raises:
        HostError: it has not, or does not.
    """
    switch = "/proc/sys/net/ipv6/conf/all/forwarding" if ipv6 else "/proc/sys/net/ipv4/ip_forward"
    devices = {str(dev): f"/sys/class/net/{dev}/mtu" for dev in (host.forward, host.backward)}
    files = answers.files(session, [switch, "/sys/class/net/*/mtu"])
    where = f"{name} ({host.at})"
    for dev, path in devices.items():
        if path not in files:
            known = ", ".join(sorted(found.split("/")[4] for found in files if found != switch))
            raise HostError(f"it has no device {dev}", where=where, hint=f"it has: {known}")
    if files.get(switch, "").strip() != "1":
        key = switch.removeprefix("/proc/sys/").replace("/", ".")
        raise HostError(
            f"it does not forward packets: {key} is not 1",
            where=where,
            hint=f"sysctl -w {key}=1 there: it changes the settings of every device, so it is left to you",
        )
