"""Causes that `diagnose` reads at the two hosts: sockets, TCP's settings, packet filters, routes."""

from __future__ import annotations

from rushhour.causes.cause import Cause
from rushhour.causes.on_flows import IP_SYSCTL

IP_ROUTE = "ip-route(8)"
SOCKET_OPTIONS = "socket(7), SO_RCVBUF and SO_SNDBUF; tcp(7)"

SOCKETS = (
    Cause(
        "receive-autotuning-off",
        "socket",
        "Receive buffers do not grow, and are smaller than the path needs",
        f"{IP_SYSCTL}, tcp_rmem, tcp_moderate_rcvbuf; RFC 6349, 3.3.1; RFC 7323, 2",
        says="The receive buffer of {host} does not grow: {proof}.",
        leads_to=("receive-buffer-too-small",),
        shown_by=("hosts",),
    ),
    Cause(
        "rmem-max-small",
        "socket",
        "Programs that set SO_RCVBUF get too little",
        SOCKET_OPTIONS,
        "note",
        says="Programs at {host} that set their own buffer get at most {most}; {way} holds {held}.",
        shown_by=("hosts",),
    ),
    Cause(
        "wmem-max-small",
        "socket",
        "Programs that set SO_SNDBUF get too little",
        SOCKET_OPTIONS,
        "note",
        says="Programs at {host} that set their own buffer get at most {most}; {way} holds {held}.",
        shown_by=("hosts",),
    ),
    Cause(
        "udp-receive-buffer-full",
        "socket",
        "Datagrams arrived and were dropped: the socket's buffer was full",
        "udp(7), SO_RCVBUF; RFC 4113, udpInErrors",
        "warning",
        says="Datagrams reached {host} and were dropped there: their socket's buffer was full.",
        shown_by=("hosts",),
    ),
    Cause(
        "tcp-memory-pressure",
        "socket",
        "TCP is short of memory: buffers shrink",
        f"{IP_SYSCTL}, tcp_mem",
        says="TCP at {host} is short of memory: {proof}.",
        leads_to=("data-refused", "receive-buffer-too-small", "send-buffer-too-small", "slow-reader"),
        word="memory_pressure",
        known_by=(
            "limits `sndbuf` and `receiver`, while all TCP sockets of the kernel together had more than the "
            "second number of `tcp_mem` (TCPMemoryPressures rose): then buffers and windows do not grow"
        ),
        helps="`tcp_mem`; or let programs read what lies in receive buffers",
        shown_by=("record", "measurements", "hosts"),
    ),
    Cause(
        "tcp-mem-too-small",
        "socket",
        "All TCP sockets together may use less than one flow needs",
        f"{IP_SYSCTL}, tcp_mem",
        "warning",
        says="All TCP sockets at {host} together may use {most}; one flow needs {needed}.",
        shown_by=("hosts",),
    ),
)

TCP = (
    Cause(
        "timestamps-off",
        "tcp",
        "No TCP timestamps: the RTT is measured less well",
        f"RFC 7323, sections 4 and 5; {IP_SYSCTL}, tcp_timestamps",
        "warning",
        says=(
            "TCP timestamps are off at {hosts}: the RTT is measured less well, old segments may pass as new."
        ),
        shown_by=("hosts",),
    ),
    Cause(
        "dsack-off",
        "tcp",
        "No DSACK: reordering is taken for loss",
        f"RFC 2883; {IP_SYSCTL}, tcp_dsack",
        "note",
        says="Duplicate SACK (DSACK) is off at {hosts}: reordering is taken for loss.",
        shown_by=("hosts",),
    ),
    Cause(
        "ecn-mismatch",
        "tcp",
        "One host asks for congestion marks, the other refuses",
        f"RFC 3168, section 6.1; {IP_SYSCTL}, tcp_ecn",
        "note",
        says="{host} asks for congestion marks (ECN), {other} refuses them: queues must drop.",
        shown_by=("hosts",),
    ),
    Cause(
        "reno-on-a-long-path",
        "tcp",
        "Reno needs long to recover from a loss",
        "RFC 5681, 3.1; RFC 9438, section 1",
        "warning",
        says="{host} sends by Reno, which on this path needs {time} to recover from one loss.",
        leads_to=("losses", "small-window"),
        shown_by=("hosts",),
    ),
    Cause(
        "odd-congestion-control",
        "tcp",
        "An algorithm that is not meant for general use",
        "RFC 9743",
        "warning",
        says="{host} sends by {cc}, which {why}.",
        leads_to=("small-window",),
        shown_by=("hosts",),
    ),
    Cause(
        "congestion-control-missing",
        "tcp",
        "The other host's algorithm is not loaded here",
        f"{IP_SYSCTL}, tcp_available_congestion_control",
        "note",
        says="The other end sends by {wanted}; {host} sends by {own} and has no {wanted} loaded.",
        shown_by=("hosts",),
    ),
    Cause(
        "tcp-limit-output-bytes-small",
        "tcp",
        "Too little may wait below TCP: cards run dry",
        f"{IP_SYSCTL}, tcp_limit_output_bytes",
        "warning",
        says="tcp_limit_output_bytes at {host} is {value}: little may wait below TCP, and cards run dry.",
        leads_to=("small-window", "pacing"),
        shown_by=("hosts",),
    ),
    Cause(
        "tcp-notsent-lowat-small",
        "tcp",
        "Programs are woken for every few segments",
        f"{IP_SYSCTL}, tcp_notsent_lowat",
        "warning",
        says="tcp_notsent_lowat at {host} is {value}: programs are woken for every few segments.",
        leads_to=("small-window", "slow-writer"),
        shown_by=("hosts",),
    ),
    Cause(
        "tcp-pacing-ca-ratio-small",
        "tcp",
        "Paced flows send slower than their window allows",
        f"{IP_SYSCTL}, tcp_pacing_ca_ratio",
        "warning",
        says="tcp_pacing_ca_ratio at {host} is {value}: paced flows send slower than their window allows.",
        leads_to=("small-window", "pacing"),
        shown_by=("hosts",),
    ),
    Cause(
        "unusual-settings",
        "tcp",
        "Settings of TCP that are not the kernel's own",
        IP_SYSCTL,
        "note",
        says="{host} has settings that are not the kernel's own: {names}.",
        shown_by=("hosts",),
    ),
)

FILTERS = (
    Cause(
        "packet-filter-closed",
        "ip",
        "The packet filter drops what no rule allows, and nothing passed",
        "nft(8), CHAINS",
        says=(
            "The packet filter at {host} drops what no rule allows (chain {chain}, at {hook}), and no "
            "connection came through."
        ),
        leads_to=("port-blocked", "unreachable"),
        shown_by=("hosts",),
    ),
    Cause(
        "packet-filter-drops",
        "ip",
        "A rule of the packet filter drops packets",
        "nft(8), VERDICT STATEMENTS, LIMIT STATEMENT; iptables-extensions(8)",
        says="A rule of the packet filter at {host} drops {what} (chain {chain}).",
        leads_to=("policer", "random-loss", "losses", "datagram-loss", "shallow-queue", "large-packets-lost"),
        word="filter",
        known_by="the receiver's `drop_input`, where it took more than wires, queues and policers did",
        helps="take the rule away",
        shown_by=("record", "hosts"),
    ),
    Cause(
        "filter-on-the-device",
        "queue",
        "A filter of traffic control handles every packet",
        "tc(8), FILTERS; tc-bpf(8)",
        "note",
        says="A {kind} filter handles packets at {hook} of {dev} at {host}{does}.",
        shown_by=("hosts",),
    ),
)

ROUTES = (
    Cause(
        "next-hop-silent",
        "ip",
        "The next hop does not answer for its address",
        "RFC 826; RFC 4861, 7.3; ip-neighbour(8)",
        says="The next hop of {host}, {hop}, does not answer.",
        leads_to=("unreachable", "no-answers"),
        shown_by=("hosts",),
    ),
    Cause(
        "next-hop-set-by-hand",
        "ip",
        "The next hop's address was set by hand, and nothing passes",
        "RFC 826; RFC 4861, 7.3; ip-neighbour(8)",
        says="The address of the next hop of {host}, {hop}, was set by hand, and nothing comes through.",
        leads_to=("unreachable", "no-answers"),
        shown_by=("hosts",),
    ),
    Cause(
        "packets-live-too-short",
        "ip",
        "Packets pass few routers, then they are dropped",
        "RFC 1122, 3.2.1.7; Documentation/networking/ip-sysctl.rst, ip_default_ttl",
        says="Packets of {host} pass {most} routers at most, then they are dropped.",
        leads_to=("unreachable", "no-answers", "port-blocked"),
        shown_by=("hosts",),
    ),
    Cause(
        "route-window",
        "ip",
        "The route limits the window",
        f"{IP_ROUTE}, window",
        says="The route of {host} limits the window to {most}{rate}.",
        leads_to=("receive-buffer-too-small", "small-window"),
        shown_by=("hosts",),
    ),
    Cause(
        "route-cwnd",
        "ip",
        "The route limits the congestion window",
        f"{IP_ROUTE}, cwnd",
        says="The route of {host} limits the congestion window to {most}{rate}.",
        shown_by=("hosts",),
    ),
    Cause(
        "route-mtu",
        "ip",
        "The route makes packets smaller than the device could",
        f"{IP_ROUTE}, mtu",
        "warning",
        says="The route of {host} fixes packets at {fixed} bytes; the device takes {most}.",
        leads_to=("losses", "segments-clamped", "cpu-busy", "cpu-limited"),
        shown_by=("hosts",),
    ),
    Cause(
        "route-advmss",
        "ip",
        "The route asks for small segments",
        f"{IP_ROUTE}, advmss",
        "warning",
        says="The route of {host} asks the other end for segments of {size} bytes; {fits} would fit.",
        shown_by=("hosts",),
    ),
    Cause(
        "route-rto-min",
        "ip",
        "The route makes retransmission timeouts long",
        f"{IP_ROUTE}, rto_min; RFC 6298",
        "warning",
        says="The route of {host} makes every retransmission timeout {least} or longer.",
        shown_by=("hosts",),
    ),
    Cause(
        "initial-window-small",
        "ip",
        "Connections begin with few segments",
        f"RFC 6928; {IP_ROUTE}, initcwnd",
        "warning",
        says=(
            "Connections of {host} begin with {first} segments instead of {usual}: short transfers take "
            "more round trips."
        ),
        word="initial_window",
        known_by="limit `slow_start`, and the first ACK finds as many segments in flight as `initcwnd` says",
        helps="without `initcwnd`, or with a larger one",
        shown_by=("record", "hosts"),
    ),
    Cause(
        "initial-window-large",
        "ip",
        "Connections begin with many segments at once",
        f"RFC 6928; {IP_ROUTE}, initcwnd",
        "note",
        says=(
            "Connections of {host} begin with {first} segments instead of {usual}: bursts may overflow a "
            "queue at once."
        ),
        shown_by=("hosts",),
    ),
    Cause(
        "route-congestion-control",
        "ip",
        "The route chooses another algorithm than the default",
        f"{IP_ROUTE}, congctl",
        "note",
        says="The route of {host} sends by {chosen}, although {default} is the default.",
        shown_by=("hosts",),
    ),
    Cause(
        "asymmetric-route",
        "ip",
        "One host goes by a gateway, the other does not",
        "RFC 1812, 5.2; a firewall that sees half of a connection may drop it",
        "note",
        says="The ends reach each other by different ways: one by a gateway, the other directly.",
        shown_by=("hosts",),
    ),
)

PRECAUTIONS = (
    Cause(
        "bursts-unpaced",
        "queue",
        "The device's queue sends bursts as they come, and flows wait for each other",
        "tc-fq(8); net/sched/sch_fq.c",
        "note",
        shown_by=("hosts",),
    ),
    Cause(
        "control-messages-small",
        "socket",
        "Programs that send without copying (MSG_ZEROCOPY) have little room for the messages about it",
        "Documentation/networking/msg_zerocopy.rst; Documentation/admin-guide/sysctl/net.rst, optmem_max",
        "note",
        shown_by=("hosts",),
    ),
    Cause(
        "usual-frames",
        "device",
        "Frames of the usual size on a fast cable, whose devices might carry larger ones",
        "ip-link(8); RFC 4821, 1",
        "note",
        shown_by=("hosts",),
    ),
)
"""What `tune` sets although no measurement shows it."""
