"""Facts of a well-kept server as `gather` gives them, and the same with something changed."""

from __future__ import annotations

import copy
from typing import Any

from rushhour.diagnosis.facts import Facts
from rushhour.record.facts_file import FORMAT

MIB = 1 << 20

# A card for 10 Gbit/s, as `ethtool`, `ethtool -i -g -l -a -k` and sysfs show an Intel X520 (ixgbe).
_LINK: dict[str, Any] = {
    "dev": "eno1", "mtu": 1500, "min_mtu": 68, "max_mtu": 9710, "txqlen": 1000, "state": "up", "up": True,
    "carrier": True, "carrier_changes": 2, "address": "90:e2:ba:00:00:01", "qdisc": "mq", "promiscuity": 0,
    "lower": [], "speed_mbps": 10000, "duplex": "full", "autoneg": True, "port": "fibre",
    "supported_mbps": 10000, "advertised_mbps": 10000, "partner_mbps": 10000,
    "driver": {"name": "ixgbe", "version": "6.1.0", "firmware": "0x800003df", "bus": "0000:03:00.0"},
    "rings": {"rx": 512, "rx-max": 4096, "tx": 512, "tx-max": 4096},
    "channels": {"combined": 8, "combined-max": 63, "rx": 0, "rx-max": 0, "tx": 0, "tx-max": 0},
    "pause": {"autoneg": False, "rx": True, "tx": True},
    "offloads": {word: {"on": True, "fixed": False} for word in ("tso", "gso", "gro", "rx", "tx", "sg")},
    "errors": {}, "packets": {"rx_packets": 50_000_000, "tx_packets": 40_000_000},
    "queues": {"rx": 8, "tx": 8, "rps": None, "xps": "0-7"},
    "interrupts": [
        {"irq": 70 + n, "name": f"eno1-TxRx-{n}", "cpus": str(n), "taken": {str(n): 900_000}}
        for n in range(8)
    ],
}  # fmt: skip
_SYSCTL: dict[str, Any] = {
    "net.core.rmem_default": 212992, "net.core.rmem_max": 64 * MIB, "net.core.wmem_default": 212992,
    "net.core.wmem_max": 64 * MIB, "net.core.netdev_max_backlog": 1000, "net.core.netdev_budget": 300,
    "net.core.netdev_budget_usecs": 2000, "net.core.default_qdisc": "fq_codel",
    "net.ipv4.tcp_rmem": [4096, 131072, 128 * MIB], "net.ipv4.tcp_wmem": [4096, 16384, 128 * MIB],
    "net.ipv4.tcp_mem": [380_000, 507_000, 760_000], "net.ipv4.udp_mem": [760_000, 1_014_000, 1_520_000],
    "net.ipv4.udp_rmem_min": 4096, "net.ipv4.udp_wmem_min": 4096, "net.ipv4.tcp_moderate_rcvbuf": 1,
    "net.ipv4.tcp_adv_win_scale": 1, "net.ipv4.tcp_window_scaling": 1, "net.ipv4.tcp_timestamps": 1,
    "net.ipv4.tcp_sack": 1, "net.ipv4.tcp_dsack": 1, "net.ipv4.tcp_ecn": 2, "net.ipv4.tcp_mtu_probing": 0,
    "net.ipv4.tcp_congestion_control": "cubic", "net.ipv4.tcp_available_congestion_control": "reno cubic",
    "net.ipv4.ip_no_pmtu_disc": 0, "net.ipv4.tcp_limit_output_bytes": 1 << 20,
    "net.ipv4.tcp_notsent_lowat": 0xFFFF_FFFF, "net.ipv4.tcp_pacing_ca_ratio": 120,
}  # fmt: skip


def server(place: str = "alice") -> dict[str, Any]:
    """A well-kept machine, as a document of facts."""
    queue = {"kind": "fq_codel", "handle": "0:", "parent": "root", "options": {"limit_packets": 10240}}
    counts = {"bytes": 1, "packets": 1, "drops": 0, "overlimits": 0, "requeues": 0, "backlog": 0, "qlen": 0}
    return copy.deepcopy({
        "format": FORMAT, "place": place, "unknown": {},
        "host": {"name": place, "boot_id": f"boot of {place}", "kernel": "6.12.43", "uid": 0},
        "link": _LINK,
        "route": {
            "found": {"dev": "eno1", "source": "192.0.2.1", "gateway": "192.0.2.254",
                      "to": "198.51.100.1/32"},
            "entry": {"dev": "eno1", "gateway": "192.0.2.254", "to": "0.0.0.0/0"},
            "neighbour": {"address": "192.0.2.254", "dev": "eno1", "state": "reachable"},
        },
        "pcie": {"eno1": {"bus": "0000:03:00.0", "speed_gts": 5.0, "width": 8, "max_speed_gts": 5.0,
                          "max_width": 8, "carries_bps": 26_900_000_000, "numa_node": 0,
                          "local_cpus": "0-7"}},
        "cpu": {"model": "Intel(R) Xeon(R) CPU E5-2640 v3", "count": 16, "governor": {"performance": 16},
                "frequency_driver": "intel_pstate", "khz_now": 3_200_000, "khz_max": 3_400_000,
                "khz_allowed": 3_400_000, "idle_states_us": {"POLL": 0, "C1": 2, "C6": 40},
                "nodes": {"0": "0-7", "1": "8-15"}, "load": [0.1, 0.2, 0.1],
                "mean": {"busy": 0.02, "softirq": 0.0, "steal": 0.0, "iowait": 0.0}},
        "memory": {"total": 64 << 30, "available": 60 << 30, "swap_total": 8 << 30, "swap_used": 0,
                   "pressure_pct": {"some": 0.0, "full": 0.0}},
        "virtualisation": {"hypervisor": False, "product": "Dell Inc. PowerEdge R630", "container": None},
        "sysctl": _SYSCTL,
        "qdisc": {"eno1": {"qdiscs": [queue | counts], "classes": [], "filters": []}},
        "sockets": {"tcp_mem": 12, "udp_drops": 0, "states": {"established": 3}},
        "firewall": {"conntrack_count": 40, "conntrack_max": 262144},
        "time": {"clocksource": "tsc", "available": ["tsc", "hpet", "acpi_pm"]},
        "counters": {},
    })  # fmt: skip


def changed(document: dict[str, Any], **changes: Any) -> Facts:
    """Facts of a document with some values changed: `link__offloads__tso={"on": False, "fixed": False}`.

    A name of a setting is written with dots: `**{"sysctl__net.ipv4.tcp_sack": 0}`.
    """
    document = copy.deepcopy(document)
    for path, value in changes.items():
        *folders, last = path.split("__")
        place = document
        for folder in folders:
            place = place.setdefault(folder, {})
        place[last] = value
    return Facts.from_document(document)
