"""Everything that counts, read before and after; what matters is what rose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushhour.diagnosis.gather import cpu
from rushhour.diagnosis.gather.sockets import udp_drops
from rushhour.diagnosis.gather.text import doubled, number, pairs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.diagnosis.gather.reading import Reading

# What is no counter among the values of /proc/net/snmp.
_STATES = {
    "Ip.Forwarding",
    "Ip.DefaultTTL",
    "Tcp.RtoAlgorithm",
    "Tcp.RtoMin",
    "Tcp.RtoMax",
    "Tcp.MaxConn",
    "Tcp.CurrEstab",
}
# Columns of softnet_stat (softnet_seq_show, net/core/net-procfs.c).
_SOFTNET = {0: "processed", 1: "dropped", 2: "time_squeeze", 9: "received_rps", 10: "flow_limit"}
_CPU_COLUMN = 12
_VMSTAT = ("pswpin", "pswpout", "oom_kill", "allocstall_normal", "pgmajfault")


def section(reading: Reading) -> dict[str, int]:
    """Every counter by a name of its own, such as `snmp.Tcp.RetransSegs` or `link.eth0.rx_dropped`."""
    found = {
        f"snmp.{name}": count
        for name, count in doubled(reading.text("/proc/net/snmp")).items()
        if name not in _STATES
    }
    found |= {f"netstat.{name}": count for name, count in doubled(reading.text("/proc/net/netstat")).items()}
    for name, text in pairs(reading.text("/proc/net/snmp6"), " ").items():
        if name.startswith(("Ip6", "Udp6")) and (count := number(text)) is not None:
            found[f"snmp6.{name}"] = count
    found |= _softnet(reading.text("/proc/net/softnet_stat"))
    vmstat = pairs(reading.text("/proc/vmstat"), " ")
    found |= {f"vm.{name}": count for name in _VMSTAT if (count := number(vmstat.get(name))) is not None}
    for processor, kinds in cpu.ticks(reading.text("/proc/stat")).items():
        found |= {f"cpu.{processor}.{kind}": count for kind, count in kinds.items()}
    drops = [udp_drops(reading.text(path)) or 0 for path in ("/proc/net/udp", "/proc/net/udp6")]
    found |= {
        filter_name(rule): rule["packets"]
        for rule in reading.firewall.get("dropping", [])
        if "packets" in rule
    }
    return found | {"udp.drops": sum(drops)} | _devices(reading)


def filter_name(rule: Mapping[str, Any]) -> str:
    """The name of the counter of a rule that drops."""
    return "filter.{family}.{table}.{chain}.{handle}".format_map(rule)


def _softnet(text: str | None) -> dict[str, int]:
    found: dict[str, int] = {}
    for row, line in enumerate((text or "").splitlines()):
        words = [int(word, 16) for word in line.split()]
        processor = words[_CPU_COLUMN] if len(words) > _CPU_COLUMN else row
        found |= {
            f"softnet.{processor}.{name}": words[at] for at, name in _SOFTNET.items() if at < len(words)
        }
    return found


def _devices(reading: Reading) -> dict[str, int]:
    found: dict[str, int] = {}
    for dev, link in reading.links.items():
        found |= {f"link.{dev}.{name}": count for name, count in link.get("statistics", {}).items()}
        found[f"link.{dev}.carrier_changes"] = link.get("carrier_changes", 0)
    for dev, card in reading.cards.items():
        found |= {f"driver.{dev}.{name}": count for name, count in card.get("statistics", {}).items()}
    for dev, queues in reading.qdiscs.items():
        for qdisc in queues.get("qdiscs", []):
            name = f"qdisc.{dev}.{qdisc['kind']}.{qdisc['parent']}"
            found |= {
                f"{name}.{key}": qdisc[key] for key in ("bytes", "packets", "drops", "overlimits", "requeues")
            }
    return found


def rise(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """By how much each counter rose; those that did not, and those that began anew, are left out."""
    risen = {name: now - before[name] for name, now in after.items() if name in before}
    return {name: by for name, by in risen.items() if by > 0}
