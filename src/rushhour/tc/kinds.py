"""The queue disciplines, filters and actions that the agent encodes itself, and what is to be known of each.

`kinds.json` beside this file is the one list: the agent's `build.rs` makes its own table from it. A
discipline is a row there, and an encoder in `agent/src/tc/kinds/` if no other has the same options. Keys:

| key | is |
|---|---|
| `name` | what tc and the kernel call it |
| `qdisc`, `class` | the agent's encoders of its words and its classes' words; without: no words, no classes |
| `needs` | what it takes beside its words before packets pass; without, it works alone |
| `packets` or `bytes` | the word that limits it, and whether that counts packets or bytes |
| `times` | its limit in bytes over the buffer that is asked for |
| `most` | the largest limit that it takes |
| `per_flow` | a second limit, of one flow, which the buffer becomes as well |
| `rate`, `flow_rate` | the word by which it keeps a rate of its own, or one for each flow |
| `unpaced` | the word that ends the rate of each flow |
| `separates` | it serves flows in turn: one does not wait behind the others |
| `one_line` | packets leave in the order in which they came, until it is full |
| `manages` | it keeps itself short: it drops or marks before it is full |
| `interval` | the word of CoDel's interval: how long a wait must last before it drops or marks |
| `device_length` | without a limit of its own it holds as many packets as the device's `txqueuelen` says |
| `offered` | `false`: nothing that the playground offers as a queue |
| `alone` | `false`: its words alone do not make it a device's queue |
| `hook` | `ingress`: it hangs where packets arrive, beside the root |
| `option` | the end of `CONFIG_NET_SCH_…`, where that is not its name; empty: the kernel always has it |
| `nested` | the kernel insists on options that are marked as nested |
| `returns` | its options in a dump are those of a request, so it can be put back as it was |
| `told` | options of four bytes that facts tell, with the numbers of their attributes |
| `statistics` | its own statistics (`TCA_STATS_APP`), a flat structure: numpy's types, the fields' names |
"""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

_LIST: dict[str, Any] = json.loads((files("rushhour.tc") / "kinds.json").read_text(encoding="utf-8"))
_QDISCS: dict[str, dict[str, Any]] = {row["name"]: row for row in _LIST["qdiscs"]}


def _each(key: str) -> dict[str, Any]:
    return {name: row[key] for name, row in _QDISCS.items() if key in row}


QDISCS = frozenset(_QDISCS)
# Those with classes in tc's own words.
CLASSES = frozenset(_each("class"))
FILTERS = frozenset(_LIST["filters"])
ACTIONS = frozenset(_LIST["actions"])
# What becomes of a packet, which tc takes for an action as well: `action drop` is one of gact.
CONTROLS = frozenset(_LIST["controls"])
# What a buffer becomes in a discipline's words: a word that counts packets, or bytes.
PACKET_LIMITED: dict[str, str] = _each("packets")
BYTE_LIMITED: dict[str, str] = _each("bytes")
# The largest limit, bytes over the buffer's, and the word of one flow's limit.
MOST: dict[str, int] = _each("most")
TIMES: dict[str, int] = _each("times")
PER_FLOW: dict[str, str] = _each("per_flow")
# What a discipline takes beside its words before packets pass; the others work alone.
NEEDS: dict[str, str] = _each("needs")
# The word after which a discipline's rate stands: of all its packets, or of each flow; what ends the latter.
RATE: dict[str, str] = _each("rate")
FLOW_RATE: dict[str, str] = _each("flow_rate")
UNPACED: dict[str, str] = _each("unpaced")
# Those that serve flows in turn, and those that nobody would choose as a queue.
SEPARATING = frozenset(_each("separates"))
# Those that keep the order, those that keep themselves short, and CoDel's, with the word of its interval.
ONE_LINE = frozenset(_each("one_line"))
MANAGING = frozenset(_each("manages"))
INTERVAL: dict[str, str] = _each("interval")
# Those as long as the device says; `mq`, which is no row, is one of them for each queue of the card.
DEVICE_LENGTH = frozenset((*_each("device_length"), "mq"))
NOT_OFFERED = frozenset(name for name, row in _QDISCS.items() if not row.get("offered", True))
# Names and types of the fields of a discipline's own statistics, in order.
STATISTICS: dict[str, tuple[tuple[str, str], ...]] = {
    name: tuple((field, kind) for kind, fields in rows for field in fields.split())
    for name, rows in _each("statistics").items()
}
# Words that only tc itself understands: of filters, after `match`, after `distribution`.
FOREIGN_WORDS = frozenset(_LIST["foreign"]["filter"])
# What stands before the kind in a line of a qdisc: whether it is a change, where it hangs, a table of sizes.
_BEFORE = re.compile(
    r"^(?:\s*(?:change|root|ingress|clsact|stab|"
    r"(?:parent|handle|classid|mtu|tsize|mpu|overhead|linklayer)\s+\S+))*\s*"
)
FOREIGN_AFTER = {name: frozenset(_LIST["foreign"][name]) for name in ("match", "distribution")}


def kind_of(line: str) -> str | None:
    """The kind in a line of tc's words: `root handle 1: tbf rate …` → `tbf`."""
    words = _BEFORE.sub("", line).split()
    return words[0] if words else None
