"""Devices: packet sizes, offloads, rings, queues."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rushhour.causes.finding import Proof, finding
from rushhour.causes.telling import sentence
from rushhour.causes.thresholds import (
    FAST_BPS,
    LEAST_GSO,
    LEAST_GSO_SEGMENTS,
    LEAST_MTU,
    NEARLY_BUSY,
    SMALL_QUEUE,
    TINY_MTU,
)
from rushhour.diagnosis.case import ENDS
from rushhour.diagnosis.rules import common
from rushhour.diagnosis.rules.common import told
from rushhour.quantities.words import plural
from rushhour.tc.kinds import DEVICE_LENGTH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rushhour.causes.finding import Finding
    from rushhour.diagnosis.case import Case
    from rushhour.diagnosis.facts import Facts

USUAL_QUEUE = 1000
"""Packets of a transmit queue by default: DEFAULT_TX_QUEUE_LEN, include/linux/netdevice.h."""
# Drivers' own names for packets that found no room.
NO_ROOM = re.compile(
    r"(no_?buf|missed|fifo|no_dma|out_of_buffer|rx_drops?$|discard|no_desc|alloc_fail)", re.IGNORECASE
)


def mtus(case: Case) -> Iterator[Finding]:
    """Packets that one end may send are larger than what the other takes."""
    sizes = {end: mtu for end, facts in common.ends(case) if (mtu := facts.link.mtu) is not None}
    if len(sizes) < len(ENDS) or sizes["a"] == sizes["b"]:
        return
    small, large = sorted(sizes, key=lambda end: sizes[end])
    toward = f"{large}→{small}"
    measured = case.measured.get(toward)
    lost = measured.sizes.vanished if measured is not None else None
    direct = common.is_direct(case)
    grave = (lost is not None and lost <= sizes[large]) or direct
    vanish = () if lost is None else (Proof(toward, "smallest packet that vanished", f"{lost} B"),)
    small_dev, large_dev = (common.device(case.facts(end)) for end in (small, large))
    yield finding(
        "mtu-mismatch",
        "warning" if grave else "note",
        (
            sentence(
                "mtu-mismatch",
                host=common.name(case, large),
                large=f"{sizes[large]}",
                other=common.name(case, small),
                small=f"{sizes[small]}",
                what="larger ones vanish" if grave else "routers between them have to report it",
            )
        ),
        small,
        evidence=(*(told(end, "MTU", size) for end, size in sizes.items()), *vanish),
        gain="UDP and every protocol without MSS get through",
        fix=(
            common.shell(
                small,
                f"ip link set dev {small_dev} mtu {sizes[large]}",
                f"[Link] MTUBytes={sizes[large]} in a file /etc/systemd/network/*.link",
            ),
            common.shell(
                large,
                f"ip link set dev {large_dev} mtu {sizes[small]}   # or this, where the "
                "network carries no more",
            ),
        ),
    )


def small_mtu(case: Case) -> Iterator[Finding]:
    """Packets so small that headers take a good part."""
    for end, facts in common.ends(case):
        mtu = facts.link.mtu
        if mtu is None or mtu >= LEAST_MTU:
            continue
        share = (mtu - common.HEADERS) / (mtu + 18)
        yield finding(
            "small-mtu",
            "warning" if mtu < TINY_MTU else "note",
            sentence(
                "small-mtu",
                dev=common.device(facts),
                host=common.name(case, end),
                mtu=f"{mtu}",
                share=f"{100 - 100 * share:.0f} %",
            ),
            end,
            evidence=(told(end, "MTU", mtu),),
            gain=f"{(1460 / 1518) / share - 1:.0%} more payload with 1500",
            fix=(common.shell(end, f"ip link set dev {common.device(facts)} mtu 1500"),),
        )


OFFLOADS = {"gso": "segmentation", "tso": "TCP segmentation by the card", "gro": "receive coalescing"}


def switched_off(facts: Facts, words: Iterable[str]) -> list[str]:
    """Offloads of the device that are off and could be on, of these words of ethtool."""
    known = facts.link.offloads
    # What a veth hands over was never cut: nothing has to be put together again.
    made = common.is_virtual(facts.link)
    there = [word for word in words if word in known and not (made and word == "gro")]
    return [word for word in there if not known[word].on and not known[word].fixed]


def offloads(case: Case) -> Iterator[Finding]:
    """Segmentation or coalescing is switched off: every packet costs a passage through the stack."""
    for end, facts in common.ends(case):
        off = switched_off(facts, OFFLOADS)
        if not off:
            continue
        fastest = max(common.rate_bps(case, direction) or 0 for direction in ("a→b", "b→a"))
        busy = common.busiest(case, end)
        hurts = fastest >= FAST_BPS or busy >= NEARLY_BUSY
        dev = common.device(facts)
        yield finding(
            "offloads-off",
            "warning" if hurts else "note",
            sentence(
                "offloads-off",
                off=f"{', '.join(off)} {'is' if len(off) == 1 else 'are'}",
                dev=dev,
                host=common.name(case, end),
            ),
            end,
            evidence=(
                *(told(end, f"{word} ({OFFLOADS[word]})", "off") for word in off),
                *((told(end, "busiest processor", f"{100 * busy:.0f} %"),) if busy else ()),
            ),
            gain=(
                "a fraction of the processor time at the same rate"
                if hurts
                else "none at this rate; less processor time"
            ),
            fix=(
                common.ethtool(
                    end,
                    f"-K {dev} " + " ".join(f"{word} on" for word in off),
                    "[Link] TCPSegmentationOffload=yes, GenericSegmentationOffload=yes, "
                    "GenericReceiveOffload=yes",
                ),
            ),
        )


def cut_small(case: Case) -> Iterator[Finding]:
    """Segments that the stack may hand to a device at once are few, though offloads are on."""
    for end, facts in common.ends(case):
        size, segments = facts.link.gso_max_size, facts.link.gso_max_segs
        limits = {"segment" if segments == 1 else "segments": segments, "bytes": size}
        known = [f"{most} {what}" for what, most in limits.items() if most is not None]
        if (size is None or size >= LEAST_GSO) and (segments is None or segments >= LEAST_GSO_SEGMENTS):
            continue
        fastest = max(common.rate_bps(case, direction) or 0 for direction in ("a→b", "b→a"))
        dev = common.device(facts)
        yield finding(
            "few-segments-at-once",
            "warning" if fastest >= FAST_BPS or common.busiest(case, end) >= NEARLY_BUSY else "note",
            sentence("few-segments-at-once", dev=dev, host=common.name(case, end), most=" or ".join(known)),
            end,
            evidence=(told(end, "gso_max_size", size), told(end, "gso_max_segs", segments)),
            gain="a fraction of the processor time at the same rate",
            fix=(common.shell(end, f"ip link set dev {dev} gso_max_size 65536 gso_max_segs 65535"),),
        )


def rings(case: Case) -> Iterator[Finding]:
    """The card had no room for packets that arrived."""
    for end, facts in common.ends(case):
        rose = common.risen(case, end, ".rx_missed_errors", ".rx_fifo_errors", ".rx_over_errors")
        rose |= {
            name: by
            for name, by in common.risen(case, end, "").items()
            if name.startswith("driver.") and NO_ROOM.search(name) and "tx" not in name
        }
        if not rose:
            continue
        now, most = facts.link.rings.rx, facts.link.rings.rx__max
        larger = bool(now and most and now < most)
        dev = common.device(facts)
        yield finding(
            "receive-ring-overflow",
            "critical" if larger else "warning",
            (
                sentence(
                    "receive-ring-overflow",
                    dev=dev,
                    host=common.name(case, end),
                    size=f" ({now} of at most {most})" if larger else "",
                )
            ),
            end,
            evidence=(
                *(told(end, f"{name} rose by", f"{by:.0f}") for name, by in sorted(rose.items())[:5]),
                told(end, "rx ring", f"{now} of {most}" if now else "unknown"),
            ),
            gain="bursts are kept instead of lost; if drops go on, a processor is too slow",
            fix=(
                (common.ethtool(end, f"-G {dev} rx {most}", f"[Link] RxBufferSize={most}"),) if larger else ()
            ),
        )


def emulated_card(case: Case) -> Iterator[Finding]:
    """A virtual machine with an imitation of an old card."""
    slow = {"e1000", "e1000e", "8139cp", "8139too", "pcnet32", "ne2k-pci", "tulip"}
    for end, facts in common.ends(case):
        driver = facts.link.driver.name
        if facts.virtualisation.hypervisor and driver in slow:
            yield finding(
                "emulated-card",
                "warning",
                sentence("emulated-card", host=common.name(case, end), driver=driver),
                end,
                evidence=(
                    told(end, "driver", driver),
                    told(end, "virtual machine", facts.virtualisation.product or "yes"),
                ),
                gain="several times the packet rate with a paravirtual card (virtio-net, vmxnet3)",
            )


def small_queue(case: Case) -> Iterator[Finding]:
    """A transmit queue too short for what one system call sends."""
    for end, facts in common.ends(case):
        length = facts.link.txqlen
        own = facts.qdisc.get(facts.link.dev or "")
        root = [one for one in own.qdiscs if one.parent == "root"] if own is not None else []
        if not length or length >= SMALL_QUEUE or not any(one.kind in DEVICE_LENGTH for one in root):
            continue
        rose = common.risen(case, end, ".root.drops")
        dev = common.device(facts)
        yield finding(
            "transmit-queue-too-short",
            "warning" if rose else "note",
            sentence(
                "transmit-queue-too-short",
                dev=dev,
                host=common.name(case, end),
                length=plural(length, "packet"),
            ),
            end,
            evidence=(
                told(end, "txqueuelen", length),
                *(told(end, f"{name} rose by", f"{by:.0f}") for name, by in rose.items()),
            ),
            gain="bursts wait instead of being lost",
            fix=(
                common.shell(
                    end,
                    f"ip link set dev {dev} txqueuelen {USUAL_QUEUE}",
                    f"[Link] TransmitQueueLength={USUAL_QUEUE} in a file /etc/systemd/network/*.link",
                ),
            ),
        )


RULES = (
    rings,
    mtus,
    small_mtu,
    offloads,
    cut_small,
    emulated_card,
    small_queue,
)
