"""The queue disciplines, filters and actions that the agent encodes itself, and what plans must know of them.

`kinds.json` beside this file is the list that `rushhour-agent kinds` prints; tests hold the two equal.
A plan must be known before there is an agent, so the list is kept here.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

_LIST: dict[str, Any] = json.loads((files("rushhour.plan") / "kinds.json").read_text(encoding="utf-8"))
_QDISCS: dict[str, dict[str, Any]] = _LIST["qdiscs"]

QDISCS = frozenset(_QDISCS)
# Those with classes in tc's own words.
CLASSES = frozenset(name for name, about in _QDISCS.items() if about.get("classes"))
FILTERS = frozenset(_LIST["filters"])
ACTIONS = frozenset(_LIST["actions"])
# What becomes of a packet, which tc takes for an action as well: `action drop` is one of gact.
CONTROLS = frozenset(_LIST["controls"])
# What a buffer becomes in a discipline's words: a word that counts packets, or bytes.
PACKET_LIMITED: dict[str, str] = {
    name: about["packets"] for name, about in _QDISCS.items() if "packets" in about
}
BYTE_LIMITED: dict[str, str] = {name: about["bytes"] for name, about in _QDISCS.items() if "bytes" in about}
# What a discipline takes beside its words before packets pass; the others work alone.
NEEDS: dict[str, str] = {name: about["needs"] for name, about in _QDISCS.items() if "needs" in about}
# Words that only tc itself understands: of filters, after `match`, after `distribution`.
FOREIGN_WORDS = frozenset(_LIST["foreign"]["filter"])
FOREIGN_AFTER = {name: frozenset(_LIST["foreign"][name]) for name in ("match", "distribution")}
