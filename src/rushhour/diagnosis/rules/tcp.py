"""TCP's own settings: what both ends must agree on, and what each sender decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.causes.finding import Command, Proof, finding
from rushhour.causes.telling import sentence
from rushhour.causes.thresholds import (
    LEAST_CA_RATIO,
    LEAST_NOTSENT,
    LEAST_OUTPUT,
    LONG_RECOVERY_S,
    RECOVERY_S,
    WELL,
)
from rushhour.diagnosis.rules import common
from rushhour.diagnosis.rules.common import told
from rushhour.diagnosis.rules.switches import DSACK, SACK, TIMESTAMPS, WINDOW_SCALING
from rushhour.quantities.short import binary, duration, rate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.causes.cause import Severity
    from rushhour.causes.finding import Finding
    from rushhour.diagnosis.case import Case
    from rushhour.diagnosis.facts import Facts, Number

SEGMENT = 1448
ASKS, REFUSES = frozenset((1, 3, 4)), 0
"""Values of tcp_ecn by which a host asks for marks, and refuses them."""


def ecn(case: Case) -> Iterator[Finding]:
    """One end asks for marks instead of drops, the other refuses."""
    name: Number = "net.ipv4.tcp_ecn"
    values = {end: facts.number(name) for end, facts in common.ends(case)}
    asks = [end for end, value in values.items() if value in ASKS]
    refuses = [end for end, value in values.items() if value == REFUSES]
    if not asks or not refuses:
        return
    yield finding(
        "ecn-mismatch",
        "note",
        sentence("ecn-mismatch", host=common.name(case, asks[0]), other=common.name(case, refuses[0])),
        refuses[0],
        evidence=tuple(told(end, name, value) for end, value in values.items()),
        gain="no retransmissions where a queue can mark",
        fix=(common.sysctl(refuses[0], name, 2),),
    )


def recovery_time_s(rate_bps: float, rtt_ns: float) -> float:
    """Time that Reno needs after a loss to fill a path again: half the window at one segment a round trip.

    (RFC 5681, 3.1; the example in RFC 3649, section 1: 10 Gbit/s at 100 ms take over an hour.)
    """
    window = rate_bps * rtt_ns / 8e9 / SEGMENT
    return window / 2 * rtt_ns / 1e9


def reno(case: Case) -> Iterator[Finding]:
    """An algorithm that grows by a segment a round trip, on a long fast path."""
    for direction, from_, facts, _, _ in common.directions(case):
        flow, rtt = common.rate_bps(case, direction), common.rtt_ns(case)
        if common.algorithm(facts) != "reno" or not flow or not rtt:
            continue
        needs = recovery_time_s(flow, rtt)
        if needs < RECOVERY_S:
            continue
        hurts = needs >= LONG_RECOVERY_S and not common.is_full(case, direction)
        yield finding(
            "reno-on-a-long-path",
            "warning" if hurts else "note",
            sentence("reno-on-a-long-path", host=common.name(case, from_), time=f"{needs:.0f} s"),
            from_,
            evidence=(
                told(from_, "congestion control", "reno"),
                Proof(direction, "path", f"{rate(flow)}, {duration(rtt)}"),
                told(from_, "available", facts.text("net.ipv4.tcp_available_congestion_control")),
            ),
            gain="cubic fills the path again in a time that hardly depends on the RTT",
            fix=(_algorithm(from_, facts),),
        )


def _algorithm(end: str, facts: Facts) -> Command:
    available = (facts.text("net.ipv4.tcp_available_congestion_control") or "").split()
    command = common.sysctl(end, "net.ipv4.tcp_congestion_control", "cubic")
    if "cubic" in available:
        return command
    return Command(end, f"modprobe tcp_cubic && {command.text}", command.persistent)


# Algorithms that give way or need help, and what they are for.
ODD = {
    "dctcp": ("needs switches that mark at a low threshold, in a data centre only", "RFC 8257, section 5"),
    "lp": ("gives way to all other traffic (TCP-LP)", "Kuzmanovic, Knightly: TCP-LP, INFOCOM 2003"),
    "vegas": ("gives way to flows that fill queues", "Brakmo, Peterson: TCP Vegas, 1995; Mo et al. 1999"),
    "cdg": ("gives way to flows that fill queues", "Hayes, Armitage: CAIA Delay-Gradient, 2011"),
}


def odd_algorithm(case: Case) -> Iterator[Finding]:
    """A default algorithm that is not meant for general use."""
    name = "net.ipv4.tcp_congestion_control"
    for direction, from_, facts, _, _ in common.directions(case):
        algorithm = common.algorithm(facts)
        if algorithm not in ODD:
            continue
        why, source = ODD[algorithm]
        reached, carries = common.reached_bps(case, direction), common.rate_bps(case, direction)
        hurts = reached is not None and carries is not None and reached < WELL * carries
        yield finding(
            "odd-congestion-control",
            "warning" if hurts else "note",
            sentence("odd-congestion-control", host=common.name(case, from_), cc=algorithm, why=why),
            from_,
            evidence=(told(from_, "congestion control", algorithm),),
            gain="a fair share beside other traffic",
            fix=(common.sysctl(from_, name, "cubic"),),
            source=source,
        )


def not_allowed(case: Case) -> Iterator[Finding]:
    """An algorithm is the default of one end and not to be had at the other."""
    values = {end: facts.text("net.ipv4.tcp_congestion_control") for end, facts in common.ends(case)}
    for end, facts in common.ends(case):
        wanted = values["b" if end == "a" else "a"]
        available = facts.text("net.ipv4.tcp_available_congestion_control")
        if wanted is None or available is None or wanted in available.split() or wanted == "reno":
            continue
        yield finding(
            "congestion-control-missing",
            "note",
            sentence(
                "congestion-control-missing", wanted=wanted, host=common.name(case, end), own=f"{values[end]}"
            ),
            end,
            evidence=(
                told(end, "available", available),
                *(told(one, "default", value) for one, value in values.items()),
            ),
            gain="both directions behave alike",
            fix=(
                common.shell(
                    end,
                    f"modprobe tcp_{wanted} && sysctl -w net.ipv4.tcp_congestion_control={wanted}",
                ),
            ),
        )


# Limits within the sender's stack: the least that does no harm, and the usual value.
SMALL: dict[Number, tuple[float, int]] = {
    "net.ipv4.tcp_limit_output_bytes": (LEAST_OUTPUT, 1 << 20),
    "net.ipv4.tcp_notsent_lowat": (LEAST_NOTSENT, (1 << 32) - 1),
    "net.ipv4.tcp_pacing_ca_ratio": (LEAST_CA_RATIO, 120),
}


def small_limits(case: Case) -> Iterator[Finding]:
    """Limits within the sender's stack that were set far below their defaults."""
    for direction, from_, facts, _, _ in common.directions(case):
        for name, (least, usual) in SMALL.items():
            value = facts.number(name)
            if value is None or value >= least:
                continue
            severity: Severity = "note" if common.is_full(case, direction) else "warning"
            key = name.removeprefix("net.ipv4.").replace("_", "-") + "-small"
            yield finding(
                key,
                severity,
                sentence(key, host=common.name(case, from_), value=f"{value}"),
                from_,
                evidence=(told(from_, name, binary(value) if "ratio" not in name else f"{value} %"),),
                fix=(common.sysctl(from_, name, usual),),
            )


# What each setting is by default, and what another value does.
USUAL: dict[Number, tuple[int, str]] = {
    "net.ipv4.tcp_early_retrans": (3, "losses at the end of a transfer wait for a timeout"),
    "net.ipv4.tcp_recovery": (1, "losses are told by counting instead of by time (RACK)"),
    "net.ipv4.tcp_frto": (2, "timeouts that were none are not recognised"),
    "net.ipv4.tcp_reordering": (3, "more segments must be missing before one is sent again"),
    "net.ipv4.tcp_app_win": (31, "a part of the window is kept back"),
    "net.ipv4.tcp_min_tso_segs": (2, "segments are sent in larger or smaller groups"),
    "net.ipv4.tcp_tso_win_divisor": (3, "segments are sent in larger or smaller groups"),
    "net.ipv4.tcp_pacing_ss_ratio": (200, "slow start is paced otherwise"),
    "net.ipv4.tcp_comp_sack_nr": (44, "acknowledgements of losses are thinned out otherwise"),
    "net.ipv4.tcp_comp_sack_delay_ns": (1_000_000, "acknowledgements of losses are held back otherwise"),
    "net.ipv4.tcp_rto_min_us": (200_000, "timeouts are shorter or longer"),
    "net.ipv4.tcp_workaround_signed_windows": (0, "windows begin at 32 KiB at most"),
}


def unusual(case: Case) -> Iterator[Finding]:
    """Settings that somebody changed, each with what it does."""
    for end, facts in common.ends(case):
        changed = {
            name: value
            for name, (usual, _) in USUAL.items()
            if (value := facts.number(name)) is not None and value != usual
        }
        if not changed:
            continue
        names = ", ".join(f"{name.rpartition('.')[2]} {value}" for name, value in changed.items())
        yield finding(
            "unusual-settings",
            "note",
            sentence("unusual-settings", host=common.name(case, end), names=names),
            end,
            evidence=tuple(
                told(end, name, f"{value}, usually {USUAL[name][0]}: {USUAL[name][1]}")
                for name, value in changed.items()
            ),
            fix=tuple(common.sysctl(end, name, USUAL[name][0]) for name in changed),
        )


RULES = (
    WINDOW_SCALING.found,
    SACK.found,
    reno,
    odd_algorithm,
    small_limits,
    TIMESTAMPS.found,
    DSACK.found,
    ecn,
    not_allowed,
    unusual,
)
