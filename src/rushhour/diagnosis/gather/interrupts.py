"""Which processors a card's queues are served by (`Documentation/networking/scaling.rst`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushhour.diagnosis.gather.text import below, mask, number, written

if TYPE_CHECKING:
    from rushhour.diagnosis.gather.reading import Reading

MOST = 256


def queues(reading: Reading, dev: str) -> dict[str, Any]:
    """How many queues the kernel has for a device, and the processors that RPS and XPS give them to."""
    told = reading.links.get(dev, {})
    found: dict[str, Any] = {"rx": told.get("rx_queues"), "tx": told.get("tx_queues")}
    for name, kind in (("rps", "rps_cpus"), ("xps", "xps_cpus")):
        folder = f"/sys/class/net/{dev}/queues"
        masks = [mask(text) or [] for path, text in below(reading.files, folder) if path.endswith("/" + kind)]
        chosen = sorted({cpu for one in masks for cpu in one})
        found[name] = written(chosen) or None
    used = [path.partition("/")[0] for path, _ in below(reading.files, f"/sys/class/net/{dev}/queues")]
    if used:
        found["rx"] = len({name for name in used if name.startswith("rx-")})
        found["tx"] = len({name for name in used if name.startswith("tx-")})
    return found


def of_device(reading: Reading, dev: str) -> list[dict[str, Any]]:
    """Each interrupt of a card: number, name, where it may go, and how often each processor took it."""
    table = reading.text("/proc/interrupts")
    if table is None:
        return []
    lines = table.splitlines()
    processors = [number(word.removeprefix("CPU")) for word in lines[0].split()]
    own = _own(reading, dev)
    bus = reading.cards.get(dev, {}).get("driver", {}).get("bus")
    found = []
    for line in lines[1:]:
        irq, _, rest = line.strip().partition(":")
        words = rest.split()
        counts = [number(word) for word in words[: len(processors)]]
        name = words[-1] if words else ""
        is_of_bus = bool(bus) and any(word.endswith(f"-{bus}") for word in words)
        if not irq.isdigit() or not (irq in own or is_of_bus or _is_named_after(name, dev)):
            continue
        taken = {str(cpu): count for cpu, count in zip(processors, counts, strict=False) if count}
        found.append(_one(reading, irq, name, taken))
    return found[:MOST]


def _own(reading: Reading, dev: str) -> set[str]:
    """Interrupts that sysfs lists under the card."""
    bus = reading.cards.get(dev, {}).get("driver", {}).get("bus", "")
    folders = [f"/sys/class/net/{dev}/device/msi_irqs"] + (
        [f"/sys/bus/pci/devices/{bus}/msi_irqs"] if bus else []
    )
    return {path for folder in folders for path, _ in below(reading.files, folder)}


def _is_named_after(name: str, dev: str) -> bool:
    """Whether an interrupt's name is the device's, or its name and a queue's (`eth0-TxRx-3`)."""
    return name == dev or name.startswith((dev + "-", dev + ":"))


def _one(reading: Reading, irq: str, name: str, taken: dict[str, int]) -> dict[str, Any]:
    where = reading.text(f"/proc/irq/{irq}/effective_affinity_list") or reading.text(
        f"/proc/irq/{irq}/smp_affinity_list"
    )
    return {"irq": int(irq), "name": name, "cpus": where, "taken": taken}
