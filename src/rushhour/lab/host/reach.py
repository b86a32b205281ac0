"""Where machines reach each other: the addresses and the devices of an experiment.

Takes what each machine says of its addresses and its routes, gives one address for each such that packets to
it leave the other from that other's. Pure: the questions are asked by the caller.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from itertools import product
from typing import TYPE_CHECKING, Any

from rushhour.errors import HostError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

FIB = "/proc/net/fib_trie"
IPV6 = "/proc/net/if_inet6"
_GLOBAL_SCOPE = "00"
_NODE = re.compile(r"\|-- (\S+)")
MOST_CANDIDATES = 16


@dataclass(frozen=True, slots=True)
class Way:
    """How a machine sends to an address: from which of its own, by which device, by way of whom."""

    source: str
    device: str
    gateway: str | None = None


def local_addresses(files: Mapping[str, str]) -> list[str]:
    """A machine's own addresses that others may reach, of what `/proc` tells (`FIB`, `IPV6`)."""
    found: list[IPv4Address | IPv6Address] = []
    last = ""
    for line in files.get(FIB, "").splitlines():
        if node := _NODE.search(line):
            last = node[1]
        elif "/32 host LOCAL" in line:
            found.append(ip_address(last))
    for line in files.get(IPV6, "").splitlines():
        words = line.split()
        if len(words) == 6 and words[3] == _GLOBAL_SCOPE:
            found.append(ip_address(bytes.fromhex(words[0])))
    return [str(address) for address in dict.fromkeys(found) if not address.is_loopback][:MOST_CANDIDATES]


def way(answer: Mapping[str, Any]) -> Way | None:
    """What the agent's verb `route` answered; None if packets cannot leave there."""
    found = answer.get("found") or {}
    source, device = found.get("source"), found.get("dev")
    return Way(str(source), str(device), found.get("gateway")) if source and device else None


def addresses(
    pairs: Iterable[tuple[str, str]],
    candidates: Mapping[str, Sequence[str]],
    ask: Callable[[str, str], Way | None],
) -> dict[str, str]:
    """One address for each machine, such that every pair has a way there and back between these two.

    Args:
        pairs: Who talks to whom.
        candidates: The addresses of each machine; one where it was said which.
        ask: The way by which a machine (its name first) sends to an address.

    Raises:
        HostError: a pair has none; says what was tried.
    """
    chosen: dict[str, str] = {}
    for one, other in pairs:
        mine = [chosen[one]] if one in chosen else candidates[one]
        theirs = [chosen[other]] if other in chosen else candidates[other]
        fitting = [
            (bool(there.gateway) + bool(back.gateway), number, here, far)
            for number, (here, far) in enumerate(product(mine, theirs))
            if (":" in here) == (":" in far)
            and (there := ask(one, far)) is not None
            and (back := ask(other, here)) is not None
            and (there.source, back.source) == (here, far)
        ]
        if not fitting:
            raise _no_way(one, other, mine, theirs)
        _, _, chosen[one], chosen[other] = min(fitting)
    return chosen


def _no_way(one: str, other: str, mine: Sequence[str], theirs: Sequence[str]) -> HostError:
    told = f"{one} has {', '.join(mine) or 'no address'}; {other} has {', '.join(theirs) or 'no address'}"
    return HostError(
        f"no route both ways between {one} and {other}: {told}",
        where=f"{one} ↔ {other}",
        hint="name for both the `address` of the experiment in the inventory; `ip route get ADDRESS` at each "
        "machine must show its own address as `src`",
    )
