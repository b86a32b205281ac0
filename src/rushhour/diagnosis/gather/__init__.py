"""Facts of one end: asked of an agent there, then brought into sections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.diagnosis.facts import Facts
from rushhour.diagnosis.gather import counters, cpu, link, machine, memory, pcie, reading, sockets, sysctl
from rushhour.errors import HostError, RecordError
from rushhour.lab import clock
from rushhour.lab.host import answers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from rushhour.diagnosis.gather.reading import Asked, Reading

# How long the processors are watched to see how busy they are: 30 ticks of /proc/stat.
WATCH_S = 0.3


def gather(
    session: Asked, peer: str, *, dev: str | None = None, wait: Callable[[float], None] = clock.sleep
) -> Facts:
    """Everything at an end that bears on transfers to `peer` (its address), by the device on the way there.

    What cannot be read is left out and named in `unknown`, with the reason. Takes about half a second.

    Raises:
        HostError: the connection to the end is gone, or an answer of its agent has another shape.
    """
    found = reading.read(session, peer, dev)
    before = found.files.get("/proc/stat")
    wait(WATCH_S)
    after = answers.files(session, ["/proc/stat"]).get("/proc/stat")
    return sections(str(session.place), found, cpu.busy(before, after))


def sections(place: str, found: Reading, busy: Mapping[str, Any] | None = None) -> Facts:
    """What was read, in sections; `busy` is what was seen of the processors over a while.

    Raises:
        HostError: an answer has another shape.
    """
    made = {
        "host": machine.host(found),
        "link": link.section(found),
        "route": route(found),
        "pcie": pcie.section(found),
        "cpu": cpu.section(found) | dict(busy or {}),
        "memory": memory.section(found),
        "virtualisation": machine.virtualisation(found),
        "sysctl": sysctl.section(found.files),
        "qdisc": dict(found.qdiscs),
        "sockets": sockets.section(found),
        "firewall": machine.firewall(found),
        "time": machine.time(found),
        "counters": counters.section(found),
    }
    try:
        return Facts(place, made, dict(found.unknown))
    except RecordError as error:
        raise HostError(
            f"the agent's answer cannot be read: {error.message}",
            where=place,
            hint="a fault of ours: please report it",
            kind="garbled",
        ) from error


def route(found: Reading) -> dict[str, Any]:
    """The way to the other end, the entry behind it, and how the next hop is known."""
    way = dict(found.route)
    told = way.get("found", {})
    hop = told.get("gateway") or str(told.get("to", "")).partition("/")[0]
    known = [one for one in found.neighbours if one["address"] == hop and one["dev"] == told.get("dev")]
    return way | ({"neighbour": known[0]} if known else {})


def recount(session: Asked, facts: Facts) -> dict[str, int]:
    """The counters of an end now, to be held against those in `facts` by `counters.rise`."""
    reader = reading.Reader(session)
    reader.files([*reading.COUNTER_FILES, "/proc/net/udp", "/proc/net/udp6"], reading.LARGE)
    if facts.firewall.dropping:
        reader.found.firewall = reader.ask("firewall", "firewall")
    if dev := facts.link.dev:
        reader.found.links = reader.ask("links", "links", dev=dev)
        for name in list(reader.found.links)[: reading.MOST_CARDS]:
            reader.found.cards[name] = reader.ask(f"ethtool {name}", "ethtool", dev=name)
            reader.found.qdiscs[name] = reader.ask(f"qdiscs {name}", "qdiscs", dev=name)
    return counters.section(reader.found)
