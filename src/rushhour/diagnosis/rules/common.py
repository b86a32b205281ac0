"""What the rules share: what is known of the path, who is who, and commands that mend."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from rushhour.causes.finding import Command, Proof
from rushhour.causes.thresholds import FULL, MACHINE_BUSY, OTHERS_BUSY, WORTH_SAYING
from rushhour.diagnosis.case import DIRECTIONS, ENDS, receiver, sender
from rushhour.diagnosis.possible import possible_bps
from rushhour.diagnosis.rules import measured_words as words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rushhour.causes.cause import Severity
    from rushhour.diagnosis.case import Case, End
    from rushhour.diagnosis.facts import Facts
    from rushhour.record.facts_file import Device

HEADERS = 40
"""IPv4 and TCP without options, in bytes."""
# Devices whose speed and duplex are made up, or not of a line.
VIRTUAL = frozenset(
    ("veth", "virtio_net", "tun", "tap", "bridge", "bonding", "dummy", "ifb", "macvlan", "vxlan", "hv_netvsc")
)


def ends(case: Case) -> Iterator[tuple[End, Facts]]:
    """Each end with its facts."""
    return ((end, case.facts(end)) for end in ENDS)


def directions(case: Case) -> Iterator[tuple[str, End, Facts, End, Facts]]:
    """Each direction with its sender and receiver, and their facts."""
    for direction in DIRECTIONS:
        from_, to = sender(direction), receiver(direction)
        yield direction, from_, case.facts(from_), to, case.facts(to)


def rtt_ns(case: Case) -> float | None:
    """Round trip of the idle path, as measured or told."""
    known = [m.idle_rtt_ns for m in case.measured.values() if m.idle_rtt_ns]
    return case.path.rtt_ns or min(known, default=None)


def rate_bps(case: Case, direction: str) -> float | None:
    """What a direction could carry if the ends let it, as told or as measured."""
    measured = case.measured.get(direction)
    return case.path.rate_bps.get(direction) or (possible_bps(measured) if measured is not None else None)


def reached_bps(case: Case, direction: str) -> float | None:
    """What one flow reached, when it had begun."""
    measured = case.measured.get(direction)
    single = measured.single if measured is not None else None
    return max(single.steady_bps, single.goodput_bps) if single is not None else None


def bdp_bytes(case: Case, direction: str) -> float | None:
    """What has to be in flight to fill a direction (RFC 6349, 3.3.1); None where that is unknown."""
    rate, rtt = rate_bps(case, direction), rtt_ns(case)
    return None if rate is None or rtt is None else rate * rtt / 8e9


def is_full(case: Case, direction: str, share: float = FULL) -> bool:
    """Whether one flow already reaches what the direction carries: then no setting held it back."""
    rate, reached = rate_bps(case, direction), reached_bps(case, direction)
    return rate is not None and reached is not None and reached >= share * rate


def limited(case: Case, direction: str, *limits: str) -> float | None:
    """Share of one flow's time in which these limits held; None where it was not measured."""
    measured = case.measured.get(direction)
    single = measured.single if measured is not None else None
    return single.limited(*limits) if single is not None and single.shares else None


def proven(severity: Severity | None, share: float | None) -> Severity | None:
    """A limit that held for less than a tenth of the time while it was measured is worth a note at most."""
    return "note" if severity is not None and share is not None and share < WORTH_SAYING else severity


def retransmitted(case: Case, direction: str) -> float:
    """Largest share of segments sent again in any measurement of a direction."""
    measured = case.measured.get(direction)
    known = (measured.single, measured.several, measured.both) if measured is not None else ()
    return max((tcp.retransmit_share for tcp in known if tcp is not None), default=0.0)


def risen(case: Case, end: str, *suffixes: str) -> dict[str, float]:
    """Counters of an end that rose during the measurements, by the end of their name."""
    found: dict[str, float] = {}
    for measured in case.measured.values():
        counters: Mapping[str, float] = measured.counters.get(end, {})
        for name, by in counters.items():
            if name.endswith(suffixes) and by > 0:
                # The agent and `gather` read some of the same ones, under names that differ in this.
                short = name.removeprefix("snmp.").removeprefix("netstat.")
                found[short] = max(found.get(short, 0.0), by)
    return found


def busiest(case: Case, end: str) -> float:
    """Share of the time in which the busiest processor of an end was busy while it was measured."""
    known = [m.cpu[end].busiest for m in case.measured.values() if end in m.cpu]
    return max(known, default=0.0)


def softirq(case: Case, end: str) -> float:
    """Share of the busiest processor's time that soft interrupts took while the end was measured."""
    return max((m.cpu[end].softirq for m in case.measured.values() if end in m.cpu), default=0.0)


def is_busy(case: Case, end: str) -> bool:
    """Whether others kept the processors of an end busy, before or while it was measured."""
    others = max((m.cpu[end].others or 0.0 for m in case.measured.values() if end in m.cpu), default=0.0)
    return others >= OTHERS_BUSY or (case.facts(end).cpu.mean.busy or 0.0) >= MACHINE_BUSY


def device(facts: Facts) -> str:
    """The device on the way to the other end, as a shell's word; `DEVICE` where it is not known."""
    return quote(facts.link.dev or "DEVICE")


def cards(facts: Facts) -> Iterator[tuple[str, Device]]:
    """The real network cards that the way leads over: the device, or those under it; names as shell words."""
    link = facts.link
    known: dict[str, Device] = {str(link.dev): link, **link.under}
    return ((quote(dev), told) for dev, told in known.items() if told and not is_virtual(told))


def is_virtual(link: Device) -> bool:
    """Whether a device is made of software: it has no line of its own."""
    return link.kind is not None or link.driver.name in VIRTUAL or bool(link.lower)


def is_direct(case: Case) -> bool:
    """Whether both ends reach each other without a gateway."""
    return all(facts.route.found.dev and not facts.route.found.gateway for _, facts in ends(case))


def name(case: Case, end: str) -> str:
    """An end as a sentence calls it: `a (alice)`."""
    return words.name(case, end)


def shell(end: str, text: str, persistent: str | None = None) -> Command:
    """A command by its text."""
    return Command(end, text, persistent)


def sysctl(end: str, name: str, value: object) -> Command:
    """A setting of the kernel, now and over a reboot."""
    return words.setting(end, name, " ".join(map(str, value)) if isinstance(value, list) else value)


def ethtool(end: str, words: str, link_file: str | None = None) -> Command:
    """A setting of a card; `link_file` is the line for its `.link` file (systemd.link(5))."""
    kept = f"{link_file} in a file /etc/systemd/network/*.link" if link_file else None
    return Command(end, f"ethtool {words}", kept)


def algorithm(facts: Facts) -> str | None:
    """The congestion control that an end sends by: the route's, or the default."""
    chosen = facts.route.entry.congctl or facts.text("net.ipv4.tcp_congestion_control")
    return str(chosen) if chosen else None


def told(end: str, what: str, value: object) -> Proof:
    """A reading of an end as evidence."""
    return Proof(end, what, str(value))
