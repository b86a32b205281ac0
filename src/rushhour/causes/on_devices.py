"""Causes that `diagnose` reads at the two hosts: queues on devices, lines, cards, machines."""

from __future__ import annotations

from rushhour.causes.cause import Cause

SYSCTL_NET = "Documentation/admin-guide/sysctl/net.rst"
SCALING = "Documentation/networking/scaling.rst"
OFFLOADS = "Documentation/networking/segmentation-offloads.rst"
STATISTICS = "Documentation/networking/statistics.rst"
CLAUSE_28 = "IEEE 802.3, clause 28"

QUEUES = (
    Cause(
        "netem-on-the-device",
        "queue",
        "A netem on the device disturbs the traffic on purpose",
        "tc-netem(8)",
        leads_to=("random-loss", "reordering", "duplicates", "corruption", "datagram-loss", "losses"),
    ),
    Cause(
        "policer-on-the-device",
        "queue",
        "A policer on the device drops what exceeds a rate",
        "tc-police(8); Flach et al., An Internet-Wide Analysis of Traffic Policing, SIGCOMM 2016",
        leads_to=("policer", "losses", "asymmetric-path", "datagram-loss"),
    ),
    Cause(
        "drops-in-the-own-queue",
        "queue",
        "The sender's own queue dropped packets",
        "tc(8); tc-fq(8)",
        "warning",
        leads_to=("shallow-queue", "losses", "random-loss", "datagram-loss", "policer"),
    ),
    Cause(
        "queue-too-long",
        "queue",
        "A queue on the device takes long to drain",
        "RFC 7567, section 2; RFC 8289, 3.2",
        "warning",
        leads_to=("bufferbloat",),
    ),
    Cause(
        "transmit-queue-too-short",
        "queue",
        "The device's transmit queue is short: bursts are dropped",
        "ip-link(8), txqueuelen; tc-pfifo_fast(8)",
        "warning",
        leads_to=("shallow-queue", "losses", "drops-in-the-own-queue"),
    ),
    Cause(
        "fifo-before-a-slow-line",
        "queue",
        "A plain queue before a slow line: everything waits behind a transfer",
        "RFC 7567, section 2; tc-fq_codel(8)",
        "note",
    ),
)

LINES = (
    Cause(
        "half-duplex",
        "device",
        "Both directions share one medium",
        f"{CLAUSE_28} (a partner with fixed settings is taken for half duplex); ethtool(8), -s",
        says="Both directions share one medium: {proof}.",
        leads_to=("collisions", "random-loss"),
    ),
    Cause("collisions", "device", "Frames collide on a full-duplex line", CLAUSE_28, "warning"),
    Cause(
        "link-below-its-speed",
        "device",
        "The line runs below what both sides can do",
        f"{CLAUSE_28}; ethtool(8), -s",
        leads_to=("speeds-differ", "asymmetric-path"),
    ),
    Cause(
        "speeds-differ",
        "device",
        "One host's line is slower",
        "ethtool(8)",
        "note",
        leads_to=("asymmetric-path",),
    ),
    Cause(
        "line-is-full", "device", "The line is full: only a faster one would help", "RFC 6349, 4.1.1", "note"
    ),
    Cause(
        "member-down",
        "device",
        "A member of a bond is down",
        "Documentation/networking/bonding.rst",
        "warning",
    ),
    Cause(
        "flow-control-one-sided",
        "device",
        "Pause frames that one side sends and the other ignores",
        "IEEE 802.3, annex 31B; ethtool(8), -A",
        "note",
    ),
    Cause(
        "paused-by-the-network",
        "device",
        "The network told the card to pause",
        "IEEE 802.3, annex 31B",
        "warning",
    ),
    Cause(
        "damaged-frames",
        "device",
        "Frames arrive damaged: cable, plug or transceiver",
        f"{STATISTICS}; IEEE 802.3, 3.2.9 (FCS)",
        leads_to=("corruption", "random-loss", "datagram-loss"),
    ),
    Cause(
        "link-flaps",
        "device",
        "The link comes and goes",
        "Documentation/ABI/testing/sysfs-class-net, carrier_changes",
    ),
)

CARDS = (
    Cause(
        "receive-ring-overflow",
        "device",
        "The card's receive ring was full",
        f"ethtool(8), -G; {STATISTICS}, rx_missed_errors",
        leads_to=("random-loss", "losses", "datagram-loss"),
    ),
    Cause(
        "offloads-off",
        "device",
        "Segmentation or coalescing is off: every packet costs processor time",
        f"{OFFLOADS}; ethtool(8), -K",
        "warning",
        leads_to=("cpu-busy", "cpu-limited"),
    ),
    Cause(
        "few-segments-at-once",
        "device",
        "The device takes few segments at once",
        f"ip-link(8), gso_max_size; {OFFLOADS}",
        "warning",
        leads_to=("cpu-busy", "cpu-limited"),
    ),
    Cause(
        "emulated-card",
        "device",
        "A virtual machine with an imitated card",
        "Documentation/driver-api/virtio/virtio.rst",
        "warning",
    ),
    Cause(
        "slot-too-narrow",
        "host",
        "The PCIe slot carries less than the card's line",
        "PCI Express Base Specification 3.0, 4.2; Neugebauer et al., SIGCOMM 2018",
    ),
)

MACHINES = (
    Cause("stolen-time", "host", "The hypervisor takes processor time", "proc_stat(5), steal"),
    Cause(
        "machine-busy",
        "host",
        "Other programs keep the processors busy",
        "proc_loadavg(5); proc_stat(5)",
        "note",
    ),
    Cause(
        "processor-kept-slow",
        "host",
        "Processors are kept at a low frequency",
        "Documentation/admin-guide/pm/cpufreq.rst",
        "warning",
    ),
    Cause(
        "deep-idle-states",
        "host",
        "Processors sleep so deeply that they wake late",
        "Documentation/admin-guide/pm/cpuidle.rst; cpupower-idle-set(1)",
        "note",
    ),
    Cause("received-by-one-processor", "host", "One processor receives all packets", SCALING, "warning"),
    Cause(
        "interrupts-on-the-far-node",
        "host",
        "The card's interrupts go to processors that are far from it",
        f"{SCALING}; Documentation/core-api/irq/irq-affinity.rst",
        "warning",
    ),
    Cause(
        "budget-used-up",
        "host",
        "Receiving is cut short, though packets are left",
        f"{SYSCTL_NET}, netdev_budget",
        "note",
    ),
    Cause(
        "backlog-overflow",
        "host",
        "A processor's queue of arrived packets was full",
        f"{SYSCTL_NET}, netdev_max_backlog",
        "warning",
    ),
    Cause(
        "memory-short",
        "host",
        "The machine is short of memory",
        "proc_meminfo(5); Documentation/accounting/psi.rst; Giurgiu & Vanderauwera 2010, 3.1",
    ),
    Cause(
        "memory-limit",
        "host",
        "A control group allows programs little memory",
        "Documentation/admin-guide/cgroup-v2.rst, memory.max, memory.stat sock",
        "note",
    ),
    Cause(
        "slow-clock",
        "host",
        "The clock is slow to read, and read for every packet",
        "Documentation/timers/timekeeping.rst; Documentation/virt/kvm/x86/timekeeping.rst",
        "warning",
    ),
    Cause(
        "connection-table-full",
        "host",
        "The table of tracked connections is full, or nearly",
        "Documentation/networking/nf_conntrack-sysctl.rst, nf_conntrack_max",
    ),
)
