"""The machine as a whole: its system, whether it is virtual, its clock, its firewall."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushhour.diagnosis.gather.text import number, pairs

if TYPE_CHECKING:
    from rushhour.diagnosis.gather.reading import Reading

# Words in a control group's path that container managers put there.
_CONTAINERS = ("docker", "kubepods", "lxc", "containerd", "podman", "libpod", "crio")
_CLOCK = "/sys/devices/system/clocksource/clocksource0"


def host(reading: Reading) -> dict[str, Any]:
    """Name, kernel, distribution, uptime, and what the agent may do there."""
    kernel = reading.hello.get("kernel", {})
    system = pairs(reading.text("/etc/os-release"), "=")
    uptime = (reading.text("/proc/uptime") or "").split()
    return {
        "name": reading.hello.get("hostname"),
        "boot_id": reading.hello.get("boot_id"),
        "kernel": kernel.get("release"),
        "machine": kernel.get("machine"),
        "system": system.get("PRETTY_NAME", "").strip('"') or None,
        "uptime_s": int(float(uptime[0])) if uptime else None,
        "uid": reading.hello.get("uid"),
        "capabilities": reading.hello.get("capabilities", []),
    }


def virtualisation(reading: Reading) -> dict[str, Any]:
    """Whether a hypervisor is below (as the processor says), which, and whether this is a container."""
    cpuinfo = reading.text("/proc/cpuinfo")
    found: dict[str, Any] = {}
    if cpuinfo is not None:
        flags = pairs(cpuinfo.split("\n\n")[0]).get("flags", "").split()
        found["hypervisor"] = "hypervisor" in flags or reading.text("/sys/hypervisor/type") is not None
    vendor, product = (reading.text(f"/sys/class/dmi/id/{name}") for name in ("sys_vendor", "product_name"))
    if vendor or product:
        found["product"] = " ".join(word for word in (vendor, product) if word)
    if kind := reading.text("/sys/hypervisor/type"):
        found["kind"] = kind
    groups = (reading.text("/proc/1/cgroup") or "") + (reading.text("/proc/self/cgroup") or "")
    found["container"] = next((word for word in _CONTAINERS if word in groups), None)
    return found


def time(reading: Reading) -> dict[str, Any]:
    """The clock that the kernel reads for every packet, and those it could read."""
    available = reading.text(f"{_CLOCK}/available_clocksource")
    return {
        "clocksource": reading.text(f"{_CLOCK}/current_clocksource"),
        "available": available.split() if available else [],
    }


def firewall(reading: Reading) -> dict[str, Any]:
    """Connection tracking; base chains and dropping rules of the packet filter, where they may be seen."""
    found: dict[str, Any] = {}
    for key in ("count", "max", "buckets"):
        if (value := number(reading.text(f"/proc/sys/net/netfilter/nf_conntrack_{key}"))) is not None:
            found[f"conntrack_{key}"] = value
    tables = (reading.text("/proc/net/ip_tables_names") or "").split()
    modules = {line.split()[0] for line in (reading.text("/proc/modules") or "").splitlines() if line}
    if tables:
        found["iptables"] = tables
    if loaded := sorted(modules & {"nf_tables", "ip_tables", "ip6_tables", "ebtables", "nf_conntrack"}):
        found["modules"] = loaded
    found |= {name: told for name in ("chains", "dropping") if (told := reading.firewall.get(name))}
    return found
