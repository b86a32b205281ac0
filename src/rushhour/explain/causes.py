"""From the evidence about a flow to findings: the rules of every flow, with what a scenario can set.

To add a cause: one row of the table of causes, one rule (`rushhour.causes.rules`), and one cell in
tests/truth/test_explain.py that has it and nothing else. Where the numbers of every flow do not show it,
`origins` or `sharing` says what does in a record.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.causes import loss_rules
from rushhour.causes.evidence import Named
from rushhour.causes.rules import named
from rushhour.causes.thresholds import SHALLOW
from rushhour.explain.settable import SETTABLE
from rushhour.explain.words import told
from rushhour.quantities.short import size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.causes.finding import Finding
    from rushhour.explain.evidence import RecordedFlow

TAKES_AWAY = {
    "sack-off": "sack",
    "impatient-queue": "impatient",
    "other-algorithm": "unfair",
    "longer-path": "unfair",
    "ack-queue": "acks",
    "ack-loss": "ack_loss",
    "marks-assumed": "ack_loss",
    "no-room-for-messages": "messages",
}
"""Causes whose remedy takes away another limit than the one that held."""
LOSSES = ("losses", "timeouts")
HELD: Mapping[str, tuple[str, ...]] = {"losses": LOSSES, "timeouts": LOSSES}
"""Limit → the limits whose time counts for its causes, where it is not alone."""


def first(e: RecordedFlow, limit: str) -> Finding | None:
    """What the first rule of a limit says that knows the flow."""
    share = e.limited(*HELD.get(limit, (limit,)))
    return _finding(e, named(e, limit, share), limit, share)


def policer(e: RecordedFlow) -> Finding | None:
    """What a policer drops, whatever else there is."""
    share = e.limited(*LOSSES)
    return _finding(e, loss_rules.policer(e, share), "losses", share)


def random_loss(e: RecordedFlow) -> Finding | None:
    """What chance takes, whatever else there is."""
    share = e.limited(*LOSSES)
    return _finding(e, loss_rules.random_loss(e, share), "losses", share)


def would_overflow(e: RecordedFlow) -> Finding | None:
    """The queue at the bottleneck is too short for more, though nothing was dropped yet."""
    if e.buffer is None or e.buffer >= SHALLOW * (e.bdp or 0) or e.cc.startswith("bbr"):
        return None
    if e.asked.get("bytes", math.inf) <= e.buffer:
        return None  # all of it fits
    says = (
        f"Behind that, the queue at {e.bottleneck} holds {size(e.buffer)}, the path {size(e.bdp or 0)}: it "
        "would run over long before the window fills the path."
    )
    one = Named("shallow-queue", e.sender, says, loss_rules.longer_queue(e))
    return _finding(e, one, "shallow", 0.0)


def _finding(e: RecordedFlow, one: Named | None, limit: str, share: float) -> Finding | None:
    """A finding of what a rule says, its remedy with what the scenario can set."""
    if one is None:
        return None
    found = told(e, one, TAKES_AWAY.get(one.key, limit), share)
    settable = SETTABLE.get(one.key)
    if settable is None or found.remedy is None:
        return found
    return replace(found, remedy=settable(e, found.remedy))
