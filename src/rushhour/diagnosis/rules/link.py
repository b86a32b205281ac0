"""The line: speed, duplex, flow control, errors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rushhour.causes.finding import Proof, finding
from rushhour.causes.telling import sentence
from rushhour.causes.thresholds import DAMAGED_FRAMES, FRAMES, LINE_FULL, MANY_CHANGES
from rushhour.diagnosis.case import ENDS, other
from rushhour.diagnosis.rules import common
from rushhour.diagnosis.rules.common import told
from rushhour.diagnosis.shown import mbps, switch
from rushhour.quantities.short import rate
from rushhour.quantities.words import plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.causes.cause import Severity
    from rushhour.causes.finding import Finding
    from rushhour.diagnosis.case import Case

# Drivers' own names for pause frames.
PAUSED = re.compile(r"(pause|xoff)", re.IGNORECASE)


def half_duplex(case: Case) -> Iterator[Finding]:
    """A line on which only one end may send at a time."""
    for end, facts in common.ends(case):
        for dev, card in common.cards(facts):
            if card.duplex != "half":
                continue
            yield finding(
                "half-duplex",
                "critical",
                sentence("half-duplex", proof=f"{dev} at {common.name(case, end)} runs at half duplex"),
                end,
                evidence=(
                    told(end, f"{dev} duplex", "half"),
                    told(end, "autonegotiation", switch(card.autoneg)),
                    told(end, "speed", "unknown" if card.speed_mbps is None else mbps(card.speed_mbps)),
                    told(end, "collisions since boot", (card.errors or {}).get("collisions", 0)),
                ),
                gain="both directions at once, no late collisions",
                fix=(common.ethtool(end, f"-s {dev} autoneg on", "[Link] AutoNegotiation=yes"),),
            )


def collisions(case: Case) -> Iterator[Finding]:
    """Collisions on a line that should have none: the other end of the cable is at half duplex."""
    for end, facts in common.ends(case):
        rose = common.risen(case, end, ".collisions")
        half = [dev for dev, card in common.cards(facts) if card.duplex == "half"]
        if rose and not half:
            yield finding(
                "collisions",
                "warning",
                sentence("collisions", host=common.name(case, end)),
                end,
                evidence=tuple(
                    told(end, f"{name} rose by", f"{by:.0f}") for name, by in sorted(rose.items())
                ),
                fix=(common.ethtool(end, f"-s {common.device(facts)} autoneg on"),),
            )


def negotiated_down(case: Case) -> Iterator[Finding]:
    """Both sides of a cable can do more than they do."""
    for end, facts in common.ends(case):
        for dev, card in common.cards(facts):
            speed, able = card.speed_mbps, card.supported_mbps
            partner = card.partner_mbps
            if not speed or not able or speed >= able or (partner is not None and partner <= speed):
                continue
            most = min(able, partner) if partner else able
            offered = card.advertised_mbps
            held = offered is not None and offered <= speed
            severity: Severity = "critical" if partner else ("warning" if held else "note")
            yield finding(
                "link-below-its-speed",
                severity,
                sentence(
                    "link-below-its-speed",
                    dev=dev,
                    host=common.name(case, end),
                    speed=mbps(speed),
                    able=mbps(able),
                ),
                end,
                evidence=(
                    told(end, f"{dev} speed", mbps(speed)),
                    told(end, "supported", mbps(able)),
                    told(end, "advertised", "unknown" if offered is None else mbps(offered)),
                    told(end, "partner offers", "unknown" if partner is None else mbps(partner)),
                    told(end, "autonegotiation", switch(card.autoneg)),
                ),
                gain=f"{mbps(most)} instead of {mbps(speed)}; if the settings are right, change the cable",
                fix=(common.ethtool(end, f"-s {dev} autoneg on", "[Link] AutoNegotiation=yes"),),
            )


def speeds(case: Case) -> Iterator[Finding]:
    """One end's line is slower than the other's: it is the most that can arrive."""
    known = {
        end: max((card.speed_mbps or 0 for _, card in common.cards(facts)), default=0)
        for end, facts in common.ends(case)
    }
    slow, fast = sorted(known, key=lambda end: known[end])
    if known[slow] and known[slow] < known[fast]:
        yield finding(
            "speeds-differ",
            "note",
            sentence(
                "speeds-differ",
                host=common.name(case, slow),
                slow=mbps(known[slow]),
                other=common.name(case, fast),
                fast=mbps(known[fast]),
            ),
            slow,
            evidence=tuple(told(end, "speed", mbps(speed)) for end, speed in known.items()),
        )


def members(case: Case) -> Iterator[Finding]:
    """A bond of which a member is down."""
    for end, facts in common.ends(case):
        for dev, member in facts.link.under.items():
            if member.master is None or member.state in {None, "up"}:
                continue
            yield finding(
                "member-down",
                "warning",
                sentence("member-down", dev=dev, bond=member.master, host=common.name(case, end)),
                end,
                evidence=(told(end, f"{dev} state", member.state),),
                gain="the rate of the whole bond, and a spare",
                fix=(common.shell(end, f"ip -s link show dev {dev}   # cable, plug, and the switch's port"),),
            )


def flow_control(case: Case) -> Iterator[Finding]:
    """Pause frames that one end sends and the other does not heed."""
    pause = {end: told_of for end, facts in common.ends(case) if (told_of := facts.link.pause) is not None}
    if len(pause) < len(ENDS):
        return
    for end in ENDS:
        across = other(end)
        if pause[end].tx and not pause[across].rx:
            yield finding(
                "flow-control-one-sided",
                "note",
                sentence(
                    "flow-control-one-sided", host=common.name(case, end), other=common.name(case, across)
                ),
                across,
                evidence=tuple(
                    told(one, "flow control", f"rx {switch(pause[one].rx)}, tx {switch(pause[one].tx)}")
                    for one in pause
                ),
                fix=(common.ethtool(across, f"-A {common.device(case.facts(across))} rx on tx on"),),
            )


def paused(case: Case) -> Iterator[Finding]:
    """Pause frames arrived while measuring: something behind the line is slower than it."""
    for end, _ in common.ends(case):
        rose = {
            name: by
            for name, by in common.risen(case, end, "").items()
            if name.startswith("driver.") and PAUSED.search(name) and "tx" not in name
        }
        if rose:
            yield finding(
                "paused-by-the-network",
                "warning",
                sentence("paused-by-the-network", host=common.name(case, end)),
                end,
                evidence=tuple(
                    told(end, f"{name} rose by", f"{by:.0f}") for name, by in sorted(rose.items())[:5]
                ),
            )


def errors(case: Case) -> Iterator[Finding]:
    """Frames that arrive damaged: cable, plug, transceiver."""
    for end, facts in common.ends(case):
        names = ("rx_crc_errors", "rx_frame_errors", "tx_carrier_errors")
        rose = common.risen(case, end, *(f".{name}" for name in names))
        for dev, card in common.cards(facts):
            since = {name: (card.errors or {}).get(name, 0) for name in names}
            packets = card.packets.rx_packets or 0
            damaged = sum(since.values())
            often = packets >= FRAMES and damaged > DAMAGED_FRAMES * packets
            if not rose and not often:
                continue
            yield finding(
                "damaged-frames",
                "critical" if rose else "warning",
                (sentence("damaged-frames", dev=dev, host=common.name(case, end))),
                end,
                evidence=(
                    *(told(end, f"{name} rose by", f"{by:.0f}") for name, by in sorted(rose.items())),
                    *(told(end, f"{name} since boot", count) for name, count in since.items() if count),
                    told(end, "packets received since boot", packets),
                ),
                gain="no loss from the line",
                fix=(
                    common.shell(end, f"ethtool -S {dev} | grep -i err   # then change cable or transceiver"),
                ),
            )


def flapping(case: Case) -> Iterator[Finding]:
    """A link that comes and goes."""
    for end, facts in common.ends(case):
        rose = common.risen(case, end, ".carrier_changes")
        for dev, card in common.cards(facts):
            changes = card.carrier_changes or 0
            if not rose and changes <= MANY_CHANGES:
                continue
            yield finding(
                "link-flaps",
                "critical" if rose else "note",
                (
                    sentence(
                        "link-flaps",
                        dev=dev,
                        host=common.name(case, end),
                        what="went away while it was measured"
                        if rose
                        else f"came and went {plural(changes, 'time')} since boot",
                    )
                ),
                end,
                evidence=(
                    told(end, f"{dev} carrier changes", changes),
                    *(told(end, f"{name} rose by", f"{by:.0f}") for name, by in rose.items()),
                ),
                fix=(common.shell(end, f"journalctl -k -g {dev}   # when, and what else happened then"),),
            )


def narrow_line(case: Case) -> Iterator[Finding]:
    """A direction reaches what its slowest line carries: nothing at the ends can make it faster."""
    for direction, *_ in common.directions(case):
        reached = common.reached_bps(case, direction)
        lines = {
            end: min(
                (speed for _, card in common.cards(facts) if (speed := card.speed_mbps)),
                default=None,
            )
            for end, facts in common.ends(case)
        }
        known = {end: speed for end, speed in lines.items() if speed}
        if reached is None or not known:
            continue
        slow = min(known, key=lambda end: known[end])
        line_bps = 1e6 * known[slow]
        if reached >= LINE_FULL * line_bps:
            yield finding(
                "line-is-full",
                "note",
                sentence(
                    "line-is-full", way=direction, host=common.name(case, slow), speed=mbps(known[slow])
                ),
                direction,
                evidence=(
                    Proof(direction, "goodput of one flow", rate(reached)),
                    told(slow, "speed", mbps(known[slow])),
                ),
            )


RULES = (
    half_duplex,
    negotiated_down,
    errors,
    flapping,
    collisions,
    paused,
    members,
    flow_control,
    speeds,
    narrow_line,
)
