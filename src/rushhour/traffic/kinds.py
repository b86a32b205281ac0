"""The kinds of flows, and what is to be known of each.

`kinds.json` beside this file is the one list: the agent's `build.rs` makes its own from it. A kind is a row
there, and a driver in `agent/src/traffic/` if no other serves it. Keys of a row:

| key | is |
|---|---|
| `name` | what scenarios, plans and records call it |
| `driver` | the agent's module that opens its sockets and does the work |
| `transport` | `tcp`, `udp`, `icmp`, or `mptcp`: TCP connections, each a flow of its own |
| `carries` | a `stream` of payload; `echoes` with their answers; `transactions`; a `part` of a stream |
| `connects` | `each time`: each transaction has a connection of its own |
| `table` | the raw table that has a row for each of its packets or transactions |
| `keys` | the keys of a scenario's flow that it takes; a key that no kind names is for all |
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

_ROWS: list[dict[str, Any]] = json.loads(
    (files("rushhour.traffic") / "kinds.json").read_text(encoding="utf-8")
)


def _where(**wanted: str) -> tuple[str, ...]:
    return tuple(row["name"] for row in _ROWS if all(row.get(key) == value for key, value in wanted.items()))


KINDS: tuple[str, ...] = tuple(row["name"] for row in _ROWS if row["carries"] != "part")
# Whose packets are TCP's, of those that a scenario can ask for.
OVER_TCP = tuple(kind for kind in (*_where(transport="tcp"), *_where(transport="mptcp")) if kind in KINDS)
OVER_UDP = _where(transport="udp")
STREAMS = _where(carries="stream")
TCP_STREAMS = _where(transport="tcp", carries="stream")
UDP_STREAMS = _where(transport="udp", carries="stream")
MPTCP_STREAMS = _where(transport="mptcp", carries="stream")
SUBFLOWS = _where(carries="part")
ECHOES = _where(carries="echoes")
CALLS = _where(carries="transactions")
# With one connection of TCP from beginning to end, or with one for each transaction.
ONE_CONNECTION = tuple(row["name"] for row in _ROWS if row["transport"] == "tcp" and "connects" not in row)
MANY_CONNECTIONS = _where(connects="each time")
# Whose packets have a size of their own, which nobody cuts into segments.
DATAGRAMS = tuple(row["name"] for row in _ROWS if row["transport"] not in ("tcp", "mptcp"))
TABLE: dict[str, str] = {row["name"]: row["table"] for row in _ROWS if "table" in row}
# Which kinds use a key; a key that is not listed holds for all.
KINDS_OF_KEY: dict[str, tuple[str, ...]] = {
    key: tuple(row["name"] for row in _ROWS if key in row["keys"]) for row in _ROWS for key in row["keys"]
}

if TYPE_CHECKING:
    Kind = str
else:
    Kind = Literal[KINDS]
