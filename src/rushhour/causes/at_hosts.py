"""Causes that `diagnose` reads at the two hosts: settings, devices, queues, routes, processors, memory."""

from __future__ import annotations

from rushhour.causes.cause import Cause
from rushhour.causes.on_flows import IP_SYSCTL

IP_ROUTE = "ip-route(8)"
SYSCTL_NET = "Documentation/admin-guide/sysctl/net.rst"
SCALING = "Documentation/networking/scaling.rst"
OFFLOADS = "Documentation/networking/segmentation-offloads.rst"
STATISTICS = "Documentation/networking/statistics.rst"
CLAUSE_28 = "IEEE 802.3, clause 28"
SOCKET_OPTIONS = "socket(7), SO_RCVBUF and SO_SNDBUF; tcp(7)"

SOCKETS = (
    Cause(
        "receive-autotuning-off",
        "socket",
        "Receive buffers do not grow, and are smaller than the path needs",
        f"{IP_SYSCTL}, tcp_rmem, tcp_moderate_rcvbuf; RFC 6349, 3.3.1; RFC 7323, 2",
        says="The receive buffer of {host} does not grow: {proof}.",
        leads_to=("receive-buffer-too-small",),
    ),
    Cause("rmem-max-small", "socket", "Programs that set SO_RCVBUF get too little", SOCKET_OPTIONS, "note"),
    Cause("wmem-max-small", "socket", "Programs that set SO_SNDBUF get too little", SOCKET_OPTIONS, "note"),
    Cause(
        "udp-receive-buffer-full",
        "socket",
        "Datagrams arrived and were dropped: the socket's buffer was full",
        "udp(7), SO_RCVBUF; RFC 4113, udpInErrors",
        "warning",
    ),
    Cause(
        "tcp-memory-pressure",
        "socket",
        "TCP is short of memory: buffers shrink",
        f"{IP_SYSCTL}, tcp_mem",
        leads_to=("receive-buffer-too-small", "slow-reader"),
    ),
    Cause(
        "tcp-mem-too-small",
        "socket",
        "All TCP sockets together may use less than one flow needs",
        f"{IP_SYSCTL}, tcp_mem",
        "warning",
    ),
)

TCP = (
    Cause(
        "timestamps-off",
        "tcp",
        "No TCP timestamps: the RTT is measured less well",
        f"RFC 7323, sections 4 and 5; {IP_SYSCTL}, tcp_timestamps",
        "warning",
    ),
    Cause(
        "dsack-off",
        "tcp",
        "No DSACK: reordering is taken for loss",
        f"RFC 2883; {IP_SYSCTL}, tcp_dsack",
        "note",
    ),
    Cause(
        "ecn-mismatch",
        "tcp",
        "One host asks for congestion marks, the other refuses",
        f"RFC 3168, section 6.1; {IP_SYSCTL}, tcp_ecn",
        "note",
    ),
    Cause(
        "reno-on-a-long-path",
        "tcp",
        "Reno needs long to recover from a loss",
        "RFC 5681, 3.1; RFC 9438, section 1",
        "warning",
        leads_to=("losses", "small-window"),
    ),
    Cause(
        "odd-congestion-control",
        "tcp",
        "An algorithm that is not meant for general use",
        "RFC 9743",
        "warning",
        leads_to=("small-window",),
    ),
    Cause(
        "congestion-control-missing",
        "tcp",
        "The other host's algorithm is not loaded here",
        f"{IP_SYSCTL}, tcp_available_congestion_control",
        "note",
    ),
    Cause(
        "tcp-limit-output-bytes-small",
        "tcp",
        "Too little may wait below TCP: cards run dry",
        f"{IP_SYSCTL}, tcp_limit_output_bytes",
        "warning",
        leads_to=("small-window", "pacing"),
    ),
    Cause(
        "tcp-notsent-lowat-small",
        "tcp",
        "Programs are woken for every few segments",
        f"{IP_SYSCTL}, tcp_notsent_lowat",
        "warning",
        leads_to=("small-window", "slow-writer"),
    ),
    Cause(
        "tcp-pacing-ca-ratio-small",
        "tcp",
        "Paced flows send slower than their window allows",
        f"{IP_SYSCTL}, tcp_pacing_ca_ratio",
        "warning",
        leads_to=("small-window", "pacing"),
    ),
    Cause("unusual-settings", "tcp", "Settings of TCP that are not the kernel's own", IP_SYSCTL, "note"),
)

FILTERS = (
    Cause(
        "packet-filter-closed",
        "ip",
        "The packet filter drops what no rule allows, and nothing passed",
        "nft(8), CHAINS",
        leads_to=("port-blocked", "unreachable"),
    ),
    Cause(
        "packet-filter-drops",
        "ip",
        "A rule of the packet filter drops packets",
        "nft(8), VERDICT STATEMENTS, LIMIT STATEMENT; iptables-extensions(8)",
        leads_to=("policer", "random-loss", "losses", "datagram-loss", "shallow-queue", "large-packets-lost"),
    ),
    Cause(
        "filter-on-the-device",
        "queue",
        "A filter of traffic control handles every packet",
        "tc(8), FILTERS; tc-bpf(8)",
        "note",
    ),
)

ROUTES = (
    Cause(
        "next-hop-silent",
        "ip",
        "The next hop does not answer for its address",
        "RFC 826; RFC 4861, 7.3; ip-neighbour(8)",
        leads_to=("unreachable", "no-answers"),
    ),
    Cause(
        "next-hop-set-by-hand",
        "ip",
        "The next hop's address was set by hand, and nothing passes",
        "RFC 826; RFC 4861, 7.3; ip-neighbour(8)",
        leads_to=("unreachable", "no-answers"),
    ),
    Cause(
        "packets-live-too-short",
        "ip",
        "Packets pass few routers, then they are dropped",
        "RFC 1122, 3.2.1.7; Documentation/networking/ip-sysctl.rst, ip_default_ttl",
        leads_to=("unreachable", "no-answers", "port-blocked"),
    ),
    Cause(
        "route-window",
        "ip",
        "The route limits the window",
        f"{IP_ROUTE}, window",
        leads_to=("receive-buffer-too-small", "small-window"),
    ),
    Cause("route-cwnd", "ip", "The route limits the congestion window", f"{IP_ROUTE}, cwnd"),
    Cause(
        "route-mtu",
        "ip",
        "The route makes packets smaller than the device could",
        f"{IP_ROUTE}, mtu",
        "warning",
        leads_to=("losses", "segments-clamped", "cpu-busy", "cpu-limited"),
    ),
    Cause("route-advmss", "ip", "The route asks for small segments", f"{IP_ROUTE}, advmss", "warning"),
    Cause(
        "route-rto-min",
        "ip",
        "The route makes retransmission timeouts long",
        f"{IP_ROUTE}, rto_min; RFC 6298",
        "warning",
    ),
    Cause(
        "initial-window-small",
        "ip",
        "Connections begin with few segments",
        f"RFC 6928; {IP_ROUTE}, initcwnd",
        "warning",
    ),
    Cause(
        "initial-window-large",
        "ip",
        "Connections begin with many segments at once",
        f"RFC 6928; {IP_ROUTE}, initcwnd",
        "note",
    ),
    Cause(
        "route-congestion-control",
        "ip",
        "The route chooses another algorithm than the default",
        f"{IP_ROUTE}, congctl",
        "note",
    ),
    Cause(
        "asymmetric-route",
        "ip",
        "One host goes by a gateway, the other does not",
        "RFC 1812, 5.2; a firewall that sees half of a connection may drop it",
        "note",
    ),
)

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
