"""What every sentence of an explanation is made of."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rushhour.causes.evidence import Setting
from rushhour.causes.finding import Command, Finding, Remedy
from rushhour.causes.table import CAUSES
from rushhour.causes.thresholds import DEAF
from rushhour.quantities.short import percent, rate
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from rushhour.causes.evidence import Cure, Named
    from rushhour.explain.evidence import RecordedFlow

NAMED = 3


def told(e: RecordedFlow, one: Named, limit: str, share: float) -> Finding:
    """What a rule says of this flow; how much it matters is the ranking's to say."""
    cause = CAUSES[one.key]
    held = share if one.share is None else one.share
    cure = remedy(e, one.cure)
    return Finding(one.key, "note", one.says, one.queue, (), held, cure, cause.layer, cause.source, limit)


def remedy(e: RecordedFlow, cure: Cure | None) -> Remedy | None:
    """A cure as commands and as `--set` of the scenario."""
    if cure is None:
        return None
    overrides = {e.sysctl_key(one.host, one.name): one.value for one in cure.settings}
    overrides |= {f"{e.flow_key}.{name}": value for name, value in cure.socket.items()}
    typed = cure.settings
    if "cc" in cure.socket:  # an option of the flow in a scenario; what a person sets is the host's
        typed = (*typed, Setting(e.sender, "net.ipv4.tcp_congestion_control", cure.socket["cc"]))
    return Remedy(cure.advice, tuple(Command(one.host, one.command) for one in typed), overrides)


def deaf(e: RecordedFlow) -> str:
    """The datagrams that have most of the bottleneck, whatever it drops or marks; empty where none have."""
    streams = [one for one in e.beside if one.kind in kinds.UDP_STREAMS]
    if math.fsum(one.rate_bps for one in streams) < DEAF * (e.possible_bps or math.inf):
        return ""
    return " and ".join(one.name for one in streams[:NAMED]) + (" and others" if streams[NAMED:] else "")


def flooded(e: RecordedFlow) -> bool:
    """Whether datagrams have most of the bottleneck, and the flow mostly waits for its timer beside them.

    Then what it has is a matter of chance, and not of its algorithm.
    """
    return bool(deaf(e)) and e.limited("timeouts") > e.limited("path")


def reached(e: RecordedFlow) -> str:
    """What is said first of a flow below its path's rate."""
    return f"{e.name} reached {of_possible(e)}."


def of_possible(e: RecordedFlow) -> str:
    """What a flow had of what its bottleneck carries, and who else was there: 7.4 Mbit/s of 19.1 Mbit/s."""
    of = f" of {possible(e)}" if e.possible_bps else ""
    return f"{rate(e.goodput_bps)}{of}{shared(e)}{beside(e)}"


def possible(e: RecordedFlow) -> str:
    """What its bottleneck carries; of what changes a mean, which need not have been there at any time."""
    mean = rate(e.possible_bps or e.goodput_bps)
    if not e.possible_between:
        return mean
    least, most = map(rate, e.possible_between)
    return f"{mean} on average ({least} to {most})"


def shared(e: RecordedFlow) -> str:
    """With how many lasting TCP flows it shares its bottleneck."""
    if not e.others:
        return ""
    if len(e.others) == 1:
        return f" that it shares with {e.others[0].name}"
    return f" that it shares with {len(e.others)} other TCP flows"


def beside(e: RecordedFlow) -> str:
    """The traffic beside it that is no lasting TCP flow, the greatest three by name."""
    if not e.beside:
        return ""
    named = [f"{one.name} ({one.kind}) with {rate(one.rate_bps)}" for one in e.beside[:NAMED]]
    rest = e.beside[NAMED:]
    if rest:
        named.append(f"{len(rest)} more with {rate(math.fsum(one.rate_bps for one in rest))}")
    return f", beside {' and '.join(named)}"


def part(e: RecordedFlow, limit: str) -> str:
    """For how much of its time a limit held the flow."""
    return f"for {percent(e.shares.get(limit, 0.0))} of its time"
