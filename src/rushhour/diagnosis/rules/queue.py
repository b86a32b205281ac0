"""Queue disciplines, shapers and policers on the ends' own devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.causes.finding import Proof, finding
from rushhour.causes.telling import sentence
from rushhour.causes.thresholds import AT_A_SHAPER, LONG_QUEUE_NS, SHAPED, SLOW_LINE_NS
from rushhour.diagnosis.rules import common
from rushhour.diagnosis.rules.common import told
from rushhour.diagnosis.shown import packets, qdisc
from rushhour.quantities.short import binary, duration, rate
from rushhour.tc import kinds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rushhour.causes.cause import Severity
    from rushhour.causes.finding import Finding
    from rushhour.diagnosis.case import Case
    from rushhour.diagnosis.facts import Facts
    from rushhour.record.facts_file import Class, Qdisc


def queues(facts: Facts) -> Iterator[tuple[str, Qdisc]]:
    """Every qdisc of the device and of those under it."""
    for dev, found in facts.qdisc.items():
        yield from ((dev, one) for one in found.qdiscs)


def cap_bps(found: Qdisc, classes: Iterable[Class]) -> float | None:
    """The rate that a qdisc lets through at most; of one with classes their largest ceiling."""
    ceilings = [one.options.ceil_bps or 0 for one in classes]
    if found.kind in kinds.CLASSES and any(ceilings):
        return max(ceilings)
    return found.options.rate_bps or found.options.maxrate_bps


def shaper(case: Case) -> Iterator[Finding]:
    """A shaper on the sender's own device holds it below what the line carries."""
    for direction, from_, facts, _, _ in common.directions(case):
        for dev, found in queues(facts):
            cap = cap_bps(found, facts.qdisc[dev].classes)
            if cap is None:
                continue
            reached = common.reached_bps(case, direction)
            lines = [
                card.speed_mbps * 1e6 for name, card in common.cards(facts) if name == dev and card.speed_mbps
            ]
            if lines and cap >= SHAPED * min(lines):
                continue
            at_it = reached is not None and reached >= AT_A_SHAPER * cap
            severity: Severity = "critical" if at_it else ("warning" if reached is None else "note")
            yield finding(
                "shaper-on-the-sender",
                severity,
                sentence(
                    "shaper-on-the-sender",
                    dev=f"{dev} at {common.name(case, from_)}",
                    rate=rate(cap),
                    arrives=", and that is what arrives" if at_it else "",
                ),
                from_,
                evidence=(
                    told(from_, f"queue on {dev}", qdisc(found)),
                    told(from_, "rate", rate(cap)),
                    *_held_back(case, from_, dev, found),
                    *((Proof(direction, "goodput of one flow", rate(reached)),) if reached else ()),
                ),
                gain="what the line carries",
                fix=(common.shell(from_, f"tc qdisc del dev {dev} root"),),
                source=f"tc-{found.kind}(8)",
            )


def _held_back(case: Case, end: str, dev: str, found: Qdisc) -> Iterator[Proof]:
    """How often a shaper let packets wait while the path was measured, if it was."""
    name = f"qdisc.{dev}.{found.kind}.{found.parent}.overlimits"
    if case.measured:
        by = common.risen(case, end, name).get(name, 0)
        yield told(end, "packets held back meanwhile (overlimits)", f"{by:.0f}")


def emulation(case: Case) -> Iterator[Finding]:
    """A netem that somebody forgot."""
    for end, facts in common.ends(case):
        for dev, found in queues(facts):
            options, limit = found.options, found.options.limit_packets
            if found.kind != "netem":
                continue
            waits = {"delay": options.delay_us, "jitter": options.jitter_us}
            parts = {"loss": options.loss, "duplicate": options.duplicate}
            does = [f"{word} {duration(us * 1e3)}" for word, us in waits.items() if us]
            does += [f"{word} {part:.2%}" for word, part in parts.items() if part]
            yield finding(
                "netem-on-the-device",
                "critical",
                sentence(
                    "netem-on-the-device",
                    dev=dev,
                    host=common.name(case, end),
                    what=", ".join(does) or "limit only",
                ),
                end,
                evidence=(
                    told(end, f"queue on {dev}", " ".join(["netem", *does])),
                    *([told(end, "limit", packets(limit))] if limit else []),
                ),
                gain="the path without it",
                fix=(common.shell(end, f"tc qdisc del dev {dev} root"),),
            )


def policer(case: Case) -> Iterator[Finding]:
    """A filter on the device drops what exceeds a rate."""
    for end, facts in common.ends(case):
        for dev, found in facts.qdisc.items():
            for one in found.filters:
                for action in one.actions:
                    if action.kind != "police":
                        continue
                    cap = action.options.rate_bps
                    told_rate = rate(cap) if cap else "unknown"
                    hook = one.hook if one.hook != "root" else "egress"
                    yield finding(
                        "policer-on-the-device",
                        "critical",
                        sentence(
                            "policer-on-the-device",
                            hook=hook,
                            dev=dev,
                            host=common.name(case, end),
                            rate=told_rate,
                        ),
                        end,
                        evidence=(
                            told(end, f"{one.kind} filter, {hook} of {dev}", f"police rate {told_rate}"),
                            told(end, "bucket", binary(action.options.burst_bytes or 0)),
                        ),
                        gain="waiting instead of loss: a shaper, or a bucket of rate times RTT",
                        fix=(common.shell(end, f"tc filter del dev {dev} {one.hook}"),),
                    )


def drops(case: Case) -> Iterator[Finding]:
    """The sender's own queue dropped packets."""
    for end, facts in common.ends(case):
        rose = {
            name: by for name, by in common.risen(case, end, ".drops").items() if name.startswith("qdisc.")
        }
        if not rose:
            continue
        # Queues that manage their length drop to keep it short: that is their work.
        managed = any(one.kind in kinds.MANAGING for _, one in queues(facts))
        # Another discipline at the root would take a shaper away, which somebody put there.
        shaped = any(one.options.rate_bps for _, one in queues(facts))
        replaced = common.shell(end, f"tc qdisc replace dev {common.device(facts)} root fq")
        yield finding(
            "drops-in-the-own-queue",
            "note" if managed else "warning",
            sentence("drops-in-the-own-queue", host=common.name(case, end)),
            end,
            evidence=tuple(told(end, f"{name} rose by", f"{by:.0f}") for name, by in sorted(rose.items())),
            gain="no retransmissions of what never left",
            fix=() if shaped else (replaced,),
        )


def long_queue(case: Case) -> Iterator[Finding]:
    """A queue on the device that would take long to drain."""
    for end, facts in common.ends(case):
        for dev, found in queues(facts):
            options, cap = found.options, found.options.rate_bps
            limit = options.limit_bytes or 1514 * (options.limit_packets or 0)
            drains = limit * 8e9 / cap if cap and limit else 0
            if cap and drains >= LONG_QUEUE_NS and found.kind in kinds.ONE_LINE:
                yield finding(
                    "queue-too-long",
                    "warning",
                    sentence("queue-too-long", dev=dev, host=common.name(case, end), time=duration(drains)),
                    end,
                    evidence=(
                        told(end, f"queue on {dev}", qdisc(found)),
                        told(end, "limit", binary(limit)),
                        told(end, "rate", rate(cap)),
                    ),
                    gain=f"round trips shorter by up to {duration(drains)} under load",
                    fix=(
                        (
                            common.shell(
                                end,
                                f"tc qdisc change dev {dev} root {found.kind} rate {cap}bit "
                                f"burst {options.burst_bytes or 1600} latency 50ms",
                            ),
                        )
                        if found.kind == "tbf"
                        else (common.shell(end, f"tc qdisc replace dev {dev} root fq_codel"),)
                    ),
                )


def slow_line(case: Case) -> Iterator[Finding]:
    """A first-in first-out queue of a thousand packets before a slow line."""
    for end, facts in common.ends(case):
        length = facts.link.txqlen
        for dev, card in common.cards(facts):
            speed = card.speed_mbps
            there = [one.kind for name, one in queues(facts) if name == dev]
            plain = [kind for kind in there if kind in kinds.ONE_LINE & kinds.DEVICE_LENGTH]
            drains = 1514 * 8e9 * length / (speed * 1e6) if speed and length else 0
            if plain and drains >= SLOW_LINE_NS:
                yield finding(
                    "fifo-before-a-slow-line",
                    "note",
                    sentence(
                        "fifo-before-a-slow-line",
                        dev=dev,
                        host=common.name(case, end),
                        length=f"{length}",
                        time=duration(drains),
                    ),
                    end,
                    evidence=(told(end, "txqueuelen", length), told(end, "queue", plain[0])),
                    gain="short waits for everything beside a bulk transfer",
                    fix=(
                        common.shell(
                            end,
                            f"tc qdisc replace dev {dev} root fq_codel",
                            "net.core.default_qdisc = fq_codel in /etc/sysctl.d",
                        ),
                    ),
                )


RULES = (emulation, policer, shaper, long_queue, drops, slow_line)
