"""Findings on what limited the measured flows: one for each cause that held for long enough."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.causes.end_rules import PROGRAM
from rushhour.causes.evidence import DELAY_BASED
from rushhour.causes.finding import Command
from rushhour.causes.rules import named
from rushhour.causes.table import CAUSES
from rushhour.causes.thresholds import ALL_BUSY, FOREIGN, GRAVE, MAIN, OTHERS_BUSY, RESENT
from rushhour.diagnosis.bottleneck import causes
from rushhour.diagnosis.flow import MeasuredFlow
from rushhour.diagnosis.possible import bdp
from rushhour.diagnosis.rules import measured_broken as broken
from rushhour.diagnosis.rules import measured_losses as losses
from rushhour.diagnosis.rules.measured_words import (
    commands,
    dev,
    made,
    on_at_both,
    taken_out,
)
from rushhour.quantities.short import size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rushhour.causes.cause import Severity
    from rushhour.causes.finding import Finding
    from rushhour.causes.held import Held
    from rushhour.diagnosis.case import Case
    from rushhour.diagnosis.measured import Measured

    Maker = Callable[[Case, Measured, Held], Finding | None]


def limits(case: Case) -> Iterator[Finding]:
    """What held a single flow back in each direction.

    Where our own sender or reader did most of all, that is a warning, and so at most is all that rates say
    beside it: a rate that we ourselves kept small proves little of a path, either way between the same two
    programs. Where something else held longer, ours is a note.
    """
    found = [one for m in case.measured.values() for one in _of(case, m)]
    ours = any(CAUSES[one.key].ours and one.severity != "note" for one in found)
    for one in found:
        grave = one.severity == "critical" and ours and not CAUSES[one.key].certain
        yield replace(one, severity="warning") if grave else one


def _of(case: Case, m: Measured) -> Iterator[Finding]:
    known = causes(m)
    for cause in known:
        usual = losses.by_rule if cause.limit == "losses" else _by_rule
        made = MAKERS.get(cause.key, usual)(case, m, cause) if cause.limited >= MAIN else None
        if made is not None:
            found = _doubted(made, m, cause)
            most: Severity = "warning" if cause is known[0] else "note"
            ours = CAUSES[found.key].ours and found.severity != "note"
            yield replace(found, severity=most) if ours else found


def _doubted(found: Finding, m: Measured, cause: Held) -> Finding:
    """What a machine may have caused that others keep busy is no more than a note."""
    got = m.single.goodput_bps if m.single is not None else 0.0
    lossy = m.single is not None and m.single.retransmit_share > RESENT
    if not CAUSES[found.key].doubtful or lossy or (cause.expected_bps or 0) >= GRAVE * got:
        return found
    busy = [
        cpu for cpu in m.cpu.values() if (cpu.others or 0) >= FOREIGN * cpu.count and cpu.mean >= ALL_BUSY
    ]
    return replace(found, severity="note") if busy else found


def _by_rule(case: Case, m: Measured, cause: Held) -> Finding:
    """What the rule of its limit says, and what is set for it, or where to look."""
    assert m.single is not None
    one = named(MeasuredFlow(m, m.single, case), cause.limit, cause.limited, without={"bufferbloat"})
    assert one is not None
    look = one.cure.look if one.cure is not None else ""
    look = (look or PROGRAM).replace("{dev}", dev(case, one.where))
    found = made(cause, m, one.says, commands(case, one) or (Command(cause.where, look),))
    return found if cause.where == m.direction else replace(found, where=one.where)


def _window_scaling(case: Case, m: Measured, cause: Held) -> Finding:
    if on_at_both(case, "net.ipv4.tcp_window_scaling"):
        text, look = taken_out(case, m, "window scale (wscale)")
        title = f"{text}. No more than 64 KiB can be in flight, and the path holds {size(bdp(m))}."
        return replace(made(cause, m, title, look, STRIPPED), where=m.direction, layer="path")
    return _by_rule(case, m, cause)


STRIPPED = "RFC 7323, section 2.2; Honda et al., Is It Still Possible to Extend TCP?, IMC 2011"


def _slow_program(case: Case, m: Measured, cause: Held) -> Finding:
    found = _by_rule(case, m, cause)
    return replace(found, title=f"{found.title} The path may carry more than was measured.")


def _cpu_limited(case: Case, m: Measured, cause: Held) -> Finding:
    found = _by_rule(case, m, cause)
    others = m.cpu[cause.where].others or 0.0
    return replace(found, severity="warning" if others > OTHERS_BUSY else "note")


def _small_window(case: Case, m: Measured, cause: Held) -> Finding | None:
    # Of other algorithms it is a window still growing: the measurement was too short, not the path too poor.
    known = m.single is not None and m.single.cc in DELAY_BASED
    return _by_rule(case, m, cause) if known else None


def _no_finding(_: Case, __: Measured, ___: Held) -> None:
    """A path that is full does what it is for."""


MAKERS: Mapping[str, Maker] = {
    "unreachable": broken.unreachable,
    "port-blocked": broken.port_blocked,
    "no-answers": broken.no_answers,
    "stalled": broken.stalled,
    "mtu-black-hole": broken.black_hole,
    "window-scaling-off": _window_scaling,
    "slow-writer": _slow_program,
    "slow-reader": _slow_program,
    "cpu-limited": _cpu_limited,
    "small-window": _small_window,
    "sack-off": losses.sack_off,
    "losses": losses.some,
    "path-rate": _no_finding,
}
"""Cause → its finding, where the rule of its limit does not say all."""
