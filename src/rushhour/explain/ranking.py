"""From what the rules find to what is said: in order of gain, each advice with what it brings at least.

Where one limit hides another, taking the first away helps only as far as the second lets it. So the advices
build on each other: each one's `overrides` hold those of the advices before it, and what it promises holds
when all of them are followed.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.causes.cause import SEVERITIES
from rushhour.causes.evidence import DELAY_BASED
from rushhour.causes.ranking import gravest_first
from rushhour.causes.thresholds import (
    FAR,
    HIDDEN,
    LEAST_BURST,
    MAIN,
    MATTERS,
    RISKY,
    WAITED,
    WORTH_DOING,
    WORTH_SAYING,
)
from rushhour.explain.caps import by_theory, caps, reached_bps
from rushhour.explain.causes import first, policer, random_loss, would_overflow
from rushhour.explain.words import flooded, reached
from rushhour.quantities.short import rate, rounded_down

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from rushhour.causes.finding import Finding
    from rushhour.explain.evidence import RecordedFlow

BEHIND_THAT = "Behind that,"
BEHIND = {
    "receiver": "the receiver's window",
    "sndbuf": "the send buffer",
    "application": "the application",
    "reader": "the receiving application",
    "pacing": "the socket's pacing rate",
    "losses": "the loss on the way",
}
RATES = {"application": "rate_bps", "reader": "read_bps", "pacing": "pacing_bps"}
"""Limit → what a scenario asks for that sets its rate."""


def findings(known: RecordedFlow) -> tuple[Finding, ...]:
    """What the rules find: limits that held, and limits behind them, in order of what their remedies gain."""
    made: dict[str, Finding] = {}
    for limit, share in known.shares.items():
        if share < WORTH_SAYING and made:
            continue
        found = first(known, limit)
        if found is not None:
            made.setdefault(found.key, found)
    for found in _hidden(known, {found.limit for found in made.values()}, made):
        made.setdefault(found.key, found)
    all_had = _all_had(known)
    order = sorted(made.values(), key=lambda found: (found.limit not in all_had, *_rank(known, found)))
    ranked = gravest_first(
        replace(found, severity=SEVERITIES[0 if found.limit in all_had else _place(found)])
        for found in _promised(known, order)
    )
    return tuple(_introduced(known, ranked))


def _all_had(known: RecordedFlow) -> set[str]:
    """Limits at the ends whose rate the flow had: whatever else held it at times, only they made it slow.

    But for a way that was dead for longer: who reads what had come before has a rate all the while.
    """
    share = known.fair_bps or 0.0
    return {
        limit
        for limit, allowed in caps(known, {"acks"}).items()
        if RATES.get(limit) in known.asked
        and allowed <= known.goodput_bps
        and allowed < HIDDEN * share
        and known.limited(limit) >= known.limited("outages")
    }


def _introduced(known: RecordedFlow, ranked: Iterable[Finding]) -> Iterable[Finding]:
    """The findings; what the flow reached is said once, by the first of those that held."""
    told = False
    for found in ranked:
        told |= rate(known.goodput_bps) in found.title
        if told or found.title.startswith(BEHIND_THAT):
            yield found
        else:
            told = True
            yield replace(found, title=f"{reached(known)} {found.title}")


def _place(found: Finding) -> int:
    """What held or promises something is said first; what has neither held nor an advice, last."""
    promises = found.remedy is not None and found.remedy.expected_bps is not None
    if promises or found.share >= MAIN:
        return 0
    return 1 if found.share >= WORTH_SAYING or found.remedy is not None else 2


def _rank(known: RecordedFlow, found: Finding) -> tuple[float, float]:
    """By gain where there is one, then by share of the time."""
    reached = reached_bps(known, _removed(known, found))
    gain = 0.0 if reached is None or not _helps(found) else reached - known.goodput_bps
    return (-gain if gain > WORTH_DOING * known.goodput_bps else 0.0, -found.share)


def _helps(found: Finding) -> bool:
    return found.remedy is not None and bool(found.remedy.overrides)


def _removed(known: RecordedFlow, found: Finding) -> set[str]:
    # What queues and policers drop goes with them; what chance takes on the way stays.
    if found.key not in ("shallow-queue", "policer"):
        return {found.limit}
    # Who sends below a policed rate finds the bucket full, if it holds what a paced flow sends at once.
    roomy = found.key == "policer" and (known.bucket or 0) >= LEAST_BURST
    return {"drops", "shallow"} | ({"policer", "early"} if roomy else set())


def _hidden(known: RecordedFlow, held: set[str], made: Collection[str]) -> Iterable[Finding]:
    """Limits that have not held, because another did, and would be next."""
    share = known.fair_bps or 0.0
    for limit, allowed in sorted(caps(known, {"acks"}).items(), key=lambda pair: pair[1]):
        if limit in held or limit not in BEHIND or allowed >= HIDDEN * share:
            continue
        found = _by_chance(known) if limit == "losses" else first(known, limit)
        if found is not None:
            says = _behind(known, limit, allowed) or found.title
            yield replace(found, title=says, limit=limit, limited=known.shares.get(limit, 0.0))
    if "losses" in held:
        yield from _more_losses(known, made)
    elif (behind := would_overflow(known)) is not None:
        yield behind
    acks = known.acks_wait is not None or known.ack_loss > 0
    gives_way = (
        known.cc in DELAY_BASED
        and "other-algorithm" not in made
        and known.goodput_bps < HIDDEN * share
        and not flooded(known)
    )
    for limit, holds in (("acks", acks), ("window", gives_way), ("path", _held_up(known))):
        found = first(known, limit) if holds and limit not in held else None
        if found is not None:
            yield found


def _behind(known: RecordedFlow, limit: str, allowed: float) -> str:
    """What a limit allows; empty where the flow had as much: then it has its own sentence."""
    asked = known.asked.get(RATES.get(limit, ""))
    if allowed > known.goodput_bps:
        much = f"about {rate(allowed)}" if asked is None else f"at most {rate(asked)}"
        return f"{BEHIND_THAT} {BEHIND[limit]} allows {known.name} {much}."
    if asked is None:
        return ""
    return f"{known.name} had {rate(known.goodput_bps)}, which is all that {BEHIND[limit]} allows."


def _held_up(known: RecordedFlow) -> bool:
    """Whether its data wait in a queue that others fill."""
    wait = known.data_wait
    return wait is not None and bool(known.others) and wait.median_s > WAITED * (known.base_rtt_s or 0)


def _by_chance(known: RecordedFlow) -> Finding | None:
    # What queues drop may hide what chance takes; it shows when they drop no more.
    return random_loss(replace(known, queue_drops=0))


def _more_losses(known: RecordedFlow, made: Collection[str]) -> Iterable[Finding]:
    """What else lost packets, besides what is said to have."""
    if known.policed and "policer" not in made:
        found = policer(replace(known, queue_drops=0))
        if found is not None:
            yield replace(found, limit="losses")
    theory = by_theory(known, known.base_rtt_s or 0.0)
    said = {"random-loss", "sack-off"} & {*made}
    if theory is not None and theory < HIDDEN * (known.fair_bps or 0) and not said:
        found = _by_chance(known)
        if found is not None:
            yield replace(found, limit="losses")


def _promised(known: RecordedFlow, ranked: list[Finding]) -> Iterable[Finding]:
    """The findings with what their remedies bring, each together with those before it."""
    removed: set[str] = set()
    overrides: dict[str, str] = {}
    said: list[Finding] = []
    most = math.inf
    for found in ranked:
        remedy = found.remedy
        if remedy is None or not remedy.overrides:
            said.append(found)
            continue
        if overrides.keys() & remedy.overrides.keys():  # it takes back what an advice before it sets
            said.append(replace(found, remedy=None))
            continue
        removed |= _removed(known, found)
        instead = overrides | dict(remedy.instead) if remedy.instead else {}
        alone, overrides = not overrides, overrides | dict(remedy.overrides)
        advice = remedy.advice if alone else f"Besides that: {remedy.advice[0].lower()}{remedy.advice[1:]}"
        remedy = replace(remedy, advice=advice, overrides=dict(overrides), instead=instead)
        if remedy.expected_wait_s is None:
            most = min(most, math.inf if remedy.expected_bps is None else remedy.expected_bps)
            remedy = replace(remedy, expected_bps=_least(known, removed, most))
        said.append(replace(found, remedy=remedy))
    return _kept(known, said)


def _kept(known: RecordedFlow, said: list[Finding]) -> Iterable[Finding]:
    """What promises no more than there is, or than an advice before it, promises nothing.

    Where a later advice builds on it, it is said, and tried together with that; alone it stands without a
    number where its limit matters, and otherwise falls.
    """
    least = (1 + WORTH_DOING) * known.goodput_bps
    for place, found in enumerate(said):
        remedy = found.remedy
        expected = None if remedy is None else remedy.expected_bps
        if remedy is None or not remedy.overrides or remedy.expected_wait_s is not None:
            yield found
        elif expected is not None and expected > least:
            least = expected
            yield found
        elif any(_gains(later, least) for later in said[place + 1 :]):
            advice = f"{remedy.advice} Follow it together with what comes next."
            alone = replace(remedy, advice=advice, overrides={}, instead={}, expected_bps=None)
            yield replace(found, remedy=alone)
        elif expected is None or _matters(known, found) or found.limit in _all_had(known):
            # What is next may hold it lower than now: then the advice is no `--set` to be copied. But a queue
            # that lets ACKs pass takes nothing from them.
            risky = expected is not None and expected < RISKY * known.goodput_bps and found.limit != "acks"
            overrides = {} if risky else remedy.overrides
            yield replace(found, remedy=replace(remedy, overrides=overrides, expected_bps=None))
        else:
            yield replace(found, remedy=None)


def _gains(found: Finding, least: float) -> bool:
    return found.remedy is not None and (found.remedy.expected_bps or 0.0) > least


def _matters(known: RecordedFlow, found: Finding) -> bool:
    """Whether a limit held so long, and cost so much, that its advice stands without a number."""
    return found.share >= MATTERS and known.goodput_bps < FAR * (known.fair_bps or 0)


def _least(known: RecordedFlow, removed: set[str], most: float) -> float | None:
    """What is reached at least without some limits, no more than `most`, rounded down as it is said."""
    reached = reached_bps(known, removed)
    least = most if reached is None else min(reached, most)
    return rounded_down(least) if math.isfinite(least) else None
