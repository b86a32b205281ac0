"""Causes that the measurements between two hosts show of the path, and of programs' own connections."""

from __future__ import annotations

from rushhour.causes.cause import Cause
from rushhour.causes.on_flows import CHRONO, IP_SYSCTL

NOTHING_PASSES = (
    Cause(
        "no-route",
        "ip",
        "The kernels know no way between the hosts",
        "RFC 1122, 3.3.1; ip-route(8)",
    ),
    Cause(
        "unreachable",
        "ip",
        "Nothing gets through",
        "RFC 1122, 3.3.1",
        leads_to=("port-blocked", "no-answers"),
        certain=True,
    ),
    Cause("port-blocked", "ip", "Echoes pass, TCP connections do not", "RFC 9293, 3.10.7.3", certain=True),
    Cause("udp-blocked", "ip", "TCP passes, datagrams do not", "RFC 8085; RFC 4787, section 5", "warning"),
    Cause("no-answers", "ip", "Packets arrive, and nothing comes back", "RFC 1122, 3.3.1", certain=True),
    Cause(
        "stalled",
        "ip",
        "Connections are made, and then nothing arrives",
        "RFC 2923, section 2.1; RFC 4821",
        certain=True,
    ),
    Cause(
        "mtu-black-hole",
        "ip",
        "Large packets vanish without an error, and TCP with them",
        "RFC 2923, section 2.1; RFC 4821",
        leads_to=("large-packets-lost", "mtu-probing-off", "datagram-loss"),
        certain=True,
    ),
    Cause(
        "large-packets-lost",
        "ip",
        "Large packets vanish without an error; TCP found its way",
        "RFC 8899; RFC 2923, section 2",
        "warning",
        leads_to=("mtu-probing-off", "losses", "random-loss", "segments-clamped"),
    ),
    Cause(
        "echo-blocked",
        "ip",
        "Echo requests are not answered, connections are",
        "RFC 4890, section 4.3; RFC 1191",
        "note",
    ),
)

UNEVEN = (
    Cause(
        "asymmetric-path",
        "path",
        "One direction carries much less than the other",
        "RFC 3449, section 2",
        "warning",
    ),
    Cause(
        "echo-loss",
        "path",
        "Echoes are lost on the idle path, datagrams are not",
        "RFC 2681; RFC 3449, section 3; icmp(7), icmp_ratelimit",
        "warning",
    ),
    Cause(
        "jitter",
        "path",
        "The idle round trip varies so much that TCP takes it for a queue",
        "RFC 5481; RFC 9406 (HyStart++), section 4.2",
        "warning",
        leads_to=("small-window", "losses"),
    ),
    Cause(
        "datagram-loss",
        "path",
        "Datagrams are lost below the path's rate, though TCP copes",
        "RFC 7680; RFC 4737; RFC 5560",
        "warning",
        says="Datagrams {way} are lost: {proof}.",
    ),
    Cause(
        "duplicates",
        "path",
        "Datagrams arrive twice",
        "RFC 7680; RFC 4737; RFC 5560",
        "warning",
        says="Datagrams {way} arrive twice: {proof}.",
    ),
    Cause(
        "segments-clamped",
        "path",
        "Something on the way makes segments small (MSS)",
        "RFC 9293, 3.7.1; iptables-extensions(8), TCPMSS; nft(8), tcp option maxseg",
        "warning",
        leads_to=("losses", "cpu-busy", "cpu-limited"),
    ),
)

CONNECTIONS = (
    Cause(
        "connection-slow-reader",
        "application",
        "A program reads its connection more slowly than data arrive",
        f"{CHRONO}; ss(8)",
    ),
    Cause(
        "connection-receive-buffer",
        "socket",
        "A connection's receive buffer is full",
        f"{CHRONO}; ss(8)",
        "warning",
    ),
    Cause(
        "connection-send-buffer",
        "socket",
        "A connection's send buffer is full",
        f"{CHRONO}; ss(8)",
        "warning",
    ),
    Cause(
        "connection-slow-writer",
        "application",
        "A program writes to its connection more slowly than the path carries",
        f"{CHRONO}; ss(8)",
        "note",
    ),
)

SIZES = (
    Cause(
        "mtu-probing-off",
        "tcp",
        "Only ICMP tells the path's MTU",
        f"RFC 4821; RFC 2923, 2.1; {IP_SYSCTL}, tcp_mtu_probing",
        "warning",
    ),
    Cause(
        "path-mtu-discovery-off",
        "ip",
        "Path MTU discovery is off: routers fragment",
        f"RFC 1191; RFC 8900; {IP_SYSCTL}, ip_no_pmtu_disc",
        "warning",
    ),
    Cause("path-mtu-learned", "path", "The path carries smaller packets", "RFC 1191; RFC 8201", "note"),
    Cause(
        "mtu-mismatch",
        "device",
        "The two devices have different MTUs",
        "RFC 1191; RFC 4821, section 1; ip-link(8), mtu",
        "warning",
        leads_to=("large-packets-lost", "mtu-probing-off"),
    ),
    Cause(
        "small-mtu",
        "device",
        "Headers take a good part of each packet",
        "RFC 6349, 3.1 (overhead by MTU); RFC 8200, section 5 (1280 is IPv6's least)",
        "warning",
    ),
)
