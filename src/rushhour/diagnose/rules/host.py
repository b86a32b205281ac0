"""The machine: processors, interrupts, memory, slot, clock, firewall."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushhour.diagnose.finding import Finding
from rushhour.diagnose.gather.text import processors
from rushhour.diagnose.rules import common
from rushhour.diagnose.rules.common import told
from rushhour.diagnose.shown import counted, duration, mbps, rate, share, size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rushhour.diagnose.case import Case
    from rushhour.diagnose.facts import Facts
    from rushhour.diagnose.finding import Severity

TEN_GIGABIT = 10_000
# Drivers that choose the frequency themselves: their "powersave" is not the slowest step.
SELF_CHOOSING = frozenset(("intel_pstate", "amd-pstate-epp", "amd_pstate_epp"))
SLOW_CLOCKS = frozenset(("hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"))
BUSY = 0.6
_SCALING = "Documentation/networking/scaling.rst"


def _speed(facts: Facts) -> int:
    """Speed of the fastest real card on the way, in Mbit/s; 0 where unknown."""
    return max((card.get("speed_mbps") or 0 for _, card in common.cards(facts)), default=0)


def _softirq(case: Case, end: str) -> float:
    """Share of the busiest processor's time that soft interrupts took while the end was measured."""
    return max((m.cpu[end].softirq for m in case.measured.values() if end in m.cpu), default=0.0)


def stolen(case: Case) -> Iterator[Finding]:
    """A virtual machine that does not get its processors."""
    for end, facts in common.ends(case):
        before = facts.get("cpu", "mean", "steal") or 0.0
        during = max((m.cpu[end].steal for m in case.measured.values() if end in m.cpu), default=0.0)
        steal = max(before, during)
        if steal < 0.05:
            continue
        yield Finding(
            key="stolen-time",
            severity="critical" if steal >= 0.2 else "warning",
            layer="host",
            title=f"The host takes {share(steal)} of the processors of {end} away (steal).",
            where=end,
            evidence=(told(end, "steal before measuring", share(before)), told(end, "steal while measuring", share(during))),
            gain="steady rates and shorter delays on a host that is not overbooked",
            source="proc_stat(5), steal",
        )


def busy(case: Case) -> Iterator[Finding]:
    """Other work on the machine, before anything was measured."""
    loads = {end: facts.get("cpu", "mean", "busy") for end, facts in common.ends(case)}
    high = [end for end, load in loads.items() if load is not None and load >= BUSY]
    if high and case.a.get("host", "boot_id") == case.b.get("host", "boot_id") is not None:
        high = high[:1]
    for end in high:
        facts = case.facts(end)
        yield Finding(
            key="machine-busy",
            severity="note",
            layer="host",
            title=f"{end} was busy ({share(loads[end] or 0)} of its processors) before anything was measured: rates may be too low.",
            where=end,
            evidence=(
                told(end, "processors busy", share(loads[end] or 0)),
                told(end, "load average", facts.get("cpu", "load")),
                told(end, "processors", facts.get("cpu", "count")),
            ),
            gain="a fair measurement: run it again when the machine is quiet",
            fix=(common.Command(end, "top -b -n 1 | head -20   # who is it?"),),
            source="proc_loadavg(5); proc_stat(5)",
        )


def governor(case: Case) -> Iterator[Finding]:
    """Processors that are kept slow."""
    for end, facts in common.ends(case):
        governors: Mapping[str, int] = facts.get("cpu", "governor") or {}
        chooses = facts.get("cpu", "frequency_driver") in SELF_CHOOSING
        slow = [name for name in governors if name in {"powersave", "conservative"} and not (chooses and name == "powersave")]
        highest, allowed = facts.get("cpu", "khz_max"), facts.get("cpu", "khz_allowed")
        capped = bool(highest and allowed and allowed < 0.9 * highest)
        if not slow and not capped:
            continue
        hurts = common.busiest(case, end) >= 0.8 or _speed(facts) >= TEN_GIGABIT
        yield Finding(
            key="processor-kept-slow",
            severity="warning" if hurts else "note",
            layer="host",
            title=f"The processors of {end} are kept slow ({', '.join(slow) or 'frequency capped'}).",
            where=end,
            evidence=(
                told(end, "governor", counted(governors) if governors else "unknown"),
                told(end, "frequency now", f"{(facts.get('cpu', 'khz_now') or 0) / 1e6:.2f} GHz"),
                told(end, "highest", f"{(highest or 0) / 1e6:.2f} GHz"),
                told(end, "allowed", f"{(allowed or 0) / 1e6:.2f} GHz"),
            ),
            gain="more packets a second, shorter delays",
            fix=(common.Command(end, "sudo cpupower frequency-set -g performance", "a service that does so at boot (cpupower.service)"),)
            if slow
            else (common.Command(end, f"sudo cpupower frequency-set -u {highest}"),),
            source="Documentation/admin-guide/pm/cpufreq.rst",
        )


def deep_sleep(case: Case) -> Iterator[Finding]:
    """Waking a processor takes as long as the network does."""
    rtt = common.rtt_ns(case)
    for end, facts in common.ends(case):
        states: Mapping[str, int | None] = facts.get("cpu", "idle_states_us") or {}
        slowest = max((latency for latency in states.values() if latency), default=0)
        if rtt and slowest >= 50 and slowest * 1e3 > rtt / 4:
            yield Finding(
                key="deep-idle-states",
                severity="note",
                layer="host",
                title=f"Processors of {end} may take {slowest} µs to wake up; the round trip is {duration(rtt)}.",
                where=end,
                evidence=(told(end, "idle states (µs to wake)", states),),
                gain=f"round trips shorter by up to {slowest} µs each way",
                fix=(common.Command(end, "sudo cpupower idle-set -D 50"),),
                source="Documentation/admin-guide/pm/cpuidle.rst; cpupower-idle-set(1)",
            )


def one_processor(case: Case) -> Iterator[Finding]:
    """All packets are received by one processor while others idle."""
    for end, facts in common.ends(case):
        count = facts.get("cpu", "count") or 1
        soft = _softirq(case, end)
        interrupts: list[Mapping[str, Any]] = facts.get("link", "interrupts") or []
        active = [one for one in interrupts if sum(one["taken"].values()) > 1000]
        used = {cpu for one in active for cpu in processors(one["cpus"]) or []}
        fast = _speed(facts) >= TEN_GIGABIT
        queues, most = (facts.get("link", "channels", name) for name in ("combined", "combined-max"))
        single = bool(queues and most and queues < most and queues == 1)
        together = len(active) > 1 and len(used) == 1
        if count < 2 or not (single or together or soft >= 0.7) or (facts.get("link", "queues", "rps") and soft < 0.7):
            continue
        if soft < 0.7 and not fast:
            continue
        dev = common.device(facts)
        fix = [common.ethtool(end, f"-L {dev} combined {min(most, count)}", "[Link] CombinedChannels=")] if single else []
        if together:
            fix.append(common.Command(end, "sudo systemctl enable --now irqbalance"))
        if not fix:
            mask = f"{(1 << min(count, 32)) - 1:x}"
            fix.append(common.Command(end, f"echo {mask} | sudo tee /sys/class/net/{dev}/queues/rx-*/rps_cpus"))
        yield Finding(
            key="received-by-one-processor",
            severity="warning" if soft >= 0.7 else "note",
            layer="host",
            title=f"One processor of {end} receives all packets of {dev}; there are {count}.",
            where=end,
            evidence=(
                told(end, "queues in use", f"{queues} of {most}" if most else facts.get("link", "queues")),
                told(end, "interrupts of the card on processors", ",".join(map(str, sorted(used))) or "unknown"),
                told(end, "soft interrupts of the busiest processor", share(soft)),
            ),
            gain="receiving by several processors, for several flows",
            fix=tuple(fix),
            source=_SCALING,
        )


def far_interrupts(case: Case) -> Iterator[Finding]:
    """The card hangs on one NUMA node, its interrupts go to another."""
    for end, facts in common.ends(case):
        for dev, slot in (facts.sections.get("pcie") or {}).items():
            local = set(processors(slot.get("local_cpus")) or [])
            link = facts.sections.get("link") or {}
            card = link if link.get("dev") == dev else link.get("under", {}).get(dev, {})
            used = {cpu for one in card.get("interrupts", []) if one["taken"] for cpu in processors(one["cpus"]) or []}
            far = used - local
            if not facts.get("cpu", "nodes") or not local or not far:
                continue
            yield Finding(
                key="interrupts-on-the-far-node",
                severity="warning" if _speed(facts) >= TEN_GIGABIT and far == used else "note",
                layer="host",
                title=f"{dev} at {end} is at NUMA node {slot['numa_node']}, but processors of another node serve it.",
                where=end,
                evidence=(
                    told(end, f"processors near {dev}", slot["local_cpus"]),
                    told(end, "processors that serve its interrupts", ",".join(map(str, sorted(used)))),
                ),
                gain="packets in the near cache: shorter time per packet",
                fix=tuple(
                    common.Command(end, f"echo {slot['local_cpus']} | sudo tee /proc/irq/{one['irq']}/smp_affinity_list")
                    for one in card.get("interrupts", [])[:4]
                ),
                source=f"{_SCALING}; Documentation/core-api/irq/irq-affinity.rst",
            )


def slot(case: Case) -> Iterator[Finding]:
    """A slot that carries less than the card's line."""
    for end, facts in common.ends(case):
        for dev, found in (facts.sections.get("pcie") or {}).items():
            card = dict(common.cards(facts)).get(dev, {})
            speed, carries = card.get("speed_mbps"), found.get("carries_bps")
            if not speed or not carries or carries >= speed * 1e6:
                continue
            most = f"{found.get('max_speed_gts')} GT/s x{found.get('max_width')}"
            yield Finding(
                key="slot-too-narrow",
                severity="critical" if carries < 0.8 * speed * 1e6 else "warning",
                layer="host",
                title=f"{dev} at {end} has a line of {mbps(speed)} in a PCIe slot that carries about {rate(carries)}.",
                where=end,
                evidence=(
                    told(end, "slot now", f"{found['speed_gts']} GT/s x{found['width']}"),
                    told(end, "card and slot could do", most),
                    told(end, "needed", mbps(speed)),
                ),
                gain=f"{mbps(speed)} instead of {rate(carries)}: move the card to a wider slot",
                fix=(common.Command(end, f"sudo lspci -s {found['bus']} -vv | grep -i lnk   # then move the card"),),
                source="PCI Express Base Specification 3.0, 4.2; Neugebauer et al., SIGCOMM 2018",
            )


def backlog(case: Case) -> Iterator[Finding]:
    """Packets dropped between card and stack."""
    for end, facts in common.ends(case):
        rose = {name: by for name, by in common.risen(case, end, ".dropped").items() if name.startswith("softnet.")}
        length = common.setting(facts, "net.core.netdev_max_backlog")
        if rose:
            yield Finding(
                key="backlog-overflow",
                severity="warning",
                layer="host",
                title=f"{end} dropped packets that had arrived: the queue of a processor was full (netdev_max_backlog).",
                where=end,
                evidence=(
                    *(told(end, f"{name} rose by", f"{by:.0f}") for name, by in sorted(rose.items())),
                    told(end, "net.core.netdev_max_backlog", length),
                ),
                gain="bursts wait instead of being lost",
                fix=(common.sysctl(end, "net.core.netdev_max_backlog", max(10_000, 4 * (length or 0))),),
                source="Documentation/admin-guide/sysctl/net.rst, netdev_max_backlog",
            )


def squeezed(case: Case) -> Iterator[Finding]:
    """Receiving was cut short because its budget was used up."""
    for end, facts in common.ends(case):
        rose = common.risen(case, end, ".time_squeeze")
        if sum(rose.values()) < 50 or _softirq(case, end) < 0.5:
            continue
        budget, usecs = (common.setting(facts, f"net.core.netdev_budget{suffix}") for suffix in ("", "_usecs"))
        yield Finding(
            key="budget-used-up",
            severity="note",
            layer="host",
            title=f"{end} stopped receiving {sum(rose.values()):.0f} times although packets were left (netdev_budget).",
            where=end,
            evidence=(told(end, "net.core.netdev_budget", budget), told(end, "net.core.netdev_budget_usecs", usecs)),
            gain="fewer drops in the ring under load",
            fix=(common.sysctl(end, "net.core.netdev_budget", max(600, 2 * (budget or 0))), common.sysctl(end, "net.core.netdev_budget_usecs", max(8000, 2 * (usecs or 0)))),
            source="Documentation/admin-guide/sysctl/net.rst, netdev_budget",
        )


def swapping(case: Case) -> Iterator[Finding]:
    """Memory is short: the machine swaps, or is about to."""
    for end, facts in common.ends(case):
        rose = common.risen(case, end, "vm.pswpin", "vm.pswpout", "vm.oom_kill")
        total, left = (facts.get("memory", name) for name in ("total", "available"))
        short = bool(total and left is not None and left < 0.03 * total)
        stalls = (facts.get("memory", "pressure_pct") or {}).get("full", 0.0)
        if not rose and not short and stalls < 10:
            continue
        severity: Severity = "critical" if rose or stalls >= 10 else "warning"
        yield Finding(
            key="memory-short",
            severity=severity,
            layer="host",
            title=f"{end} is short of memory" + (" and was swapping while it was measured." if rose else "."),
            where=end,
            evidence=(
                told(end, "available", f"{size(left or 0)} of {size(total or 0)}"),
                told(end, "swap in use", size(facts.get("memory", "swap_used") or 0)),
                told(end, "all programs waited for memory (10 s)", f"{stalls:.0f} %"),
                *(told(end, f"{name} rose by", f"{by:.0f}") for name, by in sorted(rose.items())),
            ),
            gain="programs that read and write in time",
            fix=(common.Command(end, "ps -eo rss,comm --sort=-rss | head   # who holds it?"),),
            source="proc_meminfo(5); Documentation/accounting/psi.rst; Giurgiu & Vanderauwera 2010, 3.1",
        )


def quota(case: Case) -> Iterator[Finding]:
    """A control group that gives programs less than a processor, or little memory."""
    for end, facts in common.ends(case):
        cpus, memory = (facts.get("memory", "cgroup", name) for name in ("cpus", "memory"))
        throttled = max((m.cpu[end].throttled or 0.0 for m in case.measured.values() if end in m.cpu), default=0.0)
        if cpus is not None and cpus < (facts.get("cpu", "count") or 1):
            yield Finding(
                key="cpu-quota",
                severity="warning" if throttled > 0.05 else "note",
                layer="host",
                title=f"Programs started like this one may use {cpus:g} processors at {end}" + (f"; it was stopped for {share(throttled)} of the time." if throttled else "."),
                where=end,
                evidence=(told(end, "quota of the cgroup", f"{cpus:g} CPUs"), told(end, "stopped while measuring", share(throttled))),
                gain="more packets a second" if throttled > 0.05 else None,
                limited=throttled or None,
                fix=(common.Command(end, "sudo systemctl set-property --runtime UNIT CPUQuota=   # of the unit or container it runs in"),),
                source="Documentation/admin-guide/cgroup-v2.rst, cpu.max; Documentation/scheduler/sched-bwc.rst",
            )
        if memory is not None and memory < 64 << 20:
            yield Finding(
                key="memory-limit",
                severity="note",
                layer="host",
                title=f"Programs started like this one may use {size(memory)} at {end}, socket buffers included.",
                where=end,
                evidence=(told(end, "limit of the cgroup", size(memory)),),
                source="Documentation/admin-guide/cgroup-v2.rst, memory.max, memory.stat sock",
            )


def clock(case: Case) -> Iterator[Finding]:
    """A clock that is slow to read, and read for every packet."""
    for end, facts in common.ends(case):
        name = facts.get("time", "clocksource")
        if name not in SLOW_CLOCKS:
            continue
        better = [one for one in facts.get("time", "available") or [] if one not in SLOW_CLOCKS]
        yield Finding(
            key="slow-clock",
            severity="warning",
            layer="host",
            title=f"{end} reads the time from {name}, which takes about a microsecond; TCP reads it for every packet.",
            where=end,
            evidence=(told(end, "clock source", name), told(end, "available", " ".join(facts.get("time", "available") or []))),
            gain="less time per packet, finer pacing",
            fix=(common.Command(end, f"echo {better[0]} | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource", f"clocksource={better[0]} on the kernel's command line"),) if better else (),
            source="Documentation/timers/timekeeping.rst; Documentation/virt/kvm/x86/timekeeping.rst",
        )


def tracking(case: Case) -> Iterator[Finding]:
    """The table of tracked connections is full, or nearly."""
    for end, facts in common.ends(case):
        count, most = (facts.get("firewall", f"conntrack_{name}") for name in ("count", "max"))
        if not count or not most or count < 0.75 * most:
            continue
        yield Finding(
            key="connection-table-full",
            severity="critical" if count >= 0.95 * most else "warning",
            layer="host",
            title=f"The table of tracked connections at {end} is {share(count / most)} full: new ones are dropped beyond.",
            where=end,
            evidence=(told(end, "nf_conntrack_count", count), told(end, "nf_conntrack_max", most)),
            gain="no connection is refused at random",
            fix=(common.sysctl(end, "net.netfilter.nf_conntrack_max", 4 * most),),
            source="Documentation/networking/nf_conntrack-sysctl.rst, nf_conntrack_max",
        )


RULES = (
    stolen,
    swapping,
    tracking,
    slot,
    backlog,
    one_processor,
    far_interrupts,
    governor,
    clock,
    quota,
    squeezed,
    deep_sleep,
    busy,
)
