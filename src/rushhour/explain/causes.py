"""The rules: from the evidence about a flow to causes.

A rule is a function `RecordedFlow → Finding | None`, listed here under the limit that it explains; of the
rules of one limit the first that knows the flow speaks. Limits that are not here have the rules of every flow
(`rushhour.causes.rules`), which serve diagnoses, too. To add a cause: one row of the table of causes, one
function, one word here, one cell in tests/truth/test_explain.py that has it and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.explain import hosts, losses, sharing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rushhour.causes.finding import Finding
    from rushhour.explain.evidence import RecordedFlow

    Rule = Callable[[RecordedFlow], Finding | None]

RULES: Mapping[str, tuple[Rule, ...]] = {
    "handshake": (hosts.handshake,),
    "acks": (sharing.ack_queue, sharing.ack_loss),
    "receiver": (hosts.receiver,),
    "slow_start": (hosts.slow_start,),
    "window": (hosts.small_window,),
    "timeouts": (losses.no_sack, losses.timeouts),
    "losses": (losses.origin,),
    "marks": (losses.impatient_queue, losses.marked),
    "path": (
        sharing.pushed_aside,
        sharing.acks_wait_most,
        sharing.bufferbloat,
        sharing.sender_shaper,
        sharing.full_path,
    ),
}
"""Limit → its rules, in order."""
