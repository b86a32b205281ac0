"""Packet filters at the ends: rules that drop, and filters of traffic control that do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.causes.finding import finding
from rushhour.causes.telling import sentence
from rushhour.causes.thresholds import LOST
from rushhour.diagnosis.case import DIRECTIONS, receiver
from rushhour.diagnosis.gather.counters import filter_name
from rushhour.diagnosis.rules import common
from rushhour.diagnosis.rules.common import told
from rushhour.quantities.short import rate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.causes.cause import Severity
    from rushhour.causes.finding import Finding
    from rushhour.diagnosis.case import Case
    from rushhour.record.facts_file import Dropping

# Expressions by which a rule drops some packets of a flow and lets others pass.
PARTIAL = frozenset(("limit", "hashlimit", "numgen", "statistic", "quota", "random", "length"))


def _loses(case: Case) -> bool:
    """Whether anything was lost on the way there or back."""
    for direction in DIRECTIONS:
        measured = case.measured.get(direction)
        udp = measured.udp.loss if measured is not None and measured.udp is not None else 0.0
        if max(common.retransmitted(case, direction), udp) > LOST:
            return True
    return False


def drops(case: Case) -> Iterator[Finding]:
    """A rule of the packet filter that dropped packets while measuring, or that drops a part of all."""
    for end, facts in common.ends(case):
        for rule in facts.firewall.dropping:
            counted = common.risen(case, end, filter_name(rule))
            partial = PARTIAL & set(rule.expressions)
            if not counted and not partial:
                continue
            lossy = _loses(case)
            severity: Severity = (
                "critical" if counted and lossy else "warning" if partial and lossy else "note"
            )
            place = f"{rule.family} {rule.table} {rule.chain}"
            yield finding(
                "packet-filter-drops",
                severity,
                sentence(
                    "packet-filter-drops", host=common.name(case, end), what=_what(rule, partial), chain=place
                ),
                end,
                evidence=(
                    told(end, "rule", f"{place}, handle {rule.handle}: {' '.join(rule.expressions)}"),
                    *(told(end, "packets dropped meanwhile", f"{by:.0f}") for by in counted.values()),
                ),
                gain="no loss from it",
                fix=(
                    common.shell(end, f"nft -a list chain {place}"),
                    common.shell(end, f"nft delete rule {place} handle {rule.handle}"),
                ),
            )


def _what(rule: Dropping, partial: frozenset[str]) -> str:
    limit = rule.limit
    if limit is not None and limit.over and limit.a_second:
        most = limit.a_second
        return f"what exceeds {rate(8 * most) if limit.of == 'bytes' else f'{most:g} packets a second'}"
    return "some packets of every flow" if partial else "packets"


def policy(case: Case) -> Iterator[Finding]:
    """A chain that drops whatever no rule lets through, while nothing passed."""
    for direction in DIRECTIONS:
        measured = case.measured.get(direction)
        single = measured.single if measured is not None else None
        if single is None or single.error is None:
            continue
        end = receiver(direction)
        closed = [one for one in case.facts(end).firewall.chains if one.policy == "drop"]
        for chain in closed:
            place = f"{chain.family} {chain.table} {chain.chain}"
            yield finding(
                "packet-filter-closed",
                "critical",
                sentence(
                    "packet-filter-closed", host=common.name(case, end), chain=place, hook=f"{chain.hook}"
                ),
                end,
                evidence=(told(end, f"policy of {place}", "drop"), told(direction, "TCP", single.error)),
                fix=(common.shell(end, f"nft list chain {place}   # allow the ports of the measurement"),),
            )


def actions(case: Case) -> Iterator[Finding]:
    """Filters of traffic control that drop, redirect or run a program on every packet."""
    for end, facts in common.ends(case):
        for dev, found in facts.qdisc.items():
            for one in found.filters:
                does = [action.kind for action in one.actions if action.kind != "police"]
                if not does and one.kind != "bpf":
                    continue
                hook = one.hook if one.hook != "root" else "egress"
                yield finding(
                    "filter-on-the-device",
                    "note",
                    (
                        sentence(
                            "filter-on-the-device",
                            kind=one.kind,
                            hook=hook,
                            dev=dev,
                            host=common.name(case, end),
                            does=f" ({', '.join(does)})" if does else "",
                        )
                    ),
                    end,
                    evidence=(told(end, f"{hook} of {dev}", f"{one.kind}, priority {one.priority}"),),
                    fix=(common.shell(end, f"tc -s filter show dev {dev} {one.hook}"),),
                )


RULES = (drops, policy, actions)
