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
        says="No packet can go from one end to the other and back: {why}.",
        shown_by=("hosts",),
    ),
    Cause(
        "unreachable",
        "ip",
        "Nothing gets through",
        "RFC 1122, 3.3.1",
        says="{host} cannot be reached from {sender}: what is sent to its data address {address} is dropped.",
        leads_to=("port-blocked", "no-answers"),
        certain=True,
        shown_by=("measurements",),
    ),
    Cause(
        "port-blocked",
        "ip",
        "Echoes pass, TCP connections do not",
        "RFC 9293, 3.10.7.3",
        says=(
            "TCP from {sender} to {host} is blocked (ports {port} and above), while echo requests are "
            "answered: a firewall."
        ),
        certain=True,
        shown_by=("measurements",),
    ),
    Cause(
        "udp-blocked",
        "ip",
        "TCP passes, datagrams do not",
        "RFC 8085; RFC 4787, section 5",
        "warning",
        says=(
            "UDP is blocked {way}: of {sent} datagrams not one arrived, while TCP gets through; calls, "
            "QUIC, DNS and tunnels fail or fall back."
        ),
        shown_by=("measurements",),
    ),
    Cause(
        "no-answers",
        "ip",
        "Packets arrive, and nothing comes back",
        "RFC 1122, 3.3.1",
        says="Packets {way} arrive, but nothing comes back: packets {back} are dropped on the way.",
        certain=True,
        shown_by=("measurements",),
    ),
    Cause(
        "stalled",
        "ip",
        "Connections are made, and then nothing arrives",
        "RFC 2923, section 2.1; RFC 4821",
        says="Connections {way} are made and then nothing arrives: data from {sender} is dropped.",
        certain=True,
        shown_by=("measurements",),
    ),
    Cause(
        "mtu-black-hole",
        "ip",
        "Large packets vanish without an error, and TCP with them",
        "RFC 2923, section 2.1; RFC 4821",
        says=(
            "Packets above {size} bytes vanish on the way {way} without an error (a path-MTU black "
            "hole): {then}."
        ),
        leads_to=("large-packets-lost", "mtu-probing-off", "datagram-loss"),
        certain=True,
        word="mtu_black_hole",
        known_by="limit `timeouts`, and full packets are larger than a switch on the way passes",
        helps="a smaller MTU of the sender, `net.ipv4.tcp_mtu_probing`",
        shown_by=("record", "measurements"),
    ),
    Cause(
        "large-packets-lost",
        "ip",
        "Large packets vanish without an error; TCP found its way",
        "RFC 8899; RFC 2923, section 2",
        "warning",
        says=(
            "Packets above {size} bytes vanish on the way {way}, though {host} may send them: datagrams "
            "and tunnels will fail, TCP found its way."
        ),
        leads_to=("mtu-probing-off", "losses", "random-loss", "segments-clamped"),
        shown_by=("measurements",),
    ),
    Cause(
        "echo-blocked",
        "ip",
        "Echo requests are not answered, connections are",
        "RFC 4890, section 4.3; RFC 1191",
        "note",
        says="Echo requests {way} are not answered, connections are: something filters ICMP.",
        shown_by=("measurements",),
    ),
)

UNEVEN = (
    Cause(
        "slots",
        "path",
        "The way delivers in bursts, at the times of slots",
        "tc-netem(8), slot",
        says="The way delivers {what} in bursts {where}, in slots ({slots}): {proof}. {held} that held it.",
        word="slots",
        known_by=(
            "limit `window`, or losses of no other origin, and netem's `slot` on the way: its slots carry "
            "less than the path, or the longest wait for one is 30 % of the idle round trip or more, and the "
            "measured one so much longer"
        ),
        helps="larger or more frequent slots; a longer queue before them",
        shown_by=("record",),
    ),
    Cause(
        "asymmetric-path",
        "path",
        "One direction carries much less than the other",
        "RFC 3449, section 2",
        "warning",
        says="{slow} carries {low}, {fast} {high}: a link or a shaper on the way {slow} is slower.",
        shown_by=("measurements",),
    ),
    Cause(
        "echo-loss",
        "path",
        "Echoes are lost on the idle path, datagrams are not",
        "RFC 2681; RFC 3449, section 3; icmp(7), icmp_ratelimit",
        "warning",
        says=(
            "{lost} of echo requests {way} got no answer on the idle path, while large datagrams pass. "
            "Either ICMP is limited, or small packets are lost, there or back; acknowledgements are "
            "small, too."
        ),
        shown_by=("measurements",),
    ),
    Cause(
        "jitter",
        "path",
        "The idle round trip varies so much that TCP takes it for a queue",
        "RFC 5481; RFC 9406 (HyStart++), section 4.2",
        "warning",
        says=(
            "The round trip {way} varies on the idle path: half of the echoes took more than {half}, one "
            "of twenty more than {far}; TCP takes that for a queue."
        ),
        leads_to=("small-window", "losses"),
        shown_by=("measurements",),
    ),
    Cause(
        "datagram-loss",
        "path",
        "Datagrams are lost below the path's rate, though TCP copes",
        "RFC 7680; RFC 4737; RFC 5560",
        "warning",
        says="Datagrams {way} are lost: {proof}.",
        shown_by=("measurements",),
    ),
    Cause(
        "duplicates",
        "path",
        "Datagrams arrive twice",
        "RFC 7680; RFC 4737; RFC 5560",
        "warning",
        says="Datagrams {way} arrive twice: {proof}.",
        shown_by=("measurements",),
    ),
    Cause(
        "segments-clamped",
        "path",
        "Something on the way makes segments small (MSS)",
        "RFC 9293, 3.7.1; iptables-extensions(8), TCPMSS; nft(8), tcp option maxseg",
        "warning",
        says="Something on the way limits segments {way} to {size} bytes; {fits} would fit.",
        leads_to=("losses", "cpu-busy", "cpu-limited"),
        shown_by=("hosts",),
    ),
)

CONNECTIONS = (
    Cause(
        "connection-slow-reader",
        "application",
        "A program reads its connection more slowly than data arrive",
        f"{CHRONO}; ss(8)",
        says=(
            "The program on {host} that reads {name} is too slow: {unread} lay unread, and {held} the "
            "sender waited for it."
        ),
        shown_by=("programs",),
    ),
    Cause(
        "connection-receive-buffer",
        "socket",
        "A connection's receive buffer is full",
        f"{CHRONO}; ss(8)",
        "warning",
        says=(
            "The receive buffer of a connection on {host} ({name}) is full {held}: its program sets "
            "SO_RCVBUF, or tcp_rmem bounds it."
        ),
        shown_by=("programs",),
    ),
    Cause(
        "connection-send-buffer",
        "socket",
        "A connection's send buffer is full",
        f"{CHRONO}; ss(8)",
        "warning",
        says=(
            "The send buffer of a connection on {host} ({name}) is full {held}: its program sets "
            "SO_SNDBUF, or tcp_wmem bounds it."
        ),
        shown_by=("programs",),
    ),
    Cause(
        "connection-slow-writer",
        "application",
        "A program writes to its connection more slowly than the path carries",
        f"{CHRONO}; ss(8)",
        "note",
        says="The program on {host} that writes {name} gives {rate}: {held} the network waited for it.",
        shown_by=("programs",),
    ),
)

SIZES = (
    Cause(
        "mtu-probing-off",
        "tcp",
        "Only ICMP tells the path's MTU",
        f"RFC 4821; RFC 2923, 2.1; {IP_SYSCTL}, tcp_mtu_probing",
        "warning",
        says="{host} relies on ICMP to learn the path's MTU: {proof}.",
        shown_by=("hosts",),
    ),
    Cause(
        "path-mtu-discovery-off",
        "ip",
        "Path MTU discovery is off: routers fragment",
        f"RFC 1191; RFC 8900; {IP_SYSCTL}, ip_no_pmtu_disc",
        "warning",
        says=(
            "{host} does not learn the path's MTU: routers cut its packets to pieces, or TCP uses small ones."
        ),
        shown_by=("hosts",),
    ),
    Cause(
        "path-mtu-learned",
        "path",
        "The path carries smaller packets",
        "RFC 1191; RFC 8201",
        "note",
        says=(
            "{host} has learned that the path carries packets of {size} bytes, {fewer} fewer than its device."
        ),
        shown_by=("hosts",),
    ),
    Cause(
        "mtu-mismatch",
        "device",
        "The two devices have different MTUs",
        "RFC 1191; RFC 4821, section 1; ip-link(8), mtu",
        "warning",
        says="{host} sends packets of up to {large} bytes, {other} takes {small}: {what}.",
        leads_to=("large-packets-lost", "mtu-probing-off"),
        shown_by=("hosts",),
    ),
    Cause(
        "small-mtu",
        "device",
        "Headers take a good part of each packet",
        "RFC 6349, 3.1 (overhead by MTU); RFC 8200, section 5 (1280 is IPv6's least)",
        "warning",
        says="The MTU of {dev} at {host} is {mtu}: {share} of the line go to headers.",
        shown_by=("hosts",),
    ),
)
