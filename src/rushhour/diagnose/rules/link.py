"""The devices: line, rings, offloads, errors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from rushhour.diagnose.finding import Evidence, Finding
from rushhour.diagnose.rules import common
from rushhour.diagnose.rules.common import told
from rushhour.diagnose.shown import mbps, rate, switch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rushhour.diagnose.case import Case
    from rushhour.diagnose.finding import Severity

# Drivers' own names for packets that found no room, and for pauses.
NO_ROOM = re.compile(r"(no_?buf|missed|fifo|no_dma|out_of_buffer|rx_drops?$|discard|no_desc|alloc_fail)", re.IGNORECASE)
PAUSED = re.compile(r"(pause|xoff)", re.IGNORECASE)
SMALL_QUEUE = 100
MANY_CHANGES = 10


def half_duplex(case: Case) -> Iterator[Finding]:
    """A line on which only one end may send at a time."""
    for end, facts in common.ends(case):
        for dev, card in common.cards(facts):
            if card.get("duplex") != "half":
                continue
            fixed = card.get("autoneg") is False
            yield Finding(
                key="half-duplex",
                severity="critical",
                layer="device",
                title=f"{dev} at {end} runs at half duplex: data and acknowledgements collide.",
                where=end,
                evidence=(
                    told(end, f"{dev} duplex", "half"),
                    told(end, "autonegotiation", switch(card.get("autoneg"))),
                    told(end, "speed", mbps(card["speed_mbps"]) if "speed_mbps" in card else "unknown"),
                    told(end, "collisions since boot", card.get("errors", {}).get("collisions", 0)),
                ),
                gain="both directions at once, no late collisions",
                fix=(common.ethtool(end, f"-s {dev} autoneg on", "[Link] AutoNegotiation=yes"),),
                source="IEEE 802.3, clause 28 (a partner with fixed settings is taken for half duplex); ethtool(8), -s"
                if fixed
                else "IEEE 802.3, clause 28; ethtool(8), -s",
            )


def collisions(case: Case) -> Iterator[Finding]:
    """Collisions on a line that should have none: the other end of the cable is at half duplex."""
    for end, facts in common.ends(case):
        rose = common.risen(case, end, ".collisions")
        half = [dev for dev, card in common.cards(facts) if card.get("duplex") == "half"]
        if rose and not half:
            yield Finding(
                key="collisions",
                severity="warning",
                layer="device",
                title=f"Collisions on the line of {end} while it was measured: the ends of the cable disagree on duplex.",
                where=end,
                evidence=tuple(told(end, f"{name} rose by", f"{by:.0f}") for name, by in sorted(rose.items())),
                fix=(common.ethtool(end, f"-s {common.device(facts)} autoneg on"),),
                source="IEEE 802.3, clause 28",
            )


def negotiated_down(case: Case) -> Iterator[Finding]:
    """Both sides of a cable can do more than they do."""
    for end, facts in common.ends(case):
        for dev, card in common.cards(facts):
            speed, able = card.get("speed_mbps"), card.get("supported_mbps")
            partner = card.get("partner_mbps")
            if not speed or not able or speed >= able or (partner is not None and partner <= speed):
                continue
            most = min(able, partner) if partner else able
            offered = card.get("advertised_mbps")
            held = offered is not None and offered <= speed
            severity: Severity = "critical" if partner else ("warning" if held else "note")
            yield Finding(
                key="link-below-its-speed",
                severity=severity,
                layer="device",
                title=f"{dev} at {end} runs at {mbps(speed)}; it can do {mbps(able)}.",
                where=end,
                evidence=(
                    told(end, f"{dev} speed", mbps(speed)),
                    told(end, "supported", mbps(able)),
                    told(end, "advertised", "unknown" if offered is None else mbps(offered)),
                    told(end, "partner offers", "unknown" if partner is None else mbps(partner)),
                    told(end, "autonegotiation", switch(card.get("autoneg"))),
                ),
                gain=f"{mbps(most)} instead of {mbps(speed)}; if the settings are right, change the cable",
                fix=(common.ethtool(end, f"-s {dev} autoneg on", "[Link] AutoNegotiation=yes"),),
                source="IEEE 802.3, clause 28; ethtool(8), -s",
            )


def speeds(case: Case) -> Iterator[Finding]:
    """One end's line is slower than the other's: it is the most that can arrive."""
    known = {end: max((card.get("speed_mbps") or 0 for _, card in common.cards(facts)), default=0) for end, facts in common.ends(case)}
    slow, fast = sorted(known, key=lambda end: known[end])
    if known[slow] and known[slow] < known[fast]:
        yield Finding(
            key="speeds-differ",
            severity="note",
            layer="device",
            title=f"{slow} is connected at {mbps(known[slow])}, {fast} at {mbps(known[fast])}: a queue stands where they meet.",
            where=slow,
            evidence=tuple(told(end, "speed", mbps(speed)) for end, speed in known.items()),
            source="ethtool(8)",
        )


def flow_control(case: Case) -> Iterator[Finding]:
    """Pause frames that one end sends and the other does not heed."""
    pause = {end: facts.get("link", "pause") for end, facts in common.ends(case)}
    if any(one is None for one in pause.values()):
        return
    for end, across in (("a", "b"), ("b", "a")):
        if pause[end]["tx"] and not pause[across]["rx"]:
            yield Finding(
                key="flow-control-one-sided",
                severity="note",
                layer="device",
                title=f"{end} sends pause frames, {across} is set not to heed any: rings of {end} overflow in bursts.",
                where=across,
                evidence=tuple(told(one, "flow control", f"rx {switch(pause[one]['rx'])}, tx {switch(pause[one]['tx'])}") for one in pause),
                fix=(common.ethtool(across, f"-A {common.device(case.facts(across))} rx on tx on"),),
                source="IEEE 802.3, annex 31B; ethtool(8), -A",
            )


def paused(case: Case) -> Iterator[Finding]:
    """Pause frames arrived while measuring: something behind the line is slower than it."""
    for end, _ in common.ends(case):
        rose = {name: by for name, by in common.risen(case, end, "").items() if name.startswith("driver.") and PAUSED.search(name) and "tx" not in name}
        if rose:
            yield Finding(
                key="paused-by-the-network",
                severity="warning",
                layer="device",
                title=f"The network told {end} to pause while it sent: a switch or the other card is full.",
                where=end,
                evidence=tuple(told(end, f"{name} rose by", f"{by:.0f}") for name, by in sorted(rose.items())[:5]),
                source="IEEE 802.3, annex 31B",
            )


def mtus(case: Case) -> Iterator[Finding]:
    """Packets that one end may send are larger than what the other takes."""
    sizes = {end: facts.get("link", "mtu") for end, facts in common.ends(case)}
    if None in sizes.values() or sizes["a"] == sizes["b"]:
        return
    small, large = sorted(sizes, key=lambda end: sizes[end])
    toward = f"{large}→{small}"
    measured = case.measured.get(toward)
    lost = measured.sizes.lost if measured is not None else None
    direct = common.is_direct(case)
    grave = (lost is not None and lost <= sizes[large]) or direct
    vanish = () if lost is None else (Evidence(toward, "smallest packet that vanished", f"{lost} B"),)
    small_dev, large_dev = (common.device(case.facts(end)) for end in (small, large))
    yield Finding(
        key="mtu-mismatch",
        severity="warning" if grave else "note",
        layer="device",
        title=f"{large} sends packets of up to {sizes[large]} bytes, {small} takes {sizes[small]}: "
        + ("larger ones vanish." if grave else "routers between have to tell."),
        where=small,
        evidence=(*(told(end, "MTU", size) for end, size in sizes.items()), *vanish),
        gain="UDP and every protocol without MSS get through",
        fix=(
            common.Command(small, f"sudo ip link set dev {small_dev} mtu {sizes[large]}", f"[Link] MTUBytes={sizes[large]} in a file /etc/systemd/network/*.link"),
            common.Command(large, f"sudo ip link set dev {large_dev} mtu {sizes[small]}   # or this, where the network carries no more"),
        ),
        source="RFC 1191; RFC 4821, section 1; ip-link(8), mtu",
    )


def small_mtu(case: Case) -> Iterator[Finding]:
    """Packets so small that headers take a good part."""
    for end, facts in common.ends(case):
        mtu = facts.get("link", "mtu")
        if mtu is None or mtu >= 1280:
            continue
        share = (mtu - common.HEADERS) / (mtu + 18)
        yield Finding(
            key="small-mtu",
            severity="warning" if mtu < 1000 else "note",
            layer="device",
            title=f"The MTU of {common.device(facts)} at {end} is {mtu}: {100 - 100 * share:.0f} % of the line go to headers.",
            where=end,
            evidence=(told(end, "MTU", mtu),),
            gain=f"{(1460 / 1518) / share - 1:.0%} more payload with 1500",
            fix=(common.Command(end, f"sudo ip link set dev {common.device(facts)} mtu 1500"),),
            source="RFC 6349, 3.1 (overhead by MTU); RFC 8200, section 5 (1280 is IPv6's least)",
        )


OFFLOADS = {"gso": "segmentation", "tso": "TCP segmentation by the card", "gro": "receive coalescing"}


def offloads(case: Case) -> Iterator[Finding]:
    """Segmentation or coalescing is switched off: every packet costs a passage through the stack."""
    for end, facts in common.ends(case):
        known: Mapping[str, Mapping[str, bool]] = facts.get("link", "offloads") or {}
        off = [word for word in OFFLOADS if word in known and not known[word]["on"] and not known[word]["fixed"]]
        if not off:
            continue
        fastest = max(common.rate_bps(case, direction) or 0 for direction in ("a→b", "b→a"))
        busy = common.busiest(case, end)
        hurts = fastest >= common.FAST_BPS or busy >= 0.8
        dev = common.device(facts)
        yield Finding(
            key="offloads-off",
            severity="warning" if hurts else "note",
            layer="device",
            title=f"{', '.join(off)} {'is' if len(off) == 1 else 'are'} off on {dev} at {end}: the processor handles every packet by itself.",
            where=end,
            evidence=(
                *(told(end, f"{word} ({OFFLOADS[word]})", "off") for word in off),
                *((told(end, "busiest processor", f"{100 * busy:.0f} %"),) if busy else ()),
            ),
            gain="a fraction of the processor time at the same rate" if hurts else "none at this rate; less processor time",
            fix=(common.ethtool(end, f"-K {dev} " + " ".join(f"{word} on" for word in off), "[Link] TCPSegmentationOffload=yes, GenericSegmentationOffload=yes, GenericReceiveOffload=yes"),),
            source="Documentation/networking/segmentation-offloads.rst; ethtool(8), -K",
        )


def rings(case: Case) -> Iterator[Finding]:
    """The card had no room for packets that arrived."""
    for end, facts in common.ends(case):
        rose = common.risen(case, end, ".rx_missed_errors", ".rx_fifo_errors", ".rx_over_errors")
        rose |= {name: by for name, by in common.risen(case, end, "").items() if name.startswith("driver.") and NO_ROOM.search(name) and "tx" not in name}
        if not rose:
            continue
        now, most = (facts.get("link", "rings", name) for name in ("rx", "rx-max"))
        larger = bool(now and most and now < most)
        dev = common.device(facts)
        yield Finding(
            key="receive-ring-overflow",
            severity="critical" if larger else "warning",
            layer="device",
            title=f"{dev} at {end} dropped packets because its receive ring was full" + (f" ({now} of at most {most})." if larger else "."),
            where=end,
            evidence=(
                *(told(end, f"{name} rose by", f"{by:.0f}") for name, by in sorted(rose.items())[:5]),
                told(end, "rx ring", f"{now} of {most}" if now else "unknown"),
            ),
            gain="bursts are kept instead of lost; if drops go on, a processor is too slow",
            fix=(common.ethtool(end, f"-G {dev} rx {most}", f"[Link] RxBufferSize={most}"),) if larger else (),
            source="ethtool(8), -G; Documentation/networking/statistics.rst, rx_missed_errors",
        )


def errors(case: Case) -> Iterator[Finding]:
    """Frames that arrive damaged: cable, plug, transceiver."""
    for end, facts in common.ends(case):
        names = ("rx_crc_errors", "rx_frame_errors", "tx_carrier_errors")
        rose = common.risen(case, end, *(f".{name}" for name in names))
        for dev, card in common.cards(facts):
            since = {name: card.get("errors", {}).get(name, 0) for name in names}
            packets = card.get("packets", {}).get("rx_packets") or 0
            damaged = sum(since.values())
            # One frame in 100 000 is what Mathis' formula still notices at 100 Mbit/s and 20 ms.
            often = packets >= 100_000 and damaged > 1e-5 * packets
            if not rose and not often:
                continue
            yield Finding(
                key="damaged-frames",
                severity="critical" if rose else "warning",
                layer="device",
                title=f"Frames arrive damaged on {dev} at {end}: cable, plug or transceiver.",
                where=end,
                evidence=(
                    *(told(end, f"{name} rose by", f"{by:.0f}") for name, by in sorted(rose.items())),
                    *(told(end, f"{name} since boot", count) for name, count in since.items() if count),
                    told(end, "packets received since boot", packets),
                ),
                gain="no loss from the line",
                fix=(common.Command(end, f"sudo ethtool -S {dev} | grep -i err   # then change cable or transceiver"),),
                source="Documentation/networking/statistics.rst; IEEE 802.3, 3.2.9 (FCS)",
            )


def flapping(case: Case) -> Iterator[Finding]:
    """A link that comes and goes."""
    for end, facts in common.ends(case):
        rose = common.risen(case, end, ".carrier_changes")
        for dev, card in common.cards(facts):
            changes = card.get("carrier_changes") or 0
            if not rose and changes <= MANY_CHANGES:
                continue
            yield Finding(
                key="link-flaps",
                severity="critical" if rose else "note",
                layer="device",
                title=f"The link of {dev} at {end} " + ("went away while it was measured." if rose else f"came and went {changes} times since boot."),
                where=end,
                evidence=(told(end, f"{dev} carrier changes", changes), *(told(end, f"{name} rose by", f"{by:.0f}") for name, by in rose.items())),
                fix=(common.Command(end, f"sudo journalctl -k -g {dev}   # when, and what else happened then"),),
                source="Documentation/ABI/testing/sysfs-class-net, carrier_changes",
            )


def emulated_card(case: Case) -> Iterator[Finding]:
    """A virtual machine with an imitation of an old card."""
    slow = {"e1000", "e1000e", "8139cp", "8139too", "pcnet32", "ne2k-pci", "tulip"}
    for end, facts in common.ends(case):
        driver = facts.get("link", "driver", "name")
        if facts.get("virtualisation", "hypervisor") and driver in slow:
            yield Finding(
                key="emulated-card",
                severity="warning",
                layer="device",
                title=f"{end} is a virtual machine with an imitated {driver} card: every packet stops the machine.",
                where=end,
                evidence=(told(end, "driver", driver), told(end, "virtual machine", facts.get("virtualisation", "product") or "yes")),
                gain="several times the packet rate with a paravirtual card (virtio-net, vmxnet3)",
                source="Documentation/driver-api/virtio/virtio.rst",
            )


def small_queue(case: Case) -> Iterator[Finding]:
    """A transmit queue too short for what one system call sends."""
    for end, facts in common.ends(case):
        length: Any = facts.get("link", "txqlen")
        root = [one for one in facts.get("qdisc", common.device(facts), "qdiscs") or [] if one["parent"] == "root"]
        if not length or length >= SMALL_QUEUE or not any(one["kind"] in {"pfifo_fast", "pfifo", "mq"} for one in root):
            continue
        rose = common.risen(case, end, ".root.drops")
        dev = common.device(facts)
        yield Finding(
            key="transmit-queue-too-short",
            severity="warning" if rose else "note",
            layer="queue",
            title=f"The transmit queue of {dev} at {end} holds {length} packets: bursts are dropped before they leave.",
            where=end,
            evidence=(told(end, "txqueuelen", length), *(told(end, f"{name} rose by", f"{by:.0f}") for name, by in rose.items())),
            gain="bursts wait instead of being lost",
            fix=(common.Command(end, f"sudo ip link set dev {dev} txqueuelen 1000", "[Link] TransmitQueueLength=1000 in a file /etc/systemd/network/*.link"),),
            source="ip-link(8), txqueuelen; tc-pfifo_fast(8)",
        )


def narrow_line(case: Case) -> Iterator[Finding]:
    """A direction reaches what its slowest line carries: nothing at the ends can make it faster."""
    for direction, *_ in common.directions(case):
        reached = common.reached_bps(case, direction)
        lines = {end: min((card["speed_mbps"] for _, card in common.cards(facts) if card.get("speed_mbps")), default=None) for end, facts in common.ends(case)}
        known = {end: speed for end, speed in lines.items() if speed}
        if reached is None or not known:
            continue
        slow = min(known, key=lambda end: known[end])
        if reached >= 0.85 * known[slow] * 1e6:
            yield Finding(
                key="line-is-full",
                severity="note",
                layer="device",
                title=f"{direction} fills the line of {slow} ({mbps(known[slow])}): only a faster link would help.",
                where=direction,
                evidence=(Evidence(direction, "goodput of one flow", rate(reached)), told(slow, "speed", mbps(known[slow]))),
                source="RFC 6349, 4.1.1",
            )


RULES = (
    half_duplex,
    negotiated_down,
    errors,
    flapping,
    rings,
    collisions,
    paused,
    mtus,
    small_mtu,
    offloads,
    emulated_card,
    small_queue,
    flow_control,
    speeds,
    narrow_line,
)
