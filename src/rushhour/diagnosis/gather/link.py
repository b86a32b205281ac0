"""The device that packets leave by, and the devices under it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushhour.diagnosis.gather import interrupts
from rushhour.diagnosis.gather.text import number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.diagnosis.gather.reading import Reading

OFFLOADS: dict[str, tuple[str, ...]] = {
    "tso": ("tx-tcp-segmentation",),
    "gso": ("tx-generic-segmentation",),
    "gro": ("rx-gro",),
    "lro": ("rx-lro",),
    "rx": ("rx-checksum",),
    "tx": ("tx-checksum-ip-generic", "tx-checksum-ipv4"),
    "sg": ("tx-scatter-gather",),
    "rxhash": ("rx-hashing",),
    "uso": ("tx-udp-segmentation",),
}
"""Offloads by ethtool's short words, and the kernel's names of them (any one will do)."""

ERRORS = (
    "rx_errors",
    "tx_errors",
    "rx_dropped",
    "tx_dropped",
    "collisions",
    "rx_crc_errors",
    "rx_frame_errors",
    "rx_fifo_errors",
    "rx_missed_errors",
    "rx_over_errors",
    "rx_length_errors",
    "tx_carrier_errors",
    "tx_fifo_errors",
    "tx_aborted_errors",
)
_PLAIN = (
    "kind",
    "mtu",
    "min_mtu",
    "max_mtu",
    "txqlen",
    "state",
    "up",
    "carrier",
    "carrier_changes",
    "address",
    "qdisc",
    "xdp",
    "promiscuity",
    "gso_max_size",
    "gro_max_size",
    "gso_max_segs",
    "vlan",
    "bond",
    "bridge",
    "master",
    "lower",
)


def section(reading: Reading) -> dict[str, Any]:
    """The device of the route, with all that lies under it (`under`: name → the same of each)."""
    if reading.dev is None or reading.dev not in reading.links:
        return {}
    under = {name: device(reading, name) for name in reading.links if name != reading.dev}
    found = {"dev": reading.dev, **device(reading, reading.dev)}
    return found | ({"under": under} if under else {})


def device(reading: Reading, dev: str) -> dict[str, Any]:
    """What is known of one device."""
    told = reading.links[dev]
    card = reading.cards.get(dev, {})
    found: dict[str, Any] = {name: told[name] for name in _PLAIN if told.get(name) is not None}
    found |= _line(reading, dev, card.get("link", {}))
    found |= {
        name: card[name]
        for name in ("driver", "rings", "channels", "coalesce", "pause", "fec")
        if card.get(name)
    }
    if card.get("timestamping"):
        found["hardware_timestamps"] = card["timestamping"]["hardware"]
    if features := card.get("features"):
        found["offloads"] = offloads(features)
    statistics = told.get("statistics", {})
    found["errors"] = {name: statistics[name] for name in ERRORS if statistics.get(name)}
    found["packets"] = {
        name: statistics.get(name) for name in ("rx_packets", "tx_packets", "rx_bytes", "tx_bytes")
    }
    found["queues"] = interrupts.queues(reading, dev)
    if served := interrupts.of_device(reading, dev):
        found["interrupts"] = served
    return found


def _line(reading: Reading, dev: str, link: Mapping[str, Any]) -> dict[str, Any]:
    """Speed, duplex and negotiation; `modes` are the fastest that each side can do."""
    speed = link.get("speed_mbps") or number(reading.text(f"/sys/class/net/{dev}/speed"))
    duplex = link.get("duplex") or reading.text(f"/sys/class/net/{dev}/duplex")
    found: dict[str, Any] = {}
    if speed and speed > 0:
        found["speed_mbps"] = speed
    if duplex in {"full", "half"}:
        found["duplex"] = duplex
    if link:
        found["autoneg"] = link["autoneg"]
        found |= {"port": link["port"]} if link.get("port") else {}
        for name in ("supported", "advertised", "partner"):
            if fastest := fastest_mode(link.get(name, [])):
                found[f"{name}_mbps"] = fastest
    return found


def fastest_mode(modes: list[str]) -> int | None:
    """The speed in Mbit/s of the fastest of link modes such as `1000baseT/Full`."""
    speeds = [number(mode.partition("base")[0]) for mode in modes if "base" in mode]
    return max((speed for speed in speeds if speed), default=None)


def offloads(features: Mapping[str, Mapping[str, bool]]) -> dict[str, dict[str, bool]]:
    """On or not, and whether that is fixed, by ethtool's short words; absent if the kernel has no such."""
    found = {}
    for short, names in OFFLOADS.items():
        known = [features[name] for name in names if name in features]
        if known:
            on = any(one["on"] for one in known)
            found[short] = {"on": on, "fixed": all(one["fixed"] for one in known)}
    return found
