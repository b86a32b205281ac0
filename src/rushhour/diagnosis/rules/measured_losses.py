"""Findings on losses, where the rule of every flow does not say all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.causes.finding import Command
from rushhour.causes.rules import named
from rushhour.causes.thresholds import MAIN, USED
from rushhour.diagnosis.bottleneck import causes
from rushhour.diagnosis.case import ENDS
from rushhour.diagnosis.flow import MeasuredFlow
from rushhour.diagnosis.losses import at_a_full_queue, when
from rushhour.diagnosis.rules.measured_words import (
    commands,
    dev,
    errors_at,
    held,
    made,
    on_at_both,
    taken_out,
)
from rushhour.quantities.short import percent

if TYPE_CHECKING:
    from rushhour.causes.evidence import Named
    from rushhour.causes.finding import Finding
    from rushhour.causes.held import Held
    from rushhour.diagnosis.case import Case
    from rushhour.diagnosis.measured import Measured


def by_rule(case: Case, m: Measured, cause: Held) -> Finding:
    """What the rule of every flow says of an origin, where to look, and what is set for it."""
    assert m.single is not None
    one = named(MeasuredFlow(m, m.single, case), cause.limit, cause.limited)
    assert one is not None
    return made(cause, m, one.says, (*_look(case, cause.key), *commands(case, one)))


def chance(case: Case, m: Measured) -> Named | None:
    """What the rule says of packets that chance took, where that held the flow of a direction back."""
    held_back = [cause for cause in causes(m) if cause.key == "random-loss" and cause.limited >= MAIN]
    if m.single is None or not held_back:
        return None
    return named(MeasuredFlow(m, m.single, case), held_back[0].limit, held_back[0].limited)


def _look(case: Case, key: str) -> tuple[Command, ...]:
    """Where to look for what is to be repaired."""
    if key == "outages":
        flaps = "dmesg | grep -i 'link is'"
        return tuple(
            Command(end, f"cat /sys/class/net/{dev(case, end)}/carrier_changes; {flaps}") for end in ENDS
        )
    return tuple(errors_at(case, end) for end in ENDS) if key in _LINK else ()


_LINK = {"corruption", "random-loss", "losses"}


def sack_off(case: Case, m: Measured, cause: Held) -> Finding | None:
    """Several losses in a window take a round trip each."""
    if _enough(m):
        return None
    if on_at_both(case, "net.ipv4.tcp_sack"):
        text, look = taken_out(case, m, "SACK permitted (sackOK)")
        title = f"{text}. A round trip repairs only one loss, and {held(cause)} the window was small."
        return replace(made(cause, m, title, look), layer="path")
    return by_rule(case, m, cause)


def some(case: Case, m: Measured, cause: Held) -> Finding | None:
    """Losses whose origin the other measurements do not show."""
    assert m.single is not None
    if _enough(m):
        return None
    if at_a_full_queue(m, m.single):
        again = f"{percent(m.single.retransmit_share)} of the segments {m.direction} were sent again"
        title = (
            f"{again}{when(m, m.single)}, when the queue was full: so TCP finds the path's rate. In a longer "
            "transfer they weigh less."
        )
        return replace(made(cause, m, title), severity="note")
    return by_rule(case, m, cause)


def _enough(m: Measured) -> bool:
    most = m.capacity_bps
    return m.single is not None and most is not None and m.single.steady_bps >= USED * most
