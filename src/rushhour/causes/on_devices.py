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
        says="netem on {dev} at {host} disturbs the traffic on purpose: {what}.",
        leads_to=("random-loss", "reordering", "duplicates", "corruption", "datagram-loss", "losses"),
        shown_by=("hosts",),
    ),
    Cause(
        "policer-on-the-device",
        "queue",
        "A policer on the device drops what exceeds a rate",
        "tc-police(8); Flach et al., An Internet-Wide Analysis of Traffic Policing, SIGCOMM 2016",
        says="A policer at {hook} of {dev} at {host} drops what exceeds {rate}.",
        leads_to=("policer", "losses", "asymmetric-path", "datagram-loss"),
        shown_by=("hosts",),
    ),
    Cause(
        "drops-in-the-own-queue",
        "queue",
        "The sender's own queue dropped packets",
        "tc(8); tc-fq(8)",
        "warning",
        says="{host} dropped packets in its own queue before they left.",
        leads_to=("shallow-queue", "losses", "random-loss", "datagram-loss", "policer"),
        shown_by=("hosts",),
    ),
    Cause(
        "queue-too-long",
        "queue",
        "A queue on the device takes long to drain",
        "RFC 7567, section 2; RFC 8289, 3.2",
        "warning",
        says="The queue on {dev} at {host} takes {time} to drain: under load everything waits that long.",
        leads_to=("bufferbloat",),
        shown_by=("hosts",),
    ),
    Cause(
        "transmit-queue-too-short",
        "queue",
        "The device's transmit queue is short: bursts are dropped",
        "ip-link(8), txqueuelen; tc-pfifo_fast(8)",
        "warning",
        says="The transmit queue of {dev} at {host} holds {length}: bursts are dropped before they leave.",
        leads_to=("shallow-queue", "losses", "drops-in-the-own-queue"),
        shown_by=("hosts",),
    ),
    Cause(
        "fifo-before-a-slow-line",
        "queue",
        "A plain queue before a slow line: everything waits behind a transfer",
        "RFC 7567, section 2; tc-fq_codel(8)",
        "note",
        says=(
            "{dev} at {host} has a plain queue (first in, first out) of {length} packets, which take "
            "{time} at its speed."
        ),
        shown_by=("hosts",),
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
        shown_by=("measurements", "hosts"),
    ),
    Cause(
        "collisions",
        "device",
        "Frames collide on a full-duplex line",
        CLAUSE_28,
        "warning",
        says=(
            "Frames collided on the line of {host} while it was measured: the ends of the cable disagree "
            "on duplex."
        ),
        shown_by=("hosts",),
    ),
    Cause(
        "link-below-its-speed",
        "device",
        "The line runs below what both sides can do",
        f"{CLAUSE_28}; ethtool(8), -s",
        says="{dev} at {host} runs at {speed}; it can do {able}.",
        leads_to=("speeds-differ", "asymmetric-path"),
        shown_by=("hosts",),
    ),
    Cause(
        "speeds-differ",
        "device",
        "One host's line is slower",
        "ethtool(8)",
        "note",
        says="{host} is connected at {slow}, {other} at {fast}: a queue stands where they meet.",
        leads_to=("asymmetric-path",),
        shown_by=("hosts",),
    ),
    Cause(
        "line-is-full",
        "device",
        "The line is full: only a faster one would help",
        "RFC 6349, 4.1.1",
        "note",
        says="{way} fills the line of {host} ({speed}): only a faster link would help.",
        shown_by=("hosts",),
    ),
    Cause(
        "member-down",
        "device",
        "A member of a bond is down",
        "Documentation/networking/bonding.rst",
        "warning",
        says="{dev}, a member of {bond} at {host}, is down: the others carry its part.",
        shown_by=("hosts",),
    ),
    Cause(
        "flow-control-one-sided",
        "device",
        "Pause frames that one side sends and the other ignores",
        "IEEE 802.3, annex 31B; ethtool(8), -A",
        "note",
        says=(
            "{host} sends pause frames, and {other} is set to ignore them: the rings of {host} overflow "
            "in bursts."
        ),
        shown_by=("hosts",),
    ),
    Cause(
        "paused-by-the-network",
        "device",
        "The network told the card to pause",
        "IEEE 802.3, annex 31B",
        "warning",
        says="The network told {host} to pause while it sent: a switch or the other card is full.",
        shown_by=("hosts",),
    ),
    Cause(
        "damaged-frames",
        "device",
        "Frames arrive damaged: cable, plug or transceiver",
        f"{STATISTICS}; IEEE 802.3, 3.2.9 (FCS)",
        says="Frames arrive damaged on {dev} at {host}: cable, plug or transceiver.",
        leads_to=("corruption", "random-loss", "datagram-loss"),
        shown_by=("hosts",),
    ),
    Cause(
        "link-flaps",
        "device",
        "The link comes and goes",
        "Documentation/ABI/testing/sysfs-class-net, carrier_changes",
        says="The link of {dev} at {host} {what}.",
        shown_by=("hosts",),
    ),
)

CARDS = (
    Cause(
        "receive-ring-overflow",
        "device",
        "The card's receive ring was full",
        f"ethtool(8), -G; {STATISTICS}, rx_missed_errors",
        says="{dev} at {host} dropped packets because its receive ring was full{size}.",
        leads_to=("random-loss", "losses", "datagram-loss"),
        shown_by=("hosts",),
    ),
    Cause(
        "offloads-off",
        "device",
        "Segmentation or coalescing is off: every packet costs processor time",
        f"{OFFLOADS}; ethtool(8), -K",
        "warning",
        says="{off} off on {dev} at {host}: the processor handles every packet by itself.",
        leads_to=("cpu-busy", "cpu-limited"),
        shown_by=("hosts",),
    ),
    Cause(
        "few-segments-at-once",
        "device",
        "The device takes few segments at once",
        f"ip-link(8), gso_max_size; {OFFLOADS}",
        "warning",
        says="{dev} at {host} takes at most {most} at once: offloads hardly help.",
        leads_to=("cpu-busy", "cpu-limited"),
        shown_by=("hosts",),
    ),
    Cause(
        "emulated-card",
        "device",
        "A virtual machine with an imitated card",
        "Documentation/driver-api/virtio/virtio.rst",
        "warning",
        says="{host} is a virtual machine with an imitated {driver} card: every packet stops the machine.",
        shown_by=("hosts",),
    ),
    Cause(
        "slot-too-narrow",
        "host",
        "The PCIe slot carries less than the card's line",
        "PCI Express Base Specification 3.0, 4.2; Neugebauer et al., SIGCOMM 2018",
        says="{dev} at {host} has a line of {speed} in a PCIe slot that carries about {carries}.",
        shown_by=("hosts",),
    ),
)

MACHINES = (
    Cause(
        "stolen-time",
        "host",
        "The hypervisor takes processor time",
        "proc_stat(5), steal",
        says="The hypervisor takes {share} of the processor time of {host} away (steal).",
        shown_by=("hosts",),
    ),
    Cause(
        "machine-busy",
        "host",
        "Other programs keep the processors busy",
        "proc_loadavg(5); proc_stat(5)",
        "note",
        says=(
            "{host} was busy ({share} of its processors) before anything was measured: rates may be too low."
        ),
        shown_by=("hosts",),
    ),
    Cause(
        "processor-kept-slow",
        "host",
        "Processors are kept at a low frequency",
        "Documentation/admin-guide/pm/cpufreq.rst",
        "warning",
        says="The processors of {host} are kept slow ({how}).",
        shown_by=("hosts",),
    ),
    Cause(
        "deep-idle-states",
        "host",
        "Processors sleep so deeply that they wake late",
        "Documentation/admin-guide/pm/cpuidle.rst; cpupower-idle-set(1)",
        "note",
        says="Processors of {host} may take {time} to wake up; the round trip is {trip}.",
        shown_by=("hosts",),
    ),
    Cause(
        "received-by-one-processor",
        "host",
        "One processor receives all packets",
        SCALING,
        "warning",
        says="One processor of {host} receives all packets of {dev}; there are {count}.",
        shown_by=("hosts",),
    ),
    Cause(
        "interrupts-on-the-far-node",
        "host",
        "The card's interrupts go to processors that are far from it",
        f"{SCALING}; Documentation/core-api/irq/irq-affinity.rst",
        "warning",
        says="{dev} at {host} is at NUMA node {node}, but processors of another node serve it.",
        shown_by=("hosts",),
    ),
    Cause(
        "budget-used-up",
        "host",
        "Receiving is cut short, though packets are left",
        f"{SYSCTL_NET}, netdev_budget",
        "note",
        says="{host} stopped receiving {times} times although packets were left (netdev_budget).",
        shown_by=("hosts",),
    ),
    Cause(
        "backlog-overflow",
        "host",
        "A processor's queue of arrived packets was full",
        f"{SYSCTL_NET}, netdev_max_backlog",
        "warning",
        says=(
            "{host} dropped packets that had arrived: the queue of a processor was full (netdev_max_backlog)."
        ),
        shown_by=("hosts",),
    ),
    Cause(
        "memory-short",
        "host",
        "The machine is short of memory",
        "proc_meminfo(5); Documentation/accounting/psi.rst; Giurgiu & Vanderauwera 2010, 3.1",
        says="{host} is short of memory{swapping}.",
        shown_by=("hosts",),
    ),
    Cause(
        "memory-limit",
        "host",
        "A control group allows programs little memory",
        "Documentation/admin-guide/cgroup-v2.rst, memory.max, memory.stat sock",
        "note",
        says=(
            "A control group allows programs like this one {size} of memory at {host}, socket buffers "
            "included."
        ),
        shown_by=("hosts",),
    ),
    Cause(
        "slow-clock",
        "host",
        "The clock is slow to read, and read for every packet",
        "Documentation/timers/timekeeping.rst; Documentation/virt/kvm/x86/timekeeping.rst",
        "warning",
        says=(
            "{host} reads the time from {clock}, which takes about a microsecond; TCP reads it for every "
            "packet."
        ),
        shown_by=("hosts",),
    ),
    Cause(
        "connection-table-full",
        "host",
        "The table of tracked connections is full, or nearly",
        "Documentation/networking/nf_conntrack-sysctl.rst, nf_conntrack_max",
        says="The table of tracked connections at {host} is {part} full; a full one drops new connections.",
        shown_by=("hosts",),
    ),
)
