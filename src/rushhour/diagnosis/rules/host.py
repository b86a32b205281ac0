"""Processors: stolen, busy, kept slow, and which of them the card is served by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.causes.finding import finding
from rushhour.causes.telling import sentence
from rushhour.causes.thresholds import (
    CAPPED,
    MACHINE_BUSY,
    NEARLY_BUSY,
    RECEIVING,
    SERVED,
    SLEEP,
    SLEEP_NS,
    STOLEN,
    STOLEN_MUCH,
    VERY_FAST_BPS,
)
from rushhour.diagnosis.gather.text import processors
from rushhour.diagnosis.rules import common
from rushhour.diagnosis.rules.common import told
from rushhour.diagnosis.shown import counted
from rushhour.quantities.short import duration, percent
from rushhour.record.facts_file import Device

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.causes.finding import Command, Finding
    from rushhour.diagnosis.case import Case
    from rushhour.diagnosis.facts import Facts

SLOW = frozenset(("powersave", "conservative"))
"""Governors that keep a processor slow; `WAKING_LATE` speeds it up after the packets have come."""
WAKING_LATE = frozenset(("ondemand",))
NO_DEVICE = Device()
# Drivers that choose the frequency themselves: their "powersave" is not the slowest step.
SELF_CHOOSING = frozenset(("intel_pstate", "amd-pstate-epp", "amd_pstate_epp"))


def _speed_bps(facts: Facts) -> float:
    """Speed of the fastest real card on the way; 0 where unknown."""
    return max((1e6 * (card.speed_mbps or 0) for _, card in common.cards(facts)), default=0.0)


def stolen(case: Case) -> Iterator[Finding]:
    """A virtual machine that does not get its processors."""
    for end, facts in common.ends(case):
        before = facts.cpu.mean.steal or 0.0
        during = max((m.cpu[end].steal for m in case.measured.values() if end in m.cpu), default=0.0)
        steal = max(before, during)
        if steal < STOLEN:
            continue
        yield finding(
            "stolen-time",
            "critical" if steal >= STOLEN_MUCH else "warning",
            (sentence("stolen-time", share=percent(steal), host=common.name(case, end))),
            end,
            evidence=(
                told(end, "steal before measuring", percent(before)),
                told(end, "steal while measuring", percent(during)),
            ),
            gain="steady rates and shorter delays on a host that is not overbooked",
        )


def busy(case: Case) -> Iterator[Finding]:
    """Other work on the machine, before anything was measured."""
    loads = {end: facts.cpu.mean.busy for end, facts in common.ends(case)}
    high = [end for end, load in loads.items() if load is not None and load >= MACHINE_BUSY]
    if high and case.a.host.boot_id == case.b.host.boot_id is not None:
        high = high[:1]
    for end in high:
        facts = case.facts(end)
        yield finding(
            "machine-busy",
            "note",
            sentence("machine-busy", host=common.name(case, end), share=percent(loads[end] or 0)),
            end,
            evidence=(
                told(end, "processors busy", percent(loads[end] or 0)),
                told(end, "load average", [*facts.cpu.load] or None),
                told(end, "processors", facts.cpu.count),
            ),
            gain="a fair measurement: run it again when the machine is quiet",
            fix=(common.shell(end, "top -b -n 1 | head -20   # who is it?"),),
        )


def kept_slow(facts: Facts, slow: frozenset[str]) -> list[str]:
    """Governors of the processors that are among the slow ones."""
    governors = facts.cpu.governor
    chooses = facts.cpu.frequency_driver in SELF_CHOOSING
    return [name for name in governors if name in slow and not (chooses and name == "powersave")]


def governor(case: Case) -> Iterator[Finding]:
    """Processors that are kept slow."""
    for end, facts in common.ends(case):
        governors = facts.cpu.governor
        slow = kept_slow(facts, SLOW)
        highest, allowed = facts.cpu.khz_max, facts.cpu.khz_allowed
        capped = bool(highest and allowed and allowed < CAPPED * highest)
        if not slow and not capped:
            continue
        hurts = common.busiest(case, end) >= NEARLY_BUSY or _speed_bps(facts) >= VERY_FAST_BPS
        yield finding(
            "processor-kept-slow",
            "warning" if hurts else "note",
            sentence(
                "processor-kept-slow", host=common.name(case, end), how=", ".join(slow) or "frequency capped"
            ),
            end,
            evidence=(
                told(end, "governor", counted(governors) if governors else "unknown"),
                told(end, "frequency now", f"{(facts.cpu.khz_now or 0) / 1e6:.2f} GHz"),
                told(end, "highest", f"{(highest or 0) / 1e6:.2f} GHz"),
                told(end, "allowed", f"{(allowed or 0) / 1e6:.2f} GHz"),
            ),
            gain="more packets a second, shorter delays",
            fix=(
                (
                    common.shell(
                        end,
                        "cpupower frequency-set -g performance",
                        "a service that does so at boot (cpupower.service)",
                    ),
                )
                if slow
                else (common.shell(end, f"cpupower frequency-set -u {highest}"),)
            ),
        )


def deep_sleep(case: Case) -> Iterator[Finding]:
    """Waking a processor takes as long as the network does."""
    rtt = common.rtt_ns(case)
    for end, facts in common.ends(case):
        states = facts.cpu.idle_states_us
        slowest = max((latency for latency in states.values() if latency), default=0)
        slowest_ns = 1e3 * slowest
        if rtt and slowest_ns >= SLEEP_NS and slowest_ns > SLEEP * rtt:
            yield finding(
                "deep-idle-states",
                "note",
                sentence(
                    "deep-idle-states", host=common.name(case, end), time=f"{slowest} µs", trip=duration(rtt)
                ),
                end,
                evidence=(told(end, "idle states (µs to wake)", states),),
                gain=f"round trips shorter by up to {slowest} µs each way",
                fix=(common.shell(end, "cpupower idle-set -D 50"),),
            )


def one_processor(case: Case) -> Iterator[Finding]:
    """All packets are received by one processor while others idle."""
    for end, facts in common.ends(case):
        count = facts.cpu.count or 1
        soft = common.softirq(case, end)
        active = [one for one in facts.link.interrupts if sum(one.taken.values()) > SERVED]
        used = {cpu for one in active for cpu in processors(one.cpus) or []}
        fast = _speed_bps(facts) >= VERY_FAST_BPS
        queues, most = facts.link.channels.combined, facts.link.channels.combined__max
        single = bool(queues and most and queues < most and queues == 1)
        together = len(active) > 1 and len(used) == 1
        if (
            count <= 1
            or not (single or together or soft >= RECEIVING)
            or (facts.link.queues.rps and soft < RECEIVING)
        ):
            continue
        if soft < RECEIVING and not fast:
            continue
        dev = common.device(facts)
        fix = []
        if single and most:
            combined = f"-L {dev} combined {min(most, count)}"
            fix.append(common.ethtool(end, combined, "[Link] CombinedChannels="))
        if together:
            fix.append(common.shell(end, "systemctl enable --now irqbalance"))
        yield finding(
            "received-by-one-processor",
            "warning" if soft >= RECEIVING else "note",
            sentence("received-by-one-processor", host=common.name(case, end), dev=dev, count=f"{count}"),
            end,
            evidence=(
                told(end, "queues in use", _queues(facts)),
                told(
                    end, "interrupts of the card on processors", ",".join(map(str, sorted(used))) or "unknown"
                ),
                told(end, "soft interrupts of the busiest processor", percent(soft)),
            ),
            gain="receiving by several processors, for several flows",
            fix=tuple(fix or [_steering(end, dev, count)]),
        )


def _queues(facts: Facts) -> str:
    """How many queues of the card are in use."""
    channels, queues = facts.link.channels, facts.link.queues
    if channels.combined__max:
        return f"{channels.combined} of {channels.combined__max}"
    return "unknown" if queues.rx is None else f"{queues.rx} to receive, {queues.tx} to send"


def _steering(end: str, dev: str, count: int) -> Command:
    """Packets are handed to all processors after they were received."""
    mask = f"{(1 << min(count, 32)) - 1:x}"
    return common.shell(end, f"echo {mask} | tee /sys/class/net/{dev}/queues/rx-*/rps_cpus")


def far_interrupts(case: Case) -> Iterator[Finding]:
    """The card hangs on one NUMA node, its interrupts go to another."""
    for end, facts in common.ends(case):
        for dev, slot in facts.pcie.items():
            local = set(processors(slot.local_cpus) or [])
            card = facts.link if facts.link.dev == dev else facts.link.under.get(dev, NO_DEVICE)
            used = {cpu for one in card.interrupts if one.taken for cpu in processors(one.cpus) or []}
            far = used - local
            if not facts.cpu.nodes or not local or not far:
                continue
            yield finding(
                "interrupts-on-the-far-node",
                "warning" if _speed_bps(facts) >= VERY_FAST_BPS and far == used else "note",
                sentence(
                    "interrupts-on-the-far-node",
                    dev=dev,
                    host=common.name(case, end),
                    node=f"{slot.numa_node}",
                ),
                end,
                evidence=(
                    told(end, f"processors near {dev}", slot.local_cpus),
                    told(end, "processors that serve its interrupts", ",".join(map(str, sorted(used)))),
                ),
                gain="packets in the near cache: shorter time per packet",
                fix=tuple(
                    common.shell(end, f"echo {slot.local_cpus} | tee /proc/irq/{one.irq}/smp_affinity_list")
                    for one in card.interrupts[:4]
                ),
            )


RULES = (
    stolen,
    one_processor,
    far_interrupts,
    governor,
    deep_sleep,
    busy,
)
