"""Causes that show in what a TCP flow did: in a record, or in the measurements between two hosts."""

from __future__ import annotations

from rushhour.causes.cause import Cause

IP_SYSCTL = "Documentation/networking/ip-sysctl.rst"
CHRONO = "tcp_chrono_start(), net/ipv4/tcp_output.c (RFC 4898: SndLimTime)"
FLACH = "Flach et al., SIGCOMM 2016, section 3"
MATHIS = "Mathis et al., CCR 27(3), 1997"

AT_THE_HOSTS = (
    Cause(
        "window-scaling-off",
        "tcp",
        "No window scaling: at most 64 KiB are in flight",
        f"RFC 7323, section 2; {IP_SYSCTL}, tcp_window_scaling",
        says="Window scaling is off at {hosts}: no connection has more than 64 KiB in flight{proof}.",
        leads_to=("receive-buffer-too-small",),
        word="window_scaling",
        known_by="not agreed on (`TCPI_OPT_WSCALE`), and the path holds more than 64 KiB",
        helps="`net.ipv4.tcp_window_scaling`",
        shown_by=("record", "measurements", "hosts"),
    ),
    Cause(
        "receive-buffer-too-small",
        "socket",
        "The receiver's window is smaller than what the path holds",
        f"{IP_SYSCTL}, tcp_rmem; {CHRONO}; RFC 6349, 3.3.1; RFC 7323, 2.2",
        says="The receive buffer of {host} is too small: {proof}.",
        leads_to=("small-window",),
        word="receive_buffer",
        known_by="limit `receiver`",
        helps="`SO_RCVBUF`, `tcp_moderate_rcvbuf` or `tcp_rmem`, for 1.5 times what the path holds",
        shown_by=("record", "measurements", "hosts"),
    ),
    Cause(
        "receive-window-growing",
        "tcp",
        "The receiver's window had not grown yet",
        "tcp_select_initial_window(), net/ipv4/tcp_output.c; tcp_rcv_space_adjust(), tcp_grow_window(), "
        "net/ipv4/tcp_input.c; ip-route(8), initrwnd",
        says="The receiver's window had not grown yet: {began}, and {held} it was full.",
        word="window_growing",
        known_by=(
            "limit `receiver`, most of it before the window came near its greatest; the route's `initrwnd` "
            "where the first window is what it says"
        ),
        helps="keep connections; without `initrwnd`, or with a larger one",
        shown_by=("record",),
    ),
    Cause(
        "send-buffer-too-small",
        "socket",
        "The send buffer holds less than the path",
        f"{IP_SYSCTL}, tcp_wmem; {CHRONO}; tcp_sndbuf_expand(), net/ipv4/tcp_input.c",
        says="The send buffer of {host} is too small: {proof}.",
        word="send_buffer",
        known_by="limit `sndbuf`",
        helps="`SO_SNDBUF` or `tcp_wmem`, likewise",
        shown_by=("record", "measurements", "hosts"),
    ),
    Cause(
        "slow-reader",
        "application",
        "The receiving program reads more slowly than data arrive",
        CHRONO,
        worst="warning",
        says="{program} was too slow: {held} the network waited for it.",
        word="slow_reader",
        known_by="limit `reader`",
        helps="the application",
        ours=True,
        doubtful=True,
        shown_by=("record", "measurements"),
    ),
    Cause(
        "no-room-for-messages",
        "socket",
        "Sends without a copy wait for room for the messages about them",
        "Documentation/networking/msg_zerocopy.rst; Documentation/admin-guide/sysctl/net.rst, optmem_max",
        says=(
            "Sends without a copy (MSG_ZEROCOPY) had to wait on {host}: {held} the network waited for them. "
            "For {count} of them there was no room for the message that the kernel is done with their pages."
        ),
        word="no_room_for_messages",
        known_by="limit `application`, and sends that were refused (ENOBUFS)",
        helps="`net.core.optmem_max`; larger writes",
        shown_by=("record",),
    ),
    Cause(
        "slow-writer",
        "application",
        "The sending program writes more slowly than the path carries",
        CHRONO,
        worst="warning",
        says="{program} was too slow: {held} the network waited for it.",
        word="slow_writer",
        known_by="limit `application`",
        helps="the application",
        ours=True,
        doubtful=True,
        shown_by=("record", "measurements"),
    ),
    Cause(
        "cpu-busy",
        "host",
        "A processor is full, and the network waits for the program",
        "proc_stat(5)",
        worst="warning",
        says=(
            "{host} has no processor time left (the busiest is at {busy}{stolen}): {held} the network waited "
            "for it."
        ),
        ours=True,
        shown_by=("measurements",),
    ),
    Cause(
        "cpu-quota",
        "host",
        "A CPU quota stops programs",
        "Documentation/admin-guide/cgroup-v2.rst, cpu.max, cpu.stat; Documentation/scheduler/sched-bwc.rst",
        says="A CPU quota holds programs on {host}{cpus}{proof}.",
        leads_to=("cpu-busy", "slow-reader", "slow-writer"),
        certain=True,
        shown_by=("measurements", "hosts"),
    ),
    Cause(
        "pacing",
        "tcp",
        "The sender's socket paces below what the path carries",
        "tcp_info(7); RFC 5681",
        says="The sender on {host} paces itself{at}, below what the path carries, {held}.",
        word="pacing",
        known_by="limit `pacing`",
        helps="the application",
        shown_by=("record", "measurements"),
    ),
    Cause(
        "marked",
        "tcp",
        "Congestion marks (ECN) keep the window small",
        "RFC 3168, section 6.1.2",
        says="Congestion marks (ECN) kept the window small {held}{counted}.",
        word="marks",
        known_by="limit `marks`",
        helps="mark later, DCTCP at both ends",
        shown_by=("record", "measurements"),
    ),
    Cause(
        "marks-assumed",
        "tcp",
        "Accurate ECN assumes marks, because ACKs that would have told of them are missing",
        "RFC 9768, 3.2.2.5; __tcp_accecn_process(), net/ipv4/tcp_input.c",
        says=(
            "Marks that never were kept the window small {held}: {host} took {taken} for marked, "
            "and {came} came marked. ACKs count marks modulo eight, and one that tells of more than seven "
            "segments is taken for the most that it can mean."
        ),
        word="marks_assumed",
        known_by=(
            "limit `marks`, accurate ECN agreed on (`tcpi_ecn_mode`), and half of the marks or more did not "
            "come to the receiver (`tcpi_received_ce`)"
        ),
        helps="repair the way back, `net.ipv4.tcp_ecn_option`",
        shown_by=("record",),
    ),
    Cause(
        "small-window",
        "tcp",
        "The congestion control keeps its window small without a loss",
        "tcp_info(7); RFC 5681",
        says="{cc} on {host} kept its window below what the path holds {held}, without losses or marks{why}.",
        word="window",
        known_by="limit `window`",
        helps="of algorithms that follow delay: another",
        doubtful=True,
        shown_by=("record", "measurements"),
    ),
    Cause(
        "handshake",
        "tcp",
        "Opening the connection took a good part of the time",
        "RFC 9293, 3.5; RFC 6298, section 2",
        says="It took {took} of {whole} in all to open its connection: {how}.",
        word="handshake",
        known_by="the limit; SYNs that were sent again, by the traced events",
        helps="keep connections; with a lost SYN, repair",
        shown_by=("record",),
    ),
    Cause(
        "slow-start",
        "tcp",
        "The transfer was over before the window had grown",
        "RFC 5681, 3.1; RFC 6928",
        says=(
            "It was in slow start {held} ({whole} in all), its window not yet grown to what the path holds. "
            "Each doubling takes a round trip{trip}."
        ),
        word="slow_start",
        known_by="the limit",
        helps="keep connections; `initcwnd`",
        shown_by=("record",),
    ),
)

LOSSES = (
    Cause(
        "reordering",
        "path",
        "Packets are overtaken, and TCP takes them for lost",
        f"RFC 4737, section 4; RFC 5681, 3.2; RFC 2883; {IP_SYSCTL}, tcp_reordering",
        says="Packets overtake each other on the way{way}: {proof}.",
        word="reordering",
        known_by=(
            "half of the retransmissions or more were not needed: reported by DSACK, or more than was "
            "lost on the way"
        ),
        helps="balance per flow",
        shown_by=("record", "measurements"),
    ),
    Cause(
        "corruption",
        "path",
        "Packets arrive damaged",
        "RFC 1071; RFC 9293, 3.1",
        says=("Packets arrive damaged at {host}: {proof}. A cable, a card or a device on the way is faulty."),
        leads_to=("random-loss", "datagram-loss", "losses"),
        word="corruption",
        known_by="wrong checksums at the receiver, for a fifth of the retransmissions or more",
        helps="repair the link",
        certain=True,
        shown_by=("record", "measurements"),
    ),
    Cause(
        "data-refused",
        "socket",
        "The receiving host throws away data that arrived: it has no memory for them",
        f"{IP_SYSCTL}, tcp_mem, tcp_rmem; tcp_try_rmem_schedule(), tcp_prune_queue(), net/ipv4/tcp_input.c",
        says="{host} throws away data that arrived, for want of memory: {proof}.",
        leads_to=("timeouts", "losses", "random-loss"),
        word="refused",
        known_by=(
            "data dropped by the receiver's kernel (RcvPruned, OfoPruned, TCPRcvQDrop, TCPBacklogDrop), for "
            "a fifth of the retransmissions or more"
        ),
        helps="more memory for TCP or its socket, a program that reads faster",
        certain=True,
        shown_by=("record", "measurements"),
    ),
    Cause(
        "outages",
        "path",
        "The way is dead for a while, once or again and again",
        "RFC 3357, section 4; RFC 6298, section 5",
        says="The way {way} {dead}: {proof}.",
        leads_to=("random-loss", "losses", "policer", "datagram-loss", "echo-loss", "shallow-queue"),
        word="outages",
        known_by=(
            "waits while a pattern loses every packet or stops a link, or a router has no route, and until "
            "the next ACK; the time in losses behind that, where most was lost then"
        ),
        helps="repair the link",
        shown_by=("record", "measurements"),
    ),
    Cause(
        "policer",
        "path",
        "A rate is enforced by dropping",
        FLACH,
        says=("A policer {way}drops what exceeds {rate} instead of letting it wait: {proof}, and {then}."),
        leads_to=("asymmetric-path", "datagram-loss"),
        word="policer",
        known_by="policers dropped more than queues",
        helps="pace to 95 % of the policed rate; or a burst of one BDP, a `--set` of its own",
        shown_by=("record", "measurements"),
    ),
    Cause(
        "random-loss",
        "path",
        "Packets are lost although no queue is full",
        MATHIS,
        says=(
            "{lost} of the packets {way}were lost on the way, not in a full queue, and {cc} on {host} "
            "{answers}{theory}."
        ),
        leads_to=("datagram-loss", "losses", "echo-loss"),
        word="random_loss",
        known_by=(
            "wires and netem lost more than queues; beside it what the law of Mathis et al. or the "
            "model of Padhye et al. allows Reno"
        ),
        helps="repair; up to 10 % of loss BBR",
        shown_by=("record", "measurements"),
    ),
    Cause(
        "sack-off",
        "tcp",
        "No selective acknowledgements: a round trip repairs only one loss",
        f"RFC 2018; RFC 6675; {IP_SYSCTL}, tcp_sack",
        says=(
            "Selective acknowledgements (SACK) are off at {hosts}: a round trip repairs only one loss{proof}."
        ),
        word="sack",
        known_by="not agreed on, and there were retransmissions",
        helps="`net.ipv4.tcp_sack`",
        shown_by=("record", "measurements", "hosts"),
    ),
    Cause(
        "shallow-queue",
        "queue",
        "The queue before the bottleneck is too short",
        "Appenzeller et al., SIGCOMM 2004; tc-fq(8)",
        says=(
            "The queue {where} is too short: {proof}; {held} losses kept the window below the {bdp} that the "
            "path holds."
        ),
        word="shallow_buffer",
        known_by=(
            "drops in a queue that holds less than half a BDP, or that would drop with what is now the "
            "limit gone"
        ),
        helps="one BDP, or pacing",
        shown_by=("record", "measurements"),
    ),
    Cause(
        "impatient-queue",
        "queue",
        "CoDel's interval is shorter than the round trip: it drops or marks too early",
        "RFC 8289, section 4.3",
        says=(
            "{what} by the queue {where}, whose interval of {interval} is below the round trip of {trip}: it "
            "answers before the sender can, and {held} the window was too small."
        ),
        word="impatient_queue",
        known_by="CoDel dropped or marked, and its interval is shorter than the idle round trip",
        helps="an interval of a round trip",
        shown_by=("record",),
    ),
    Cause(
        "timeouts",
        "path",
        "The sender waits for retransmission timeouts",
        "RFC 6298",
        says="It waited {held} for retransmission timeouts ({count}), each of {least} and more{where}.",
        word="timeouts",
        known_by="the limit",
        helps=(
            "fewer senders, a longer queue or marks, a smaller `rto_min`; "
            "where datagrams fill the queue: a limit for these"
        ),
        shown_by=("record",),
    ),
    Cause(
        "losses",
        "path",
        "Losses, of which no more is known",
        "RFC 5681",
        says=(
            "{again} of the segments {way}were sent again{when}; {held} losses kept the window small, and "
            "{origin}."
        ),
        word="losses",
        known_by="retransmissions, of which no more is known",
        doubtful=True,
        shown_by=("record", "measurements"),
    ),
)
