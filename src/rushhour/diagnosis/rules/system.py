"""The system: memory, quotas, slot, clock, firewall."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.causes.end_rules import QUOTA_AWAY
from rushhour.causes.finding import finding
from rushhour.causes.telling import sentence
from rushhour.causes.thresholds import (
    CUT_SHORT,
    CUT_SHORT_BUSY,
    LITTLE_MEMORY,
    LOW_MEMORY,
    NARROW,
    QUOTA,
    STALLED_PCT,
    TABLE_FILLS,
    TABLE_FULL,
)
from rushhour.diagnosis.rules import common
from rushhour.diagnosis.rules.common import told
from rushhour.diagnosis.shown import mbps
from rushhour.quantities.short import binary, percent, rate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.causes.cause import Severity
    from rushhour.causes.finding import Finding
    from rushhour.diagnosis.case import Case

SLOW_CLOCKS = frozenset(("hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"))


def slot(case: Case) -> Iterator[Finding]:
    """A slot that carries less than the card's line."""
    for end, facts in common.ends(case):
        for dev, found in facts.pcie.items():
            card = dict(common.cards(facts)).get(dev)
            speed, carries = card.speed_mbps if card is not None else None, found.carries_bps
            line_bps = 1e6 * (speed or 0)
            if not speed or not carries or carries >= line_bps:
                continue
            most = f"{found.max_speed_gts} GT/s x{found.max_width}"
            yield finding(
                "slot-too-narrow",
                "critical" if carries < NARROW * line_bps else "warning",
                sentence(
                    "slot-too-narrow",
                    dev=dev,
                    host=common.name(case, end),
                    speed=mbps(speed),
                    carries=rate(carries),
                ),
                end,
                evidence=(
                    told(end, "slot now", f"{found.speed_gts} GT/s x{found.width}"),
                    told(end, "card and slot could do", most),
                    told(end, "needed", mbps(speed)),
                ),
                gain=f"{mbps(speed)} instead of {rate(carries)}: move the card to a wider slot",
                fix=(common.shell(end, f"lspci -s {found.bus} -vv | grep -i lnk   # then move the card"),),
            )


def backlog(case: Case) -> Iterator[Finding]:
    """Packets dropped between card and stack."""
    for end, facts in common.ends(case):
        rose = {
            name: by
            for name, by in common.risen(case, end, ".dropped").items()
            if name.startswith("softnet.")
        }
        length = facts.number("net.core.netdev_max_backlog")
        if rose:
            yield finding(
                "backlog-overflow",
                "warning",
                sentence("backlog-overflow", host=common.name(case, end)),
                end,
                evidence=(
                    *(told(end, f"{name} rose by", f"{by:.0f}") for name, by in sorted(rose.items())),
                    told(end, "net.core.netdev_max_backlog", length),
                ),
                gain="bursts wait instead of being lost",
                fix=(common.sysctl(end, "net.core.netdev_max_backlog", max(10_000, 4 * (length or 0))),),
            )


def squeezed(case: Case) -> Iterator[Finding]:
    """Receiving was cut short because its budget was used up."""
    for end, facts in common.ends(case):
        rose = common.risen(case, end, ".time_squeeze")
        if sum(rose.values()) < CUT_SHORT or common.softirq(case, end) < CUT_SHORT_BUSY:
            continue
        budget = facts.number("net.core.netdev_budget")
        usecs = facts.number("net.core.netdev_budget_usecs")
        yield finding(
            "budget-used-up",
            "note",
            sentence("budget-used-up", host=common.name(case, end), times=f"{sum(rose.values()):.0f}"),
            end,
            evidence=(
                told(end, "net.core.netdev_budget", budget),
                told(end, "net.core.netdev_budget_usecs", usecs),
            ),
            gain="fewer drops in the ring under load",
            fix=(
                common.sysctl(end, "net.core.netdev_budget", max(600, 2 * (budget or 0))),
                common.sysctl(end, "net.core.netdev_budget_usecs", max(8000, 2 * (usecs or 0))),
            ),
        )


def swapping(case: Case) -> Iterator[Finding]:
    """Memory is short: the machine swaps, or is about to."""
    for end, facts in common.ends(case):
        rose = common.risen(case, end, "vm.pswpin", "vm.pswpout", "vm.oom_kill")
        total, left = facts.memory.total, facts.memory.available
        short = bool(total and left is not None and left < LOW_MEMORY * total)
        stalls = facts.memory.pressure_pct.full
        if not rose and not short and stalls < STALLED_PCT:
            continue
        severity: Severity = "critical" if rose or stalls >= STALLED_PCT else "warning"
        yield finding(
            "memory-short",
            severity,
            (
                sentence(
                    "memory-short",
                    host=common.name(case, end),
                    swapping=" and was swapping while it was measured" if rose else "",
                )
            ),
            end,
            evidence=(
                told(end, "available", f"{binary(left or 0)} of {binary(total or 0)}"),
                told(end, "swap in use", binary(facts.memory.swap_used or 0)),
                told(end, "all programs waited for memory (10 s)", f"{stalls:.0f} %"),
                *(told(end, f"{name} rose by", f"{by:.0f}") for name, by in sorted(rose.items())),
            ),
            gain="programs that read and write in time",
            fix=(common.shell(end, "ps -eo rss,comm --sort=-rss | head   # who holds it?"),),
        )


def quota(case: Case) -> Iterator[Finding]:
    """A control group that gives programs less than a processor, or little memory."""
    for end, facts in common.ends(case):
        cpus, memory = facts.memory.cgroup.cpus, facts.memory.cgroup.memory
        throttled = max(
            (m.cpu[end].throttled or 0.0 for m in case.measured.values() if end in m.cpu), default=0.0
        )
        if cpus is not None and cpus < (facts.cpu.count or 1):
            yield finding(
                "cpu-quota",
                "warning" if throttled > QUOTA else "note",
                sentence(
                    "cpu-quota",
                    host=common.name(case, end),
                    cpus=f" to {cpus:g} processors",
                    proof=f": it stopped them for {percent(throttled)} of the time" if throttled else "",
                ),
                end,
                evidence=(
                    told(end, "quota of the cgroup", f"{cpus:g} CPUs"),
                    told(end, "stopped while measuring", percent(throttled)),
                ),
                gain="more packets a second" if throttled > QUOTA else None,
                limited=throttled or None,
                fix=(
                    common.shell(
                        end,
                        QUOTA_AWAY,
                    ),
                ),
            )
        if memory is not None and memory < LITTLE_MEMORY:
            yield finding(
                "memory-limit",
                "note",
                sentence("memory-limit", size=binary(memory), host=common.name(case, end)),
                end,
                evidence=(told(end, "limit of the cgroup", binary(memory)),),
            )


def clock(case: Case) -> Iterator[Finding]:
    """A clock that is slow to read, and read for every packet."""
    for end, facts in common.ends(case):
        name = facts.time.clocksource
        if name not in SLOW_CLOCKS:
            continue
        better = [one for one in facts.time.available if one not in SLOW_CLOCKS]
        yield finding(
            "slow-clock",
            "warning",
            sentence("slow-clock", host=common.name(case, end), clock=name),
            end,
            evidence=(
                told(end, "clock source", name),
                told(end, "available", " ".join(facts.time.available)),
            ),
            gain="less time per packet, finer pacing",
            fix=(
                (
                    common.shell(
                        end,
                        f"echo {better[0]} | tee "
                        "/sys/devices/system/clocksource/clocksource0/current_clocksource",
                        f"clocksource={better[0]} on the kernel's command line",
                    ),
                )
                if better
                else ()
            ),
        )


def tracking(case: Case) -> Iterator[Finding]:
    """The table of tracked connections is full, or nearly."""
    for end, facts in common.ends(case):
        count, most = facts.firewall.conntrack_count, facts.firewall.conntrack_max
        if not count or not most or count < TABLE_FILLS * most:
            continue
        yield finding(
            "connection-table-full",
            "critical" if count >= TABLE_FULL * most else "warning",
            sentence("connection-table-full", host=common.name(case, end), part=percent(count / most)),
            end,
            evidence=(told(end, "nf_conntrack_count", count), told(end, "nf_conntrack_max", most)),
            gain="no connection is refused at random",
            fix=(common.sysctl(end, "net.netfilter.nf_conntrack_max", 4 * most),),
        )


RULES = (
    swapping,
    tracking,
    slot,
    backlog,
    clock,
    quota,
    squeezed,
)
