"""The slot of a card, and whether it carries what the card's line does (PCI Express Base Specification)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from rushhour.diagnosis.gather.text import number

if TYPE_CHECKING:
    from rushhour.diagnosis.gather.reading import Reading

# Payload bits per bit on the wire: generations 1 and 2 code 8 bits as 10 (rev. 2.1, 4.2.1), from 3 on 128 as
# 130 (rev. 3.0, 4.2.2); 6 uses flits, of whose 256 bytes 236 are for transactions (rev. 6.0, 4.2.3).
ENCODING = {2.5: 0.8, 5.0: 0.8, 8.0: 128 / 130, 16.0: 128 / 130, 32.0: 128 / 130, 64.0: 236 / 256}
# What headers leave of it: a packet with the usual 256 bytes of payload carries 24 of framing, sequence
# number, header and CRC; about 8 % go to acknowledgements and flow control (Neugebauer et al.,
# "Understanding PCIe performance for end host networking", SIGCOMM 2018).
PACKETS = 256 / (256 + 24) * 0.92

_SPEED = re.compile(r"([\d.]+) ?GT/s")


def section(reading: Reading) -> dict[str, Any]:
    """Each card on a PCI bus: speed and width of its slot, now and at most, and what that carries."""
    found: dict[str, Any] = {}
    for dev, card in reading.cards.items():
        bus = card.get("driver", {}).get("bus", "")
        folder = f"/sys/bus/pci/devices/{bus}"
        speed, width = (reading.text(f"{folder}/current_link_{name}") for name in ("speed", "width"))
        node = number(reading.text(f"{folder}/numa_node"))
        known: dict[str, Any] = {"bus": bus} if bus else {}
        if node is not None and node >= 0:
            known |= {"numa_node": node, "local_cpus": reading.text(f"{folder}/local_cpulist")}
        if speed and width:
            most = (reading.text(f"{folder}/max_link_{name}") for name in ("speed", "width"))
            known |= _slot(speed, width, *most)
        if len(known) > 1:
            found[dev] = known
    return found


def _slot(speed: str, width: str, most_speed: str | None, most_width: str | None) -> dict[str, Any]:
    now = {"speed_gts": transfers(speed), "width": number(width)}
    most = {"max_speed_gts": transfers(most_speed), "max_width": number(most_width)}
    return now | most | {"carries_bps": carries(now["speed_gts"], now["width"])}


def transfers(text: str | None) -> float | None:
    """`8.0 GT/s PCIe` as a number; None where the kernel does not know."""
    match = _SPEED.search(text or "")
    return float(match[1]) if match else None


def carries(speed_gts: float | None, width: float | None) -> int | None:
    """Bits per second of data that a slot carries in one direction, after coding and packet headers."""
    if not speed_gts or not width or speed_gts not in ENCODING:
        return None
    return int(speed_gts * 1e9 * width * ENCODING[speed_gts] * PACKETS)
