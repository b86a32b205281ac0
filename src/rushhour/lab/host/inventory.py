"""The inventory: which machine takes which node's part.

Takes a TOML file, or `NODE=PLACE` words of a command line; gives an `Inventory`. Nothing is contacted.
"""

from __future__ import annotations

import ipaddress
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field, ValidationError
from pydantic_core import PydanticCustomError

from rushhour.errors import Fault, RushHourError, ScenarioError, UsageError
from rushhour.lab.host.place import Place
from rushhour.quantities.units import Size
from rushhour.spec.check.problem import Problem
from rushhour.spec.document import faults_in, parse_toml, read_text
from rushhour.spec.explain import explain
from rushhour.spec.keys import nearest
from rushhour.spec.model import Count, Model

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_BEGIN = 'begin with [host.NODE] and at = "PLACE", one for each node of the scenario that sends or receives'
_NODE = re.compile(r"[A-Za-z0-9*?][A-Za-z0-9_.*?-]{0,63}")
_DEVICE = re.compile(r"(?!\.{1,2}$)[^\s/:\x00-\x1f]{1,15}")  # as the kernel's dev_valid_name


def _place(text: str) -> str:
    try:
        Place.parse(text)
    except RushHourError as error:
        raise PydanticCustomError("unit", "{text}", {"text": error.message}) from error
    return text


def _address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise PydanticCustomError("unit", "{text} is not an IP address", {"text": f'"{text}"'}) from None


def _device(text: str) -> str:
    if _DEVICE.fullmatch(text) is None:
        message = "{text} is no name of a network device: at most 15 characters, without spaces, / and :"
        raise PydanticCustomError("unit", message, {"text": f'"{text}"'})
    return text


def _python(text: str) -> str:
    if not (text.startswith("/") and text.isprintable()):
        raise PydanticCustomError("unit", "{text} is no path of a program", {"text": f'"{text}"'})
    return text


Device = Annotated[str, AfterValidator(_device)]
Address = Annotated[str, AfterValidator(_address)]


class Host(Model):
    """One machine: a node of the scenario, or with `forward` the emulator between them."""

    at: Annotated[str, AfterValidator(_place)] = Field(
        description='where: "local", "netns:NAME", or a name for ssh such as "alice" or "me@host"'
    )
    address: Address | None = Field(
        None,
        description="address in the experiment; default: its source address on the route to the others",
    )
    device: Device | None = Field(
        None, description="the device whose counters are read; default: that of the route to the others"
    )
    profile: str | None = Field(
        None,
        description="settings for the time of the runs: a name of `rushhour profile list`; or a file",
    )
    sudo: bool = Field(
        default=False, description="start the agent by sudo, which must not ask for a password"
    )
    sysctl: bool = Field(
        default=False, description="the scenario's sysctls may be set here for the time of a run"
    )
    forward: Device | None = Field(
        None, description="of an emulator: the device by which packets leave it towards the receivers"
    )
    backward: Device | None = Field(
        None, description="of an emulator: the device by which packets leave it towards the senders"
    )

    python: Annotated[str, AfterValidator(_python)] | None = Field(
        None, description="in a fleet: the Python that has rushhour[fleet]; default: one is set up there"
    )
    cpus: Count | None = Field(
        None, description="in a fleet: how many workers, each with a CPU; default: all CPUs"
    )
    memory: Size | None = Field(
        None, description='in a fleet: memory of all workers together ("8GB"); default: what is free'
    )
    listen: Address | None = Field(
        None,
        description="in a fleet: where workers listen; default: the address on the way to the scheduler",
    )

    @property
    def emulates(self) -> bool:
        """Whether it is the machine in the middle."""
        return self.forward is not None or self.backward is not None


class FleetScheduler(Model):
    """Where the scheduler of a fleet is, and where it listens."""

    scheduler: Annotated[str, AfterValidator(_place)] = Field(
        "local", description="the place of the scheduler, written like `at`"
    )
    python: Annotated[str, AfterValidator(_python)] | None = Field(
        None, description="the Python there that has rushhour[fleet]; default: ours, or one is set up"
    )
    listen: Address | None = Field(
        None, description="the address at which it listens; default: that by which the hosts see its machine"
    )
    port: Annotated[int, Field(strict=True, ge=1, le=65535)] | None = Field(
        None, description="its port; default: 8786, or any if that is taken"
    )


class Inventory(Model):
    """All machines of an experiment, by the names of their nodes, in which `*` and `?` stand for letters."""

    host: dict[str, Host] = Field(description="a table [host.NODE] for each machine")
    fleet: FleetScheduler = Field(
        default=FleetScheduler(), description="for `rushhour fleet`: where the scheduler is"
    )

    @property
    def ends(self) -> dict[str, Host]:
        """The machines that send and receive."""
        return {name: host for name, host in self.host.items() if not host.emulates}

    @property
    def emulator(self) -> tuple[str, Host] | None:
        """The machine in the middle, if there is one."""
        return next(((name, host) for name, host in self.host.items() if host.emulates), None)

    def seats(self, nodes: Sequence[str]) -> dict[str, str]:
        """Which machine takes the role of each node: that of its name, else of the first pattern that fits.

        Raises:
            UsageError: a node has none, or a machine is named after no node.
        """
        found = {node: name for node in nodes if (name := self._seat(node)) is not None}
        if lacking := [node for node in nodes if node not in found]:
            raise UsageError(
                f"no machine is named for {', '.join(lacking)}",
                where="inventory",
                hint=f'add [host.{lacking[0]}] with at = "PLACE", or --host {lacking[0]}=PLACE; '
                "a pattern such as s* takes the part of several",
            )
        for name in self.ends:
            if name not in found.values():
                raise UsageError(
                    f"[host.{name}]: no node of that name sends or receives in this scenario",
                    where="inventory",
                    hint=nearest(name, [node for node in nodes if node not in self.host]),
                )
        return found

    def _seat(self, node: str) -> str | None:
        own = node if node in self.ends else None
        return own or next((name for name in self.ends if fnmatchcase(node, name)), None)


def load_inventory(file: Path, *, fewest: int = 2) -> Inventory:
    """Load an inventory; an experiment takes two machines at least, a fleet one.

    Raises:
        ScenarioError: with every fault of the file, its line, and what is allowed.
    """
    text, name = read_text(file), str(file)
    inventory, problems = _examine(parse_toml(text, name, _BEGIN), fewest)
    if inventory is None or problems:
        raise faults_in(text, name, problems)
    return inventory


def make_inventory(file: Path | None, words: Sequence[str]) -> Inventory:
    """The inventory of a file, of `NODE=PLACE` words, or of both; the words go before.

    Raises:
        ScenarioError: the file, or what comes of both, is wrong.
        UsageError: neither is given, or a word is no `NODE=PLACE`.
    """
    if file is None and not words:
        raise UsageError(
            "the lab `hosts` must know its machines",
            hint="--hosts FILE, or --host NODE=PLACE for each node; docs/hosts.md has an example",
        )
    given: dict[str, str] = {}
    for word in words:
        node, equals, place = (part.strip() for part in word.partition("="))
        if not (equals and node and place):
            raise UsageError(f"--host {word!r} is not NODE=PLACE", hint="for example --host s1=alice")
        given[node] = place
    known = load_inventory(file) if file is not None else None
    document = known.model_dump(mode="json", exclude_none=True) if known is not None else {"host": {}}
    for node, place in given.items():
        document["host"].setdefault(node, {})["at"] = place
    return _checked(document, "--host")


def between(addresses: Mapping[str, str] | None = None, *, sudo: bool = False, **places: str) -> Inventory:
    """An inventory of two or more machines by their names: `between(a="alice", b="netns:x")`.

    Raises:
        ScenarioError: a place is none, or an address.
    """
    given = addresses or {}
    document = {"host": {name: {"at": place, "sudo": sudo} for name, place in places.items()}}
    for name, address in given.items():
        document["host"][name]["address"] = address
    return _checked(document, "")


def schema() -> dict[str, Any]:
    """The JSON Schema of an inventory, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Rush Hour inventory",
        **Inventory.model_json_schema(by_alias=True),
    }


def _checked(document: Mapping[str, object], origin: str) -> Inventory:
    """An inventory that no file says; `origin` stands before the keys of its faults."""
    inventory, problems = _examine(document)
    if inventory is None or problems:
        keys = ((".".join(map(str, problem.path)), problem) for problem in problems)
        raise ScenarioError([Fault(origin, None, key, one.message, one.hint) for key, one in keys])
    return inventory


def _examine(document: Mapping[str, object], fewest: int = 2) -> tuple[Inventory | None, list[Problem]]:
    try:
        inventory = Inventory.model_validate(document)
    except ValidationError as error:
        hosts = document.get("host")
        names = [str(name) for name in hosts] if isinstance(hosts, dict) else []
        tables: dict[tuple[str, ...], type[Model]] = {(): Inventory, ("fleet",): FleetScheduler}
        return None, explain(error, tables | {("host", name): Host for name in names})
    return inventory, list(_faults(inventory, fewest))


def _faults(inventory: Inventory, fewest: int) -> Iterator[Problem]:
    for name, host in inventory.host.items():
        if _NODE.fullmatch(name) is None:
            yield Problem(
                ("host", name), f'"{name}" is no name of a node', "as in the scenario; * and ? are allowed"
            )
        if host.emulates:
            yield from _emulator_faults(name, host)
    if len(inventory.ends) < fewest:
        message = "an experiment has two machines at least" if fewest > 1 else "there is no machine"
        yield Problem(("host",), message, _BEGIN)
    emulators = [name for name, host in inventory.host.items() if host.emulates]
    for name in emulators[1:]:
        yield Problem(
            ("host", name), f"{emulators[0]} is the emulator already", "one machine can be in the middle"
        )


def _emulator_faults(name: str, host: Host) -> Iterator[Problem]:
    for key in ("forward", "backward"):
        if getattr(host, key) is None:
            hint = "an emulator has two devices, one towards the receivers, one towards the senders"
            yield Problem(("host", name), f"{key} is missing", hint)
    if host.forward is not None and host.forward == host.backward:
        hint = "packets of both directions would wait in one queue; use two devices, or two VLANs"
        yield Problem(("host", name, "backward"), f"{host.backward} is the device of `forward`, too", hint)
    for key in ("address", "device", "sysctl"):
        if getattr(host, key):
            yield Problem(("host", name, key), "an emulator has no such key: no flow begins or ends there")
