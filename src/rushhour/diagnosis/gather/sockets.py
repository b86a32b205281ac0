"""Sockets in sum: memory against its limits, drops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushhour.diagnosis.gather.text import number

if TYPE_CHECKING:
    from rushhour.diagnosis.gather.reading import Reading


def section(reading: Reading) -> dict[str, Any]:
    """`/proc/net/sockstat`, drops of UDP sockets, states of TCP sockets, connections with the other end."""
    found: dict[str, Any] = {}
    for line in (reading.text("/proc/net/sockstat") or "").splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        for title, word in zip(words[::2], words[1::2], strict=False):
            found[f"{name.lower()}_{title}"] = number(word)
    drops = [udp_drops(reading.text(path)) for path in ("/proc/net/udp", "/proc/net/udp6")]
    if any(count is not None for count in drops):
        found["udp_drops"] = sum(count or 0 for count in drops)
    tcp = reading.sockets.get("tcp", {})
    found["states"] = tcp.get("states", {})
    found["tcp_drops"] = tcp.get("drops")
    found["with_peer"] = [
        {key: value for key, value in one.items() if key != "info"} for one in tcp.get("with_peer", [])
    ]
    return found


def udp_drops(text: str | None) -> int | None:
    """Datagrams that the open UDP sockets could not keep: the last column of `/proc/net/udp`."""
    if text is None:
        return None
    return sum(number(line.split()[-1]) or 0 for line in text.splitlines()[1:] if line.split())
