"""What the agent may do at a place, and what each missing privilege or program costs."""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rushhour.errors import HostError
from rushhour.lab.host import answers
from rushhour.lab.host.clocks import Offset, offset
from rushhour.lab.host.place import Place
from rushhour.lab.host.session import Session
from rushhour.lab.host.transport import give_up

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

FORMAT = "rushhour-hosts/1"
_PING = "/proc/sys/net/ipv4/ping_group_range"
_FILESYSTEMS = "/proc/filesystems"
_CC = "/proc/sys/net/ipv4/tcp_available_congestion_control"
_RESTRICTED = "/proc/sys/net/ipv4/tcp_allowed_congestion_control"
_LOAD = "/proc/loadavg"
_MEMORY = "/proc/meminfo"
_FILES = (_PING, _FILESYSTEMS, _CC, _RESTRICTED, _LOAD, _MEMORY)
_LITTLE_MB = 256


@dataclass(frozen=True)
class Lack:
    """Something that is missing at a place: what it costs, and what to do."""

    what: str
    cost: str
    remedy: str


@dataclass(frozen=True)
class Ability:
    """What is known of a place; `error` where it could not be reached, and then nothing else is."""

    place: str
    error: HostError | None = None
    hello: Mapping[str, Any] | None = None
    opened_s: float = 0.0
    clock: Offset | None = None
    algorithms: tuple[str, ...] = ()
    lacks: tuple[Lack, ...] = ()

    def document(self) -> dict[str, Any]:
        """As JSON."""
        if self.error:
            told = {"message": self.error.message, "kind": self.error.kind, "hint": self.error.hint}
            return {"place": self.place, "error": told}
        assert self.clock is not None
        return {
            "place": self.place,
            "host": dict(self.hello or {}),
            "opened_s": round(self.opened_s, 3),
            "clock": {"offset_ns": self.clock.ns, "error_ns": self.clock.error_ns},
            "congestion_control": list(self.algorithms),
            "lacks": [asdict(lack) for lack in self.lacks],
        }


def check(
    places: Sequence[str], *, ssh_config: str | Path | None = None, sudo: bool = False
) -> list[Ability]:
    """Open a session at each place, all at once, and ask what it is able to.

    Raises:
        UsageError: one is no place; none is contacted then.
    """
    parsed = [Place.parse(text) for text in places]

    def one(place: Place) -> Ability:
        begin = time.monotonic()
        try:
            with Session.open(place, ssh_config=ssh_config, sudo=sudo) as session:
                opened = time.monotonic() - begin
                return _ask(place, session, opened)
        except HostError as error:
            return Ability(place.text, error=error)

    with ThreadPoolExecutor(max(len(parsed), 1)) as pool:
        asked = [pool.submit(one, place) for place in parsed]
        try:
            return [ability.result() for ability in asked]
        except BaseException:
            give_up(asked)
            raise


def lacks(hello: Mapping[str, Any], files: Mapping[str, str], warnings: Sequence[str]) -> list[Lack]:
    """What is missing at a place, from what its agent and its kernel tell."""
    capabilities = set(hello["capabilities"])
    root = "log in as root, or use --sudo"
    found = []
    if "net_admin" not in capabilities:
        cost = "no emulator, no profile, no tuning, no settings of network cards: measured as it is"
        found.append(Lack("CAP_NET_ADMIN", cost, root))
    if "net_raw" not in capabilities and not _may_ping(hello, files.get(_PING, "")):
        cost = "no echo: idle RTT comes from TCP's handshakes, path MTU is not searched"
        found.append(Lack("CAP_NET_RAW", cost, f"{root}, or let its group into net.ipv4.ping_group_range"))
    if "sys_admin" not in capabilities:
        cost = "no tcp_probe: cwnd and RTT are sampled (tcp_info), not told per ACK; no mounts of its own"
        found.append(Lack("CAP_SYS_ADMIN", cost, root))
    elif not re.search(r"^nodev\s+tracefs$", files.get(_FILESYSTEMS, ""), re.MULTILINE):
        cost = "no tcp_probe: cwnd and RTT are sampled (tcp_info), not told per ACK"
        found.append(Lack("tracefs", cost, "a kernel with CONFIG_FTRACE"))
    if restricted := _restricted(capabilities, files):
        found.append(Lack("congestion control", f"not allowed: {', '.join(restricted)}", root))
    if (memory := _available_mb(files.get(_MEMORY, ""))) is not None and memory < _LITTLE_MB:
        found.append(Lack("memory", f"{memory} MB are free: long runs may not fit", "free some"))
    busy = float(files.get(_LOAD, "0").split()[0])
    if busy > hello["cpus"] / 2:
        cost = f"others keep it busy (load {busy:g} on {hello['cpus']} CPUs): real time is disturbed"
        found.append(Lack("quiet", cost, "stop what runs there"))
    return found + [Lack("agent", warning, "") for warning in warnings]


def _ask(place: Place, session: Session, opened_s: float) -> Ability:
    files = answers.files(session, _FILES)
    told = lacks(session.hello, files, [*session.warnings, *session.hello.get("warnings", [])])
    algorithms = tuple(files.get(_CC, "").split())
    return Ability(place.text, None, session.hello, opened_s, offset(session), algorithms, tuple(told))


def _may_ping(hello: Mapping[str, Any], text: str) -> bool:
    """Whether echoes may be sent by ICMP sockets (icmp(7)); by the user's number, as groups are not told."""
    low, high = (int(word) for word in (text.split() or ["1", "0"]))
    return low <= int(hello["uid"]) <= high


def _restricted(capabilities: set[str], files: Mapping[str, str]) -> list[str]:
    allowed = set(files.get(_RESTRICTED, "").split())
    available = files.get(_CC, "").split()
    # tcp(7): who has CAP_NET_ADMIN may choose any that is available.
    return [] if "net_admin" in capabilities else [name for name in available if name not in allowed]


def _available_mb(meminfo: str) -> int | None:
    found = re.search(r"^MemAvailable:\s+(\d+) kB", meminfo, re.MULTILINE)
    return int(found[1]) // 1024 if found else None
